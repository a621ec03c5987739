//! A replay as a table for people and as JSON for programs.

use comfy_table::{Cell, CellAlignment};
use secateur_ledger::shown::in_line;
use secateur_replay::Measure;
use serde_json::{Value, json};

use super::Replay;
use super::sheet::{self, Sheet};
use crate::failure::Failure;
use crate::input::say;
use crate::table::{amber_cell, bold, counted, green_cell, red_cell, table, thousands};

/// What the columns mean.
pub(super) const LEGEND: &str = "\
bill: what the sessions cost against no pruning (fixed prompt included); worst: the worst single session;
ids, lines: share of what the model's next message used that is still there; skips: places left alone.";

/// Characters of a line.
const LINE_CHARS: usize = 80;
/// Spaces after each column of a table; one more separates it from the next.
const GAP: u16 = 1;
/// Columns of texts are not made narrower than this.
const MIN_TEXT_CHARS: usize = 8;

pub(super) fn print(replay: &Replay) -> Result<(), Failure> {
    if replay.has_prices() {
        print_spending(replay)?;
    }
    if replay.measure == Measure::CostAndKept || !replay.has_prices() {
        print_policies(replay)?;
    }
    print_unreadable(replay)
}

fn print_spending(replay: &Replay) -> Result<(), Failure> {
    for policy in 0..replay.entrants.len() {
        say!("{}", bold(&sheet::headline(replay, policy)))?;
    }
    for mut sheet in sheet::sheets(replay) {
        fit(&mut sheet);
        let mut rows = table(&sheet.heads);
        for (at, column) in rows.column_iter_mut().enumerate() {
            column.set_padding((0, GAP));
            if at >= sheet.left {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        rows.add_rows(sheet.rows);
        say!("\n{}\n{}", bold(&sheet.title), rows.trim_fmt())?;
    }
    say!("")?;
    for note in sheet::notes(replay) {
        say!("{}", wrap(&note))?;
    }
    Ok(())
}

/// Shortens the texts of a table, longest column first, until its lines have at most 80 characters.
fn fit(sheet: &mut Sheet) {
    let width = |at: usize| {
        let cells = sheet.rows.iter().filter_map(|row| row.get(at));
        let widths = cells.map(|cell| cell.chars().count());
        widths.chain([sheet.heads[at].chars().count()]).max()
    };
    let mut widths: Vec<usize> = (0..sheet.heads.len()).filter_map(width).collect();
    // The line under the heads runs below the padding of the last column too.
    let gaps = (usize::from(GAP) + 1) * widths.len();
    let mut excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(LINE_CHARS + 1);
    let texts = &mut widths[..sheet.left];
    while excess > 0
        && let Some(widest) = texts.iter_mut().max()
        && *widest > MIN_TEXT_CHARS
    {
        *widest -= 1;
        excess -= 1;
    }
    for row in &mut sheet.rows {
        for (cell, &width) in row.iter_mut().zip(&*texts) {
            if cell.chars().count() > width {
                *cell = cell.chars().take(width - 1).chain(['…']).collect();
            }
        }
    }
}

/// Lines of at most 80 characters.
fn wrap(text: &str) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > LINE_CHARS {
            out.push_str("\n  ");
            used = 2;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out
}

fn print_policies(replay: &Replay) -> Result<(), Failure> {
    if replay.has_prices() {
        say!("")?;
    }
    say!(
        "{}, {}\n",
        counted(replay.sessions as u64, "session"),
        counted(replay.requests as u64, "request")
    )?;
    let mut rows = table(&[
        "policy",
        "bill",
        "worst",
        "ids",
        "lines",
        "tokens",
        "cache reads",
        "rounds/session",
        "skips",
        "pruned",
        "unchanged",
        "failed open",
    ]);
    for entrant in &replay.entrants {
        let (total, counted) = (&entrant.totals, &entrant.counted);
        let bill = format!("{:.4}", total.bill());
        let worst = format!("{:.4}", total.worst());
        rows.add_row([
            Cell::new(&entrant.name),
            if total.bill() <= 1.0 {
                green_cell(bill)
            } else {
                red_cell(bill)
            },
            if total.worst() <= 1.0 {
                green_cell(worst)
            } else {
                amber_cell(worst)
            },
            Cell::new(format!("{:.4}", total.ids())),
            Cell::new(format!("{:.4}", total.lines())),
            Cell::new(format!("{:.3}", total.tokens())),
            Cell::new(format!("{:.3}", total.cache_read_share())),
            Cell::new(format!("{:.1}", total.rounds_per_session())),
            Cell::new(thousands(counted.skipped())),
            Cell::new(thousands(counted.pruned)),
            Cell::new(thousands(counted.unchanged)),
            Cell::new(thousands(counted.failed_open)),
        ]);
    }
    say!("{rows}")?;
    say!("\n{LEGEND}")?;
    if !replay.has_prices() && !replay.spending.unpriced.models.is_empty() {
        let models = replay.spending.unpriced.models.keys();
        let models: Vec<_> = models.map(|model| in_line(model)).collect();
        say!(
            "No dollars: the price of these models is not known: {}.",
            models.join(", ")
        )?;
    }
    Ok(())
}

/// Rows that are named; the others are counted.
const NAMED_ROWS: usize = 20;

fn print_unreadable(replay: &Replay) -> Result<(), Failure> {
    let all = replay.gaps.unreadable_rows();
    if all == 0 {
        return Ok(());
    }
    say!("\n{} could not be read:", counted(all as u64, "row"))?;
    for row in replay.gaps.unreadable.iter().take(NAMED_ROWS) {
        say!("  {}: {}", in_line(&row.place), in_line(&row.reason))?;
    }
    if all > NAMED_ROWS {
        say!("  and {} more", thousands(all - NAMED_ROWS))?;
    }
    Ok(())
}

pub(super) fn json(replay: &Replay) -> Value {
    let is_kept_known = replay.measure == Measure::CostAndKept;
    let row = |entrant: &super::Entrant| {
        let (total, counted) = (&entrant.totals, &entrant.counted);
        json!({
            "policy": entrant.name,
            "bill": total.bill(),
            "worst": total.worst(),
            "ids": is_kept_known.then(|| total.ids()),
            "lines": is_kept_known.then(|| total.lines()),
            "tokens": total.tokens(),
            "cache_read_share": total.cache_read_share(),
            "rounds_per_session": total.rounds_per_session(),
            "pruned": is_kept_known.then_some(counted.pruned),
            "unchanged": is_kept_known.then_some(counted.unchanged),
            "failed_open": is_kept_known.then_some(counted.failed_open),
            "skips": is_kept_known.then(|| counted.skips_json()),
            "receipts": is_kept_known.then(|| counted.receipts_json()),
        })
    };
    let unreadable: Value = replay
        .gaps
        .unreadable
        .iter()
        .map(|row| json!({ "place": row.place, "reason": row.reason }))
        .collect();
    let spending = replay.has_prices().then(|| sheet::json(replay));
    json!({
        "spending": spending,
        "sessions": replay.sessions,
        "requests": replay.requests,
        "policies": replay.entrants.iter().map(row).collect::<Value>(),
        "unreadable": unreadable,
        "unreadable_unnamed": replay.gaps.unnamed,
        "cut_short": replay.gaps.cut_short,
        "logs_without_requests": replay.gaps.empty_logs,
        "older_logs": replay.older,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_shortened_until_a_line_fits() {
        let row = |name: &str, project: &str| {
            ["$1,234,567.89"; 3].iter().fold(
                vec![name.to_owned(), project.to_owned()],
                |mut row, usd| {
                    row.push((*usd).to_owned());
                    row
                },
            )
        };
        let mut sheet = Sheet {
            title: String::new(),
            heads: vec!["session", "project", "paid", "with", "saved"],
            left: 2,
            rows: vec![row(&"n".repeat(60), "shop"), row("é", &"p".repeat(30))],
        };
        fit(&mut sheet);
        let long = &sheet.rows[0][0];
        assert!(long.ends_with("n…"), "{long}");
        let widths = (0..5).map(|at| sheet.rows.iter().map(move |row| row[at].chars().count()));
        let line: usize = widths.map(|column| column.max().unwrap() + 2).sum();
        assert_eq!(line - 1, 80);
        assert_eq!(
            (sheet.rows[0][1].as_str(), sheet.rows[1][0].as_str()),
            ("shop", "é")
        );
    }
}
