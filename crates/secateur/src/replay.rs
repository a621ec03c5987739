//! `secateur replay`: what a policy does to the bill of recorded sessions, and what it keeps.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering};

use comfy_table::Cell;
use indicatif::{ProgressBar, ProgressStyle};
use secateur_core::policy::Policy;
use secateur_core::report::Verdict;
use secateur_core::{Request, prune};
use secateur_replay::{BodyPolicy, Loaded, Policy as Replayed, Totals};

use crate::Failure;
use crate::args::ReplayArgs;
use crate::input::write_stdout;
use crate::table::{amber_cell, green_cell, red_cell, table, thousands};

/// A policy with its name and its counts.
struct Named {
    name: String,
    policy: Policy,
    pruned: AtomicUsize,
    unchanged: AtomicUsize,
    failed_open: AtomicUsize,
}

pub(crate) fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let policies = policies(args)?;
    let loaded = load(args)?;
    let sessions = &loaded.sessions;
    let requests: usize = sessions
        .iter()
        .map(|session| session.boundaries().count())
        .sum();
    let bodies: Vec<_> = policies
        .iter()
        .map(|named| BodyPolicy(|body: &[u8]| named.apply(body)))
        .collect();
    let replayed: Vec<&dyn Replayed> = bodies.iter().map(|body| body as &dyn Replayed).collect();
    let bar = progress_bar(sessions.len());
    let totals = secateur_replay::replay(sessions, &replayed, args.threads, &|done, _| {
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    if args.json {
        return write_stdout(
            format!("{:#}\n", json(&policies, &totals, &loaded, requests)).as_bytes(),
        );
    }
    print(&policies, &totals, &loaded, requests);
    Ok(())
}

fn policies(args: &ReplayArgs) -> Result<Vec<Named>, Failure> {
    let named = |name: &str, policy| Named {
        name: name.to_owned(),
        policy,
        pruned: AtomicUsize::new(0),
        unchanged: AtomicUsize::new(0),
        failed_open: AtomicUsize::new(0),
    };
    if args.compare.is_empty() {
        let file = args
            .policy
            .policy
            .as_ref()
            .map(|path| path.display().to_string());
        let name = args.policy.preset.clone().or(file);
        let name = name.unwrap_or_else(|| crate::args::DEFAULT_PRESET.to_owned());
        return Ok(vec![named(&name, args.policy.resolve()?)]);
    }
    let resolve = |preset: &String| {
        let policy = Policy::resolve(Some(preset), None, &args.policy.settings);
        policy
            .map(|policy| named(preset, policy))
            .map_err(|error| Failure::bad_usage(error.to_string()))
    };
    args.compare.iter().map(resolve).collect()
}

fn load(args: &ReplayArgs) -> Result<Loaded, Failure> {
    let mut all = Loaded::default();
    for path in &args.files {
        let loaded = secateur_replay::read_path(path)
            .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))?;
        all.sessions.extend(loaded.sessions);
        all.unreadable.extend(loaded.unreadable);
    }
    if all.sessions.is_empty() {
        let reasons: Vec<String> = all
            .unreadable
            .iter()
            .take(3)
            .map(|row| format!("{}: {}", row.place, row.reason))
            .collect();
        return Err(Failure::bad_input(format!(
            "no session could be read\n{}",
            reasons.join("\n")
        )));
    }
    Ok(all)
}

impl Named {
    /// Prunes one body; tells whether it took a round.
    fn apply(&self, body: &[u8]) -> (Vec<u8>, bool) {
        let outcome = prune(body, &Request::default(), &self.policy);
        let counter = match outcome.report.verdict {
            Verdict::Pruned => &self.pruned,
            Verdict::Unchanged => &self.unchanged,
            _ => &self.failed_open,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        let is_round = outcome
            .report
            .account
            .is_some_and(|account| account.is_round);
        (outcome.body.into_owned(), is_round)
    }
}

fn progress_bar(sessions: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(sessions as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} sessions, {eta} left") {
        bar.set_style(style);
    }
    bar
}

fn print(policies: &[Named], totals: &[Totals], loaded: &Loaded, requests: usize) {
    anstream::println!(
        "{} sessions, {} requests\n",
        loaded.sessions.len(),
        thousands(requests)
    );
    let mut rows = table(&[
        "policy",
        "bill",
        "worst",
        "ids",
        "lines",
        "tokens",
        "cache reads",
        "rounds/session",
        "pruned",
        "unchanged",
        "failed open",
    ]);
    for (named, total) in policies.iter().zip(totals) {
        let bill = format!("{:.4}", total.bill());
        let worst = format!("{:.4}", total.worst());
        let count = |counter: &AtomicUsize| Cell::new(thousands(counter.load(Ordering::Relaxed)));
        rows.add_row([
            Cell::new(&named.name),
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
            count(&named.pruned),
            count(&named.unchanged),
            count(&named.failed_open),
        ]);
    }
    anstream::println!("{rows}");
    anstream::println!(
        "\nbill: what the sessions cost against no pruning (fixed prompt included); worst: the worst single session;\n\
         ids, lines: share of what the model's next message used that is still there."
    );
    if !loaded.unreadable.is_empty() {
        anstream::println!("\n{} rows could not be read:", loaded.unreadable.len());
        for row in &loaded.unreadable {
            anstream::println!("  {}: {}", row.place, row.reason);
        }
    }
}

fn json(
    policies: &[Named],
    totals: &[Totals],
    loaded: &Loaded,
    requests: usize,
) -> serde_json::Value {
    let rows: Vec<_> = policies
        .iter()
        .zip(totals)
        .map(|(named, total)| {
            serde_json::json!({
                "policy": named.name,
                "bill": total.bill(),
                "worst": total.worst(),
                "ids": total.ids(),
                "lines": total.lines(),
                "tokens": total.tokens(),
                "cache_read_share": total.cache_read_share(),
                "rounds_per_session": total.rounds_per_session(),
                "pruned": named.pruned.load(Ordering::Relaxed),
                "unchanged": named.unchanged.load(Ordering::Relaxed),
                "failed_open": named.failed_open.load(Ordering::Relaxed),
            })
        })
        .collect();
    let unreadable: Vec<_> = loaded
        .unreadable
        .iter()
        .map(|row| serde_json::json!({ "place": row.place, "reason": row.reason }))
        .collect();
    serde_json::json!({
        "sessions": loaded.sessions.len(),
        "requests": requests,
        "policies": rows,
        "unreadable": unreadable,
    })
}
