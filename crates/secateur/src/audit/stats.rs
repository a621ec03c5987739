//! `secateur audit stats`.

use comfy_table::{Cell, CellAlignment};
use secateur_ledger::{GroupBy, Ledger, Totals};

use super::answer;
use super::args::{StatsArgs, StatsBy};
use super::outcome::{by_kind, shadow_json, shadow_since, shadow_words};
use crate::Failure;
use crate::input::write_stdout;
use crate::table::{green_cell, red_cell, table, thousands};

pub(crate) fn run(ledger: &Ledger, args: &StatsArgs) -> Result<(), Failure> {
    let filter = args.filter.filter();
    let groups = answer(ledger.totals(&filter, args.by.group()))?;
    let all = answer(ledger.totals(&filter, GroupBy::All))?;
    let shadow = match shadow_since(&filter) {
        Some(since) => Some(answer(
            ledger.shadow_costs(filter.workload.as_deref(), since),
        )?),
        None => None,
    };
    if args.json {
        let json = serde_json::json!({
            "groups": groups,
            "all": all.first(),
            "shadow": shadow.as_deref().map(shadow_json),
        });
        return write_stdout(format!("{json:#}\n").as_bytes());
    }
    if groups.is_empty() {
        anstream::eprintln!("No requests fit.");
        return Ok(());
    }
    let name = match args.by {
        StatsBy::Workload => "workload",
        StatsBy::Stack => "stack",
        StatsBy::Model => "model",
        StatsBy::Day => "day",
    };
    let mut rows = table(&[
        name,
        "requests",
        "changed",
        "in doubt",
        "errors",
        "characters",
        "cached",
        "predicted",
        "billed",
        "saved",
        "net-negative",
        "added",
    ]);
    for totals in &groups {
        let name = if totals.group.is_empty() {
            "(none)"
        } else {
            &totals.group
        };
        rows.add_row(line(name, totals));
    }
    if groups.len() > 1 {
        rows.add_row(line("all", all.first().unwrap_or(&Totals::default())));
    }
    for column in rows.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    anstream::println!("{rows}");
    anstream::println!(
        "\npredicted and billed: input cost of the requests for which both are known; saved: net, at the price really paid"
    );
    if let Some(table) = all.first().and_then(by_kind) {
        anstream::println!("\n{table}");
    }
    if let Some(words) = shadow.as_deref().and_then(shadow_words) {
        anstream::println!("\n{words}");
    }
    Ok(())
}

fn count(number: u64) -> String {
    thousands(usize::try_from(number).unwrap_or(usize::MAX))
}

pub(crate) fn usd(amount: f64) -> String {
    let digits = if amount.abs() < 1.0 { 4 } else { 2 };
    let sign = if amount < 0.0 { "-" } else { "" };
    format!("{sign}${:.digits$}", amount.abs())
}

fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".into();
    }
    format!("{:.1} %", part as f64 * 100.0 / whole as f64)
}

fn line(name: &str, totals: &Totals) -> Vec<Cell> {
    let chars = if totals.chars_before == 0 {
        "–".into()
    } else {
        let kept = totals.chars_after as f64 / totals.chars_before as f64;
        format!("{:+.1} %", (kept - 1.0) * 100.0)
    };
    let saved = usd(totals.saved_usd);
    let alarm = |number: u64| {
        if number > 0 {
            red_cell(count(number))
        } else {
            Cell::new(0)
        }
    };
    vec![
        Cell::new(name),
        Cell::new(count(totals.requests)),
        Cell::new(share(totals.changed, totals.requests)),
        alarm(totals.failed_open),
        alarm(totals.errors),
        Cell::new(chars),
        Cell::new(share(totals.cache_read_tokens, totals.input_tokens)),
        Cell::new(usd(totals.predicted_usd_with)),
        Cell::new(usd(totals.reconciled_usd)),
        if totals.saved_usd < 0.0 {
            red_cell(saved)
        } else {
            green_cell(saved)
        },
        Cell::new(count(totals.net_negative)),
        Cell::new(format!(
            "{:.2} ms",
            totals.added_us as f64 / 1_000.0 / totals.requests.max(1) as f64
        )),
    ]
}
