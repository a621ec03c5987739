//! Adds up the results of all units of work, in their order. Memory grows with the number of sessions, not with their
//! size.

use secateur_replay::{Found, Measure, SpendingSum, Totals};

use super::gaps::Gaps;
use super::tally::Counted;
use super::work::Done;
use super::{Entrant, Replay};
use crate::since::Since;

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
