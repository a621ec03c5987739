//! A replay as a table for people and as JSON for programs.

use comfy_table::Cell;
use serde_json::{Value, json};

use super::Replay;
use crate::failure::Failure;
use crate::input::say;
use crate::table::{amber_cell, green_cell, red_cell, table, thousands};

/// What the columns mean.
pub(super) const LEGEND: &str = "\
bill: what the sessions cost against no pruning (fixed prompt included); worst: the worst single session;
ids, lines: share of what the model's next message used that is still there; skips: places left alone.";

pub(super) fn print(replay: &Replay) -> Result<(), Failure> {
    say!(
        "{} sessions, {} requests\n",
        thousands(replay.sessions),
        thousands(replay.requests)
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
        let (total, counted) = (&entrant.totals, entrant.tally.get());
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
    if !replay.unreadable.is_empty() {
        say!("\n{} rows could not be read:", replay.unreadable.len())?;
        for row in &replay.unreadable {
            say!("  {}: {}", row.place, row.reason)?;
        }
    }
    Ok(())
}

pub(super) fn json(replay: &Replay) -> Value {
    let row = |entrant: &super::Entrant| {
        let (total, counted) = (&entrant.totals, entrant.tally.get());
        json!({
            "policy": entrant.name,
            "bill": total.bill(),
            "worst": total.worst(),
            "ids": total.ids(),
            "lines": total.lines(),
            "tokens": total.tokens(),
            "cache_read_share": total.cache_read_share(),
            "rounds_per_session": total.rounds_per_session(),
            "pruned": counted.pruned,
            "unchanged": counted.unchanged,
            "failed_open": counted.failed_open,
            "skips": counted.skips_json(),
            "receipts": counted.receipts_json(),
        })
    };
    let unreadable: Value = replay
        .unreadable
        .iter()
        .map(|row| json!({ "place": row.place, "reason": row.reason }))
        .collect();
    json!({
        "sessions": replay.sessions,
        "requests": replay.requests,
        "policies": replay.entrants.iter().map(row).collect::<Value>(),
        "unreadable": unreadable,
    })
}
