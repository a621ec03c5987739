//! `secateur audit stats`.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, Table};
use secateur_ledger::{Filter, GroupBy, Holdout, Ledger, Millis, Totals};
use serde_json::{Value, json};

use super::answer;
use super::args::{StatsArgs, StatsBy};
use super::outcome::{by_kind, spent_by_purpose};
use crate::failure::Failure;
use crate::input::{say, write_stdout};
use crate::table::{green_cell, name_of, red_cell, table, thousands, usd};

pub(crate) fn run(ledger: &Ledger, args: &StatsArgs) -> Result<(), Failure> {
    let filter = args.filter.filter();
    let groups = answer(ledger.totals(&filter, args.by.group()))?;
    let all = answer(ledger.totals(&filter, GroupBy::All))?;
    let holdouts = holdouts(ledger, &filter)?;
    if args.json {
        let json = json!({
            "groups": groups.iter().map(totals_json).collect::<Vec<_>>(),
            "all": all.first().map(totals_json),
            "holdout": holdouts.iter().map(holdout_json).collect::<Vec<_>>(),
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
        StatsBy::Key => "key",
        StatsBy::Day => "day",
    };
    let mut lines: Vec<(String, &Totals)> = groups
        .iter()
        .map(|totals| (name_of(&totals.group), totals))
        .collect();
    if let Some(all) = all.first().filter(|_| groups.len() > 1) {
        lines.push(("all".into(), all));
    }
    // Two tables that fit a terminal of 80 columns, where one would not.
    say!("{}\n", filled(name, REQUESTS, &lines, requests))?;
    say!("{}", filled(name, COSTS, &lines, costs))?;
    say!(
        "\nbilled: the providers' counts at list prices; net: saved, less what Secateur spent\n\
         losses: requests whose cut cost more than it saved"
    )?;
    if let Some(words) = all.first().and_then(unpriced_words) {
        say!("\n{words}")?;
    }
    if let Some(table) = all.first().and_then(by_kind) {
        say!("\n{table}")?;
    }
    let since = filter.since.unwrap_or(0);
    let spent = answer(ledger.spent_by_day(filter.workload.as_deref(), since))?;
    for words in spent_by_purpose(&filter, &spent) {
        say!("\n{words}")?;
    }
    for (workload, holdout) in &holdouts {
        say!("{}", holdout_words(&name_of(workload), holdout))?;
    }
    Ok(())
}

/// `None`: the cost of every answer is known.
fn unpriced_words(totals: &Totals) -> Option<String> {
    let of = thousands(totals.requests);
    let unpriced = (totals.unpriced > 0).then(|| thousands(totals.unpriced))?;
    Some(format!(
        "{unpriced} of {of} requests have no known cost (no price for the model, or no token counts): no sum has them"
    ))
}

const REQUESTS: &[&str] = &[
    "requests", "changed", "in doubt", "rejected", "errors", "losses", "added",
];
const COSTS: &[&str] = &["chars", "cached", "billed", "saved", "spent", "net"];

/// The sums, and net, which follows from them.
fn totals_json(totals: &Totals) -> Value {
    let mut json = serde_json::to_value(totals).unwrap_or_default();
    json["net_usd"] = totals.money().net_usd().into();
    json
}

fn filled(
    name: &str,
    heads: &[&str],
    lines: &[(String, &Totals)],
    cells: fn(&Totals) -> Vec<Cell>,
) -> Table {
    let heads: Vec<&str> = [&[name], heads].concat();
    let mut rows = table(&heads);
    for (name, totals) in lines {
        rows.add_row([vec![Cell::new(name)], cells(totals)].concat());
    }
    for column in rows.column_iter_mut().skip(1) {
        // Figures are never broken; a long name is.
        column.set_constraint(ColumnConstraint::ContentWidth);
        column.set_cell_alignment(CellAlignment::Right);
    }
    rows
}

/// Held-out sessions against pruned ones, by workload. Sessions count whole, so there is nothing to say where other
/// rows were asked for than all of a workload since some time.
fn holdouts(ledger: &Ledger, filter: &Filter) -> Result<Vec<(String, Holdout)>, Failure> {
    let plain = Filter {
        workload: filter.workload.clone(),
        since: filter.since,
        ..Filter::default()
    };
    if plain != *filter {
        return Ok(Vec::new());
    }
    let workloads = match &filter.workload {
        Some(workload) => vec![workload.clone()],
        None => answer(ledger.workloads())?,
    };
    let since = filter.since.unwrap_or(Millis::MIN);
    let mut found = Vec::new();
    for workload in workloads {
        let holdout = answer(ledger.holdout(&workload, since))?;
        if holdout.held_sessions > 0 {
            found.push((workload, holdout));
        }
    }
    Ok(found)
}

fn holdout_json((workload, holdout): &(String, Holdout)) -> Value {
    let mut json = serde_json::to_value(holdout).unwrap_or_default();
    json["workload"] = workload.as_str().into();
    json
}

fn holdout_words(workload: &str, holdout: &Holdout) -> String {
    let (held, pruned) = (
        thousands(holdout.held_sessions),
        thousands(holdout.pruned_sessions),
    );
    let sessions = format!("{held} sessions held out, {pruned} pruned");
    // With fewer than two sessions on a side nothing is claimed.
    if !holdout.low.is_finite() {
        return format!("\nhold-out of {workload}: {sessions}: too few to compare");
    }
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let verdict = if holdout.saving < 0.0 {
        format!("{} more", percent(-holdout.saving))
    } else {
        format!("{} less", percent(holdout.saving))
    };
    format!(
        "\nhold-out of {workload}: {verdict} input cost per request where it is pruned\n  \
         (saving with 95 % confidence: {} to {}; {sessions})",
        percent(holdout.low),
        percent(holdout.high)
    )
}

fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".into();
    }
    format!("{:.1} %", part as f64 * 100.0 / whole as f64)
}

fn alarm(number: u64) -> Cell {
    if number > 0 {
        red_cell(thousands(number))
    } else {
        Cell::new(0)
    }
}

fn requests(totals: &Totals) -> Vec<Cell> {
    let added_ms = totals.added_us as f64 / 1_000.0 / totals.requests.max(1) as f64;
    vec![
        Cell::new(thousands(totals.requests)),
        Cell::new(share(totals.changed, totals.requests)),
        alarm(totals.failed_open),
        alarm(totals.struck),
        alarm(totals.errors),
        Cell::new(thousands(totals.net_negative)),
        Cell::new(format!("{added_ms:.2} ms")),
    ]
}

fn costs(totals: &Totals) -> Vec<Cell> {
    let chars = if totals.chars_before == 0 {
        "–".into()
    } else {
        let kept = totals.chars_after as f64 / totals.chars_before as f64;
        format!("{:+.1} %", (kept - 1.0) * 100.0)
    };
    let money = totals.money();
    let net = usd(money.net_usd());
    vec![
        Cell::new(chars),
        Cell::new(share(totals.cache_read_tokens, totals.input_tokens)),
        Cell::new(usd(money.billed_usd)),
        Cell::new(usd(money.saved_usd)),
        Cell::new(usd(money.spent_usd)),
        if money.net_usd() < 0.0 {
            red_cell(net)
        } else {
            green_cell(net)
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_fit_a_terminal_of_80_columns_whatever_the_name() {
        let totals = Totals {
            requests: 12_345_678,
            changed: 12_345_678,
            failed_open: 12_345,
            struck: 12_345,
            errors: 12_345,
            chars_before: 10,
            input_tokens: 1,
            cache_read_tokens: 1,
            billed_usd: 12_345.0,
            spent_usd: 12_345.0,
            saved_usd: -12_345.0,
            net_negative: 12_345,
            added_us: 12_345_678 * 123_450,
            ..Totals::default()
        };
        let name = "claude-sonnet-with-a-long-name-20260929".to_owned();
        let lines = [(name, &totals)];
        for mut table in [
            filled("model", REQUESTS, &lines, requests),
            filled("model", COSTS, &lines, costs),
        ] {
            table.set_width(80);
            let text = anstream::adapter::strip_str(&table.to_string()).to_string();
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{text}");
            }
            assert!(
                text.contains("12,345") || text.contains("$12345.00 "),
                "{text}"
            );
        }
    }

    #[test]
    fn requests_without_a_price_are_counted_apart() {
        let mut totals = Totals {
            requests: 1_200,
            ..Totals::default()
        };
        assert_eq!(unpriced_words(&totals), None);
        totals.unpriced = 1_000;
        let words = unpriced_words(&totals).unwrap();
        assert!(
            words.starts_with("1,000 of 1,200 requests have no known cost"),
            "{words}"
        );
    }

    #[test]
    fn a_hold_out_is_reported_with_its_interval_or_not_at_all() {
        let mut holdout = Holdout {
            held_sessions: 40,
            pruned_sessions: 360,
            saving: 0.123,
            low: 0.05,
            high: 0.19,
            ..Holdout::default()
        };
        let words = holdout_words("agent", &holdout);
        assert!(
            words.contains("12.3 % less") && words.contains("5.0 % to 19.0 %"),
            "{words}"
        );
        holdout.saving = -0.03;
        assert!(holdout_words("agent", &holdout).contains("3.0 % more"));
        holdout.low = f64::NEG_INFINITY;
        let words = holdout_words("agent", &holdout);
        assert!(words.ends_with("too few to compare"), "{words}");
    }
}
