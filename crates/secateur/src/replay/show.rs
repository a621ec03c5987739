//! A replay as a table for people and as JSON for programs.

use comfy_table::{Cell, CellAlignment};
use secateur_replay::Measure;
use serde_json::{Value, json};

use super::{Replay, sheet};
use crate::Failure;
use crate::input::say;
use crate::table::{amber_cell, bold, counted, green_cell, red_cell, table, thousands};

/// What the columns mean.
pub(super) const LEGEND: &str = "\
bill: what the sessions cost against no pruning (fixed prompt included); worst: the worst single session;
ids, lines: share of what the model's next message used that is still there; skips: places left alone.";

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
    for sheet in sheet::sheets(replay) {
        let mut rows = table(&sheet.heads);
        for (at, column) in rows.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
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

/// Lines of at most 80 characters.
fn wrap(text: &str) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > 80 {
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
        let models: Vec<&str> = models.map(String::as_str).collect();
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
        say!("  {}: {}", row.place, row.reason)?;
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
