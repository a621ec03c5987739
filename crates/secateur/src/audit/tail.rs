//! `secateur audit tail`.

use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use secateur_ledger::shown::in_line;
use secateur_ledger::{After, Filter, Ledger, LedgerError, Millis, Row};

use super::args::TailArgs;
use super::{explain, wait};
use crate::failure::Failure;
use crate::input::unwritten;
use crate::table::{bold, thousands, usd};
use crate::time::{now, spell};

/// A row is written when its request ends, with the time at which the request arrived: rows of long requests appear
/// late.
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
    let layout = Layout::of_output();
    let mut out = anstream::stdout().lock();
    if let Err(error) = show(&mut out, &rows, layout) {
        return unwritten(&error);
    }
    if args.follow {
        return follow(ledger, &filter, seen, &mut out, layout);
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

/// How wide the columns are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Everything in full, for wide terminals, files and other programs.
    Wide,
    /// At most 80 columns: no year and no seconds, rounded sizes, and the beginning of the id, which `audit show` takes.
    Narrow,
}

impl Layout {
    /// What the wide layout needs with the ids that the proxy makes.
    const WIDE_COLUMNS: u16 = 138;

    /// What suits standard output.
    fn of_output() -> Self {
        match comfy_table::Table::new().width() {
            Some(columns) if columns < Self::WIDE_COLUMNS => Self::Narrow,
            _ => Self::Wide,
        }
    }

    fn is_wide(self) -> bool {
        self == Self::Wide
    }

    /// The first line.
    fn head(self) -> String {
        let names = [
            "time (UTC)",
            "workload",
            "model",
            "stack",
            "chars",
            "saved",
            "st.",
            "id",
        ];
        match self {
            Self::Wide => self.join(&names.map(|name| match name {
                "chars" => "characters".to_owned(),
                "st." => "status".to_owned(),
                name => name.to_owned(),
            })),
            Self::Narrow => self.join(&names.map(str::to_owned)),
        }
    }

    /// Cells, each as wide as its column: time, workload, model, stack, characters, saved, status, id.
    fn join(
        self,
        [time, workload, model, stack, chars, saved, status, id]: &[String; 8],
    ) -> String {
        match self {
            Self::Wide => format!(
                "{time:19}  {workload:12} {model:24} {stack:8} {chars:>23} {saved:>10} {status:>6}  {id}"
            ),
            Self::Narrow => format!(
                "{time:11} {workload:8} {model:15} {stack:5} {chars:>11} {saved:>8} {status:>3} {id}"
            ),
        }
    }
}

fn show(out: &mut impl Write, rows: &[Row], layout: Layout) -> io::Result<()> {
    writeln!(out, "{}", bold(&layout.head()))?;
    for row in rows {
        writeln!(out, "{}", line(row, layout))?;
    }
    out.flush()
}

/// Shows rows as they come, until the output is closed. Waits for a database that is unavailable for a while.
fn follow(
    ledger: &Ledger,
    filter: &Filter,
    mut seen: Seen,
    out: &mut impl Write,
    layout: Layout,
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
            .try_for_each(|row| writeln!(out, "{}", line(row, layout)));
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
    /// the one after.
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

/// The text padded or cut to a width.
fn fit(text: &str, width: usize) -> String {
    let text = in_line(text);
    if text.chars().count() <= width {
        return format!("{text:width$}");
    }
    let cut: String = text.chars().take(width - 1).collect();
    format!("{cut}…")
}

/// The text at the right of a width, cut where it is longer.
fn right(text: &str, width: usize) -> String {
    let cut = fit(text, width);
    format!("{:>width$}", cut.trim_end())
}

/// Amber: the body was changed. Cyan: only the route.
fn chips(stack: &str, width: usize) -> String {
    let padded = fit(if stack.is_empty() { "–" } else { stack }, width);
    match stack {
        "" => padded,
        "m1" => paint(AnsiColor::Cyan, &padded),
        _ => paint(AnsiColor::Yellow, &padded),
    }
}

/// A size in at most five characters.
fn rounded(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..100_000 => format!("{}.{}k", number / 1_000, number % 1_000 / 100),
        100_000..10_000_000 => format!("{}k", number / 1_000),
        10_000_000..10_000_000_000 => format!("{}M", number / 1_000_000),
        _ => "much".to_owned(),
    }
}

fn sizes(row: &Row, layout: Layout) -> String {
    let count = |number: u64| match layout {
        Layout::Wide => thousands(number),
        Layout::Narrow => rounded(number),
    };
    let arrow = if layout.is_wide() { " → " } else { "→" };
    match (row.chars_before, row.chars_after) {
        (Some(before), Some(after)) if before != after => {
            format!("{}{arrow}{}", count(before), count(after))
        }
        (Some(before), _) => count(before),
        _ => "–".into(),
    }
}

/// A row on one line, and under it in the narrow layout what went wrong.
fn line(row: &Row, layout: Layout) -> String {
    let is_wide = layout.is_wide();
    let saved = row.receipt.saved_usd.map_or_else(|| "–".into(), usd);
    let saved = right(&saved, if is_wide { 10 } else { 8 });
    let saved = match row.receipt.saved_usd {
        Some(usd) if usd < 0.0 => paint(AnsiColor::Red, &saved),
        Some(usd) if usd > 0.0 => paint(AnsiColor::Green, &saved),
        _ => saved,
    };
    let status = match (row.status, layout) {
        (0, Layout::Wide) => "  none".to_owned(),
        (0, Layout::Narrow) => "  –".to_owned(),
        (status, Layout::Wide) => format!("{status:>6}"),
        (status, Layout::Narrow) => format!("{status:>3}"),
    };
    let status = match row.status {
        1..400 => status,
        _ => paint(AnsiColor::Red, &status),
    };
    let doubt = row.failed_open.as_ref();
    let doubt = doubt.map(|why| format!("in doubt: {}", in_line(why)));
    let struck =
        (!row.struck_stack.is_empty()).then(|| format!("rejected: {}", in_line(&row.struck_stack)));
    let notes: Vec<String> = doubt.into_iter().chain(struck).collect();
    let notes = match (notes.join("  "), layout) {
        (notes, _) if notes.is_empty() => notes,
        (notes, Layout::Wide) => format!("  {}", paint(AnsiColor::Red, &notes)),
        (notes, Layout::Narrow) => {
            let notes = fit(&notes, 68);
            format!("\n{:12}{}", "", paint(AnsiColor::Red, notes.trim_end()))
        }
    };
    let time = spell(row.at);
    let time = if is_wide {
        time
    } else {
        // Month, day, hour and minute.
        time.chars().skip(5).take(11).collect()
    };
    let id = in_line(&row.id);
    let id = if is_wide {
        id.to_string()
    } else {
        id.chars().take(12).collect()
    };
    let model = row.model.as_deref().unwrap_or("–");
    let cells = [
        time,
        fit(&row.workload, if is_wide { 12 } else { 8 }),
        fit(model, if is_wide { 24 } else { 15 }),
        chips(&row.stack, if is_wide { 8 } else { 5 }),
        sizes(row, layout),
        saved,
        status,
        id,
    ];
    format!("{}{notes}", layout.join(&cells))
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
        for (layout, words) in [
            (
                Layout::Wide,
                ["12,345 → 10,000", "a-workload-…", "gpt⟨U+202E⟩5"],
            ),
            (Layout::Narrow, ["12.3k→10.0k", "a-workl…", "gpt⟨U+202E⟩5"]),
        ] {
            let line = anstream::adapter::strip_str(&line(&row, layout)).to_string();
            for words in words {
                assert!(line.contains(words), "{words}: {line}");
            }
            assert!(
                !line.contains('\u{1b}') && !line.contains('\u{202e}'),
                "{line:?}"
            );
        }
    }

    #[test]
    fn narrow_lines_fit_80_columns_whatever_a_row_holds() {
        let usual = Row {
            id: "1a1e1a757b8fffffffffffffffc".into(),
            at: 1_794_787_200_000,
            model: Some("claude-opus-4-6".into()),
            workload: "agent".into(),
            chars_before: Some(5_228_242),
            chars_after: Some(2_674_147),
            status: 200,
            stack: "m7".into(),
            ..Row::default()
        };
        let mut largest = Row {
            id: "x".repeat(256),
            model: Some("m".repeat(256)),
            workload: "w".repeat(256),
            chars_before: Some(u64::MAX),
            chars_after: Some(1),
            status: 999,
            stack: "m7+m3+m8+m1".into(),
            failed_open: Some("f".repeat(4_096)),
            struck_stack: "m7+m3".into(),
            ..usual.clone()
        };
        largest.receipt.saved_usd = Some(-123_456_789.0);
        for row in [&usual, &largest, &Row::default()] {
            let shown = anstream::adapter::strip_str(&line(row, Layout::Narrow)).to_string();
            for line in shown.lines().chain([&*Layout::Narrow.head()]) {
                assert!(line.chars().count() <= 80, "{line}");
            }
        }
        let shown = anstream::adapter::strip_str(&line(&usual, Layout::Narrow)).to_string();
        assert!(shown.ends_with("1a1e1a757b8f"), "{shown}");
    }

    #[test]
    fn sizes_are_rounded_to_five_characters() {
        for (number, shown) in [
            (0, "0"),
            (999, "999"),
            (12_345, "12.3k"),
            (99_999, "99.9k"),
            (5_228_242, "5228k"),
            (9_999_999, "9999k"),
            (u64::MAX, "much"),
        ] {
            assert_eq!(rounded(number), shown);
        }
    }
}
