//! How far the presets agree with the systems they are named after.
//!
//! Reads recorded decisions of those systems on real sessions from a folder outside the project
//! (`SECATEUR_DATA`, by default `../shared/data` beside the workspace) and runs the presets on the
//! same requests. Without the folder only the cases that are written here run.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that reads recorded data and prints a table"
)]

mod beskar;
mod data;
mod made_here;
mod openclaw;
mod opencode;

use std::collections::BTreeMap;

/// Decisions of one system in one mode, and how many of ours are the same.
#[derive(Debug, Default)]
struct Tally {
    rows: usize,
    same_rows: usize,
    decisions: usize,
    same: usize,
    /// Of these: replacements that are not smaller than what they replace, which the peer makes and
    /// we must not (the output never grows).
    expected_skips: usize,
    /// Why the others differ, with counts.
    reasons: BTreeMap<&'static str, usize>,
}

impl Tally {
    fn row(&mut self, decisions: usize, differences: &[&'static str]) {
        self.rows += 1;
        self.same_rows += usize::from(differences.is_empty());
        self.decisions += decisions;
        self.same += decisions - differences.len();
        for reason in differences {
            *self.reasons.entry(reason).or_default() += 1;
        }
    }

    fn share(&self) -> f64 {
        self.same as f64 / self.decisions.max(1) as f64
    }
}

/// A difference whose reason nobody knows: a bug.
const UNEXPLAINED: &str = "unexplained";

#[test]
fn presets_decide_as_the_systems_they_are_named_after() {
    let Some(data) = data::Data::open() else {
        println!(
            "skipped: no recorded decisions (set SECATEUR_DATA to the folder with golden/ and sessions/)"
        );
        return;
    };
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    openclaw::run(&data, &mut tallies);
    beskar::run(&data, &mut tallies);
    opencode::run(&data, &mut tallies);
    let mut by_peer: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    println!(
        "{:<26} {:>12} {:>16} {:>8}",
        "", "rows", "decisions", "agree"
    );
    for (name, tally) in &tallies {
        println!(
            "{name:<26} {:>5} of {:>3} {:>7} of {:>5} {:>6.2} %",
            tally.same_rows,
            tally.rows,
            tally.same,
            tally.decisions,
            100.0 * tally.share()
        );
        if tally.expected_skips > 0 {
            println!(
                "    {} of these: skipped as expected, not smaller",
                tally.expected_skips
            );
        }
        for (reason, count) in &tally.reasons {
            println!("    {count} × {reason}");
        }
        let peer = name.split('/').next().unwrap_or(name).to_owned();
        let sum = by_peer.entry(peer).or_default();
        sum.0 += tally.same;
        sum.1 += tally.decisions;
    }
    for (peer, (same, decisions)) in by_peer {
        let share = same as f64 / decisions as f64;
        println!(
            "{peer}: {same} of {decisions} decisions, {:.2} %",
            100.0 * share
        );
        assert!(share >= 0.98, "{peer} agrees on only {share:.4}");
    }
    let unexplained: usize = tallies
        .values()
        .filter_map(|tally| tally.reasons.get(UNEXPLAINED))
        .sum();
    assert_eq!(unexplained, 0, "every difference has a reason");
}
