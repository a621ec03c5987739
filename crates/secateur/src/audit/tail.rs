//! `secateur audit tail`.

use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use secateur_ledger::{Filter, Ledger, Millis, Row};

use super::answer;
use super::args::TailArgs;
use super::stats::usd;
use super::time::{now, spell};
use crate::Failure;
use crate::table::{bold, thousands};

/// A row is written when its request ends, and bears the time when it came in: long requests come late.
const LATEST_MS: Millis = 15 * 60_000;
const POLL: Duration = Duration::from_millis(500);
/// Rows that are looked at in each poll.
const POLL_ROWS: u32 = 2_000;

pub(crate) fn run(ledger: &Ledger, args: &TailArgs) -> Result<(), Failure> {
    let filter = args.filter.filter();
    let mut rows = answer(ledger.rows(&filter, None, args.lines))?;
    rows.reverse();
    if rows.is_empty() && !args.follow {
        anstream::eprintln!("No rows fit.");
        return Ok(());
    }
    let mut out = anstream::stdout().lock();
    let head = format!(
        "{:19}  {:12} {:24} {:8} {:>23} {:>10} {:>6}  {}",
        "time (UTC)", "workload", "model", "stack", "characters", "saved", "status", "id"
    );
    let is_open = writeln!(out, "{}", bold(&head)).is_ok()
        && rows
            .iter()
            .all(|row| writeln!(out, "{}", line(row)).is_ok());
    if !args.follow || !is_open {
        return Ok(());
    }
    let mut seen: HashMap<String, Millis> = rows.into_iter().map(|row| (row.id, row.at)).collect();
    loop {
        std::thread::sleep(POLL);
        let oldest = now() - LATEST_MS;
        seen.retain(|_, at| *at >= oldest);
        let recent = Filter {
            since: Some(filter.since.unwrap_or(Millis::MIN).max(oldest)),
            ..filter.clone()
        };
        let mut rows = answer(ledger.rows(&recent, None, POLL_ROWS))?;
        rows.reverse();
        for row in rows {
            if seen.insert(row.id.clone(), row.at).is_none()
                && writeln!(out, "{}", line(&row)).is_err()
            {
                // Nobody reads any more.
                return Ok(());
            }
        }
        let _ = out.flush();
    }
}

fn paint(color: AnsiColor, text: &str) -> String {
    let style: Style = color.on_default();
    format!("{style}{text}{style:#}")
}

/// Texts of clients may hold anything; control characters would reach the terminal.
pub(crate) fn tame(text: &str) -> String {
    text.chars()
        .map(|sign| if sign.is_control() { '·' } else { sign })
        .collect()
}

fn fit(text: &str, width: usize) -> String {
    let text = tame(text);
    if text.chars().count() <= width {
        return format!("{text:width$}");
    }
    let cut: String = text.chars().take(width - 1).collect();
    format!("{cut}…")
}

/// Amber: the body was changed. Cyan: only the route.
fn chips(stack: &str) -> String {
    let padded = fit(if stack.is_empty() { "–" } else { stack }, 8);
    match stack {
        "" => padded,
        "m1" => paint(AnsiColor::Cyan, &padded),
        _ => paint(AnsiColor::Yellow, &padded),
    }
}

fn line(row: &Row) -> String {
    let count = |number: u64| thousands(usize::try_from(number).unwrap_or(usize::MAX));
    let chars = match (row.chars_before, row.chars_after) {
        (Some(before), Some(after)) if before != after => {
            format!("{} → {}", count(before), count(after))
        }
        (Some(before), _) => count(before),
        _ => "–".into(),
    };
    let saved = row.receipt.saved_usd.map_or_else(|| "–".into(), usd);
    let saved = format!("{saved:>10}");
    let saved = match row.receipt.saved_usd {
        Some(usd) if usd < 0.0 => paint(AnsiColor::Red, &saved),
        Some(usd) if usd > 0.0 => paint(AnsiColor::Green, &saved),
        _ => saved,
    };
    let status = format!("{:>6}", row.status);
    let status = if row.status >= 400 {
        paint(AnsiColor::Red, &status)
    } else {
        status
    };
    let doubt = row.failed_open.as_ref().map_or_else(String::new, |why| {
        format!(
            "  {}",
            paint(AnsiColor::Red, &format!("in doubt: {}", tame(why)))
        )
    });
    format!(
        "{}  {} {} {} {chars:>23} {saved} {status}  {}{doubt}",
        spell(row.at),
        fit(&row.workload, 12),
        fit(row.model.as_deref().unwrap_or("–"), 24),
        chips(&row.stack),
        tame(&row.id),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_the_row_and_no_control_characters() {
        let row = Row {
            id: "id\u{1b}[2J".into(),
            workload: "a-workload-with-a-long-name".into(),
            chars_before: Some(12_345),
            chars_after: Some(10_000),
            status: 200,
            stack: "m7".into(),
            ..Row::default()
        };
        let line = anstream::adapter::strip_str(&line(&row)).to_string();
        assert!(
            line.contains("12,345 → 10,000") && line.contains("a-workload-…"),
            "{line}"
        );
        assert!(!line.contains('\u{1b}'), "{line:?}");
    }
}
