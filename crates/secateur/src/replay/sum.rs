//! Adds up what came of all pieces, in their order. It grows with the number of sessions, and not with their size.

use secateur_replay::{Found, Loaded, Measure, SpendingSum, Totals, Unreadable};

use super::since::Since;
use super::tally::Counted;
use super::work::Done;
use super::{Entrant, Replay};

/// Rows that are named in all; the others are counted.
const MAX_NAMED: usize = 1_000;

/// What was not read.
#[derive(Default)]
pub(super) struct Gaps {
    pub(super) unreadable: Vec<Unreadable>,
    /// Further rows that could not be read.
    pub(super) unnamed: usize,
    /// Files that were not read to their end.
    pub(super) cut_short: Vec<String>,
    /// Logs without any request.
    pub(super) empty_logs: usize,
}

impl Gaps {
    /// What a piece of work did not read. `is_log`: it is an agent's log.
    pub(super) fn of(loaded: &mut Loaded, is_log: bool) -> Self {
        Self {
            unreadable: std::mem::take(&mut loaded.unreadable),
            unnamed: loaded.unnamed,
            cut_short: std::mem::take(&mut loaded.cut_short),
            empty_logs: usize::from(is_log && loaded.sessions.is_empty()),
        }
    }

    fn add(&mut self, mut other: Self) {
        let room = MAX_NAMED.saturating_sub(self.unreadable.len());
        self.unnamed += other.unnamed + other.unreadable.len().saturating_sub(room);
        other.unreadable.truncate(room);
        self.unreadable.append(&mut other.unreadable);
        self.cut_short.append(&mut other.cut_short);
        self.empty_logs += other.empty_logs;
    }

    /// All rows that could not be read.
    pub(super) fn unreadable_rows(&self) -> usize {
        self.unreadable.len() + self.unnamed
    }
}

/// Sums so far.
pub(super) struct Sum {
    spending: SpendingSum,
    /// For each policy.
    policies: Vec<(Totals, Counted)>,
    sessions: usize,
    requests: usize,
    gaps: Gaps,
}

impl Sum {
    pub(super) fn new(entrants: &[Entrant], since_ms: Option<i64>) -> Self {
        Self {
            spending: SpendingSum::new(since_ms),
            policies: entrants.iter().map(|_| Default::default()).collect(),
            sessions: 0,
            requests: 0,
            gaps: Gaps::default(),
        }
    }

    pub(super) fn add(&mut self, done: Done) {
        self.sessions += done.costs.len();
        self.requests += done.requests;
        for conversation in &done.costs {
            self.spending.add(conversation);
        }
        for ((totals, counted), (scores, more)) in self.policies.iter_mut().zip(done.policies) {
            totals.sessions.extend(scores);
            counted.add(&more);
        }
        self.gaps.add(done.gaps);
    }

    pub(super) fn finish(
        mut self,
        mut entrants: Vec<Entrant>,
        since: Since,
        measure: Measure,
        found: Found,
    ) -> Replay {
        for (entrant, sums) in entrants.iter_mut().zip(self.policies) {
            (entrant.totals, entrant.counted) = sums;
        }
        self.gaps.unreadable.splice(..0, found.unreadable);
        Replay {
            entrants,
            since,
            spending: self.spending.finish(),
            measure,
            sessions: self.sessions,
            requests: self.requests,
            gaps: self.gaps,
            older: found.older,
        }
    }
}
