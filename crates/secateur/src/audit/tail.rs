//! `secateur audit tail`.

use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use secateur_ledger::shown::in_line;
use secateur_ledger::{After, Filter, Ledger, LedgerError, Millis, Row};

use super::args::TailArgs;
use super::stats::usd;
use super::time::{now, spell};
use super::{explain, wait};
use crate::Failure;
use crate::input::unwritten;
use crate::table::{bold, thousands};

/// A row is written when its request ends, and bears the time when it came in: long requests come late.
const LATEST_MS: Millis = 15 * 60_000;
const POLL: Duration = Duration::from_millis(500);
/// Rows that are asked for at once.
const PAGE: u32 = 2_000;

pub(crate) fn run(ledger: &Ledger, args: &TailArgs) -> Result<(), Failure> {
    let filter = args.filter.filter();
    let asked = |asked: Result<Vec<Row>, LedgerError>| asked.map_err(|error| explain(&error));
    let mut seen = Seen::default();
    if args.follow {
        // What is there already is shown only as far as it was asked for.
        let there = wait(seen.new_rows(ledger, &filter, now()))?;
        drop(asked(there)?);
    }
    let rows = asked(wait(newest(ledger, &filter, args.lines))?)?;
    if rows.is_empty() && !args.follow && args.lines > 0 {
        anstream::eprintln!("No rows fit.");
        return Ok(());
    }
    seen.note(&rows);
    let mut out = anstream::stdout().lock();
    if let Err(error) = show(&mut out, &rows) {
        return unwritten(&error);
    }
    if args.follow {
        return follow(ledger, &filter, seen, &mut out);
    }
    Ok(())
}

/// So many of the newest rows, oldest first.
async fn newest(ledger: &Ledger, filter: &Filter, count: u32) -> Result<Vec<Row>, LedgerError> {
    let mut rows: Vec<Row> = Vec::new();
    let mut left = count;
    while left > 0 {
        let page = ledger
            .rows(filter, place(&rows).as_ref(), left.min(PAGE))
            .await?;
        if page.is_empty() {
            break;
        }
        left = left.saturating_sub(u32::try_from(page.len()).unwrap_or(left));
        rows.extend(page);
    }
    rows.reverse();
    Ok(rows)
}

/// Where the next page begins.
fn place(rows: &[Row]) -> Option<After> {
    rows.last().map(After::from)
}

fn show(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let head = format!(
        "{:19}  {:12} {:24} {:8} {:>23} {:>10} {:>6}  {}",
        "time (UTC)", "workload", "model", "stack", "characters", "saved", "status", "id"
    );
    writeln!(out, "{}", bold(&head))?;
    for row in rows {
        writeln!(out, "{}", line(row))?;
    }
    out.flush()
}

/// Shows rows as they come, until nobody reads any more. A database that is away for a while is waited for.
fn follow(
    ledger: &Ledger,
    filter: &Filter,
    mut seen: Seen,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let mut is_away = false;
    loop {
        std::thread::sleep(POLL);
        let rows = match wait(seen.new_rows(ledger, filter, now()))? {
            Ok(rows) => rows,
            Err(error) => {
                if !is_away {
                    anstream::eprintln!("{error}; waiting for it");
                }
                is_away = true;
                continue;
            }
        };
        is_away = false;
        let shown = rows
            .iter()
            .try_for_each(|row| writeln!(out, "{}", line(row)));
        if let Err(error) = shown.and_then(|()| out.flush()) {
            return unwritten(&error);
        }
    }
}

/// The rows of the last minutes that are known.
#[derive(Debug, Default)]
struct Seen(HashMap<String, Millis>);

impl Seen {
    fn note(&mut self, rows: &[Row]) {
        let known = rows.iter().map(|row| (row.id.clone(), row.at));
        self.0.extend(known);
    }

    /// Rows that were not there before, oldest first: as many pages of the newest as have nothing known in them, and
    /// the one behind.
    async fn new_rows(
        &mut self,
        ledger: &Ledger,
        filter: &Filter,
        now: Millis,
    ) -> Result<Vec<Row>, LedgerError> {
        let oldest = now - LATEST_MS;
        self.0.retain(|_, at| *at >= oldest);
        let recent = Filter {
            since: Some(filter.since.unwrap_or(Millis::MIN).max(oldest)),
            ..filter.clone()
        };
        let is_first = self.0.is_empty();
        let mut rows: Vec<Row> = Vec::new();
        loop {
            let page = ledger.rows(&recent, place(&rows).as_ref(), PAGE).await?;
            let is_last = is_first
                || page.len() < PAGE as usize
                || page.iter().any(|row| self.0.contains_key(&row.id));
            rows.extend(page);
            if is_last {
                break;
            }
        }
        rows.retain(|row| !self.0.contains_key(&row.id));
        rows.reverse();
        self.note(&rows);
        Ok(rows)
    }
}

fn paint(color: AnsiColor, text: &str) -> String {
    let style: Style = color.on_default();
    format!("{style}{text}{style:#}")
}

fn fit(text: &str, width: usize) -> String {
    let text = in_line(text);
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
    let status = match row.status {
        0 => "none".to_owned(),
        status => status.to_string(),
    };
    let status = format!("{status:>6}");
    let status = match row.status {
        1..400 => status,
        _ => paint(AnsiColor::Red, &status),
    };
    let doubt = row.failed_open.as_ref();
    let doubt = doubt.map(|why| format!("in doubt: {}", in_line(why)));
    let struck =
        (!row.struck_stack.is_empty()).then(|| format!("rejected: {}", in_line(&row.struck_stack)));
    let notes: String = doubt
        .into_iter()
        .chain(struck)
        .map(|note| format!("  {}", paint(AnsiColor::Red, &note)))
        .collect();
    format!(
        "{}  {} {} {} {chars:>23} {saved} {status}  {}{notes}",
        spell(row.at),
        fit(&row.workload, 12),
        fit(row.model.as_deref().unwrap_or("–"), 24),
        chips(&row.stack),
        in_line(&row.id),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_the_row_and_no_control_characters() {
        let row = Row {
            id: "id\u{1b}[2J".into(),
            model: Some("gpt\u{202e}5".into()),
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
        assert!(
            !line.contains('\u{1b}') && !line.contains('\u{202e}'),
            "{line:?}"
        );
        assert!(line.contains("gpt⟨U+202E⟩5"), "{line}");
    }
}
