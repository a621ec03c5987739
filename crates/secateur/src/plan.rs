//! `secateur plan`: what would be cut, and what was left alone.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;

use comfy_table::Cell;
use secateur_core::Limits;
use secateur_core::dialect::read;
use secateur_core::prune;
use secateur_core::report::{Cut, EngineError, Place, Report};
use secateur_ledger::shown::in_lines;

use crate::args::PlanArgs;
use crate::failure::Failure;
use crate::input::{say, write_stdout};
use crate::prune::{report_json, summary};
use crate::receipt::Bill;
use crate::show::conversation;
use crate::table::{amber_cell, green_cell, table, thousands};

pub(crate) fn run(args: &PlanArgs) -> Result<(), Failure> {
    let policy = args.policy.resolve()?;
    let body = args.input.read()?;
    let outcome = prune(&body, &args.input.request(), &policy);
    match &outcome.error {
        Some(EngineError::Read(error)) => return Err(args.input.explain(&error.explain(&body))),
        Some(other) => {
            return Err(args
                .input
                .explain(&format!("{other}; prune would pass it on as it is")));
        }
        None => {}
    }
    let dialect = outcome.report.dialect;
    if args.show {
        let Some(dialect) = dialect else {
            return Err(args.input.explain("the dialect is not known"));
        };
        let view = read(&outcome.body, dialect, &Limits::default())
            .map_err(|error| args.input.explain(&error.explain(&outcome.body)))?;
        let text = conversation(&view);
        // As it is for programs; a terminal would obey what tools printed.
        let shown = match std::io::stdout().is_terminal() {
            true => in_lines(&text),
            false => text.as_str().into(),
        };
        return write_stdout(shown.as_bytes());
    }
    let bill = Bill::of(&body, &outcome, &args.input, args.cache);
    if args.json {
        return write_stdout(&report_json(&outcome.report, bill.as_ref())?);
    }
    let key = dialect.map_or("messages", |dialect| dialect.facts().list_key);
    let mut text = String::new();
    if !outcome.report.cuts.is_empty() {
        text += &format!("{}\n\n", cuts(&outcome.report, key));
    }
    if !outcome.report.left.is_empty() {
        text += &format!("{}\n\n", left(&outcome.report, key));
    }
    if let Some(bill) = &bill {
        text += &format!("{}\n\n", bill.table());
    }
    text += &summary(&outcome.report, bill.as_ref());
    say!("{text}")
}

/// One row for each run of like cuts in neighbouring messages.
fn cuts(report: &Report, key: &str) -> comfy_table::Table {
    let mut rows = table(&["cut", "who", "strategy", "why", "chars"]);
    let alike = |one: &Cut, other: &Cut| {
        let is_next = one.place.message.map(|at| at + 1) == other.place.message;
        let same =
            one.action == other.action && one.strategy == other.strategy && one.why == other.why;
        is_next && same && one.place.part.is_none() && other.place.part.is_none()
    };
    let mut sorted: Vec<&Cut> = report.cuts.iter().collect();
    sorted.sort_by_key(|cut| cut.place);
    for run in sorted.chunk_by(|one, other| alike(one, other)) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            continue;
        };
        let place = match (first.place.message, last.place.message) {
            (Some(from), Some(to)) if from < to => format!("{key}[{from}..={to}]"),
            _ => spell(first.place, key),
        };
        let who = if run.len() == 1 {
            first
                .role
                .map_or(String::new(), |role| format!("{role:?}").to_lowercase())
        } else {
            format!("{} turns", run.len())
        };
        let before: usize = run.iter().map(|cut| cut.chars_before).sum();
        let after: usize = run.iter().map(|cut| cut.chars_after).sum();
        rows.add_row([
            amber_cell(format!("{} {place}", first.action)),
            Cell::new(who),
            Cell::new(first.strategy),
            Cell::new(first.why.describe()),
            Cell::new(format!("{} → {}", thousands(before), thousands(after))),
        ]);
    }
    rows
}

/// One row for each strategy and reason.
fn left(report: &Report, key: &str) -> comfy_table::Table {
    let mut rows = table(&["left alone", "strategy", "why", "count"]);
    let mut groups: BTreeMap<_, Vec<Place>> = BTreeMap::new();
    for left in &report.left {
        groups
            .entry((left.strategy, left.reason))
            .or_default()
            .push(left.place);
    }
    for ((strategy, reason), places) in groups {
        let mut named: Vec<String> = places
            .iter()
            .take(3)
            .map(|&place| spell(place, key))
            .collect();
        if places.len() > named.len() {
            named.push("…".into());
        }
        rows.add_row([
            green_cell(named.join(", ")),
            Cell::new(strategy.map_or("(engine)", |strategy| strategy.0)),
            Cell::new(reason.describe()),
            Cell::new(places.len()),
        ]);
    }
    rows
}

fn spell(place: Place, key: &str) -> String {
    match (place.message, place.part) {
        (None, _) => "the request".into(),
        (Some(message), None) => format!("{key}[{message}]"),
        (Some(message), Some(part)) => format!("{key}[{message}] part {part}"),
    }
}
