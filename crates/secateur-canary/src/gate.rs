//! How much shadow traffic a workload may have: calls at a time, calls in an hour, tokens and money in a
//! day. Days begin at midnight UTC. Each process counts for itself. A scorer that fails again
//! and again is paused: calls that cannot be compared are wasted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use secateur_ledger::Millis;
use secateur_ledger::moment::DAY_MS;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::options::{CanaryOptions, ScorerOptions};
use crate::outside::Billed;

/// Requests that may wait for their client's response to end, for each call that may run.
const HELD_PER_CALL: usize = 8;

/// Comparisons without a score, one after the other, after which the scorer is paused, and for how long.
const FAILURES_IN_A_ROW: u32 = 5;
const PAUSE_MS: Millis = 10 * 60_000;

/// Why a request is not sampled while the scorer is paused.
pub(crate) const SCORER_PAUSED: &str = "scorer-rests";

/// A call that was let through: its estimated cost, and the day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ticket {
    estimate: Billed,
    day: i64,
}

impl Ticket {
    /// The estimated cost of the call.
    pub(crate) fn estimate(self) -> Billed {
        self.estimate
    }
}

/// A limit that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted {
    /// Its name in metrics and logs.
    pub(crate) limit: &'static str,
    /// Whether it is the first report of it today (for calls: this hour).
    pub(crate) is_first_report: bool,
}

#[derive(Debug, Default)]
struct Spent {
    hour: i64,
    calls: u32,
    day: i64,
    cost: Billed,
    /// Limits that were reported since the hour or the day began.
    reported: Vec<&'static str>,
}

const CALLS: &str = "calls-per-hour";
const TOKENS: &str = "tokens-per-day";
const USD: &str = "usd-per-day";

impl Spent {
    /// A new hour brings calls back, a new day tokens and money.
    fn turn(&mut self, now: Millis) {
        let (hour, day) = (now / 3_600_000, now / DAY_MS);
        if self.hour != hour {
            (self.hour, self.calls) = (hour, 0);
            self.reported.retain(|limit| *limit != CALLS);
        }
        if self.day != day {
            (self.day, self.cost) = (day, Billed::default());
            self.reported.clear();
        }
    }

    fn reached(&self, options: &CanaryOptions, more: Billed) -> Option<&'static str> {
        if self.calls >= options.max_calls_per_hour {
            Some(CALLS)
        } else if self.cost.tokens.saturating_add(more.tokens) > options.max_tokens_per_day {
            Some(TOKENS)
        } else if self.cost.usd + more.usd > options.max_usd_per_day {
            Some(USD)
        } else {
            None
        }
    }
}

/// A change in how the scorer works, worth a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScorerChange {
    /// It gave no score, after one that did or for the first time.
    Failed,
    /// It failed so often that it is paused now.
    Paused,
    /// It gives scores again.
    Recovered,
}

/// How the scorer did lately.
#[derive(Debug, Default)]
struct Health {
    failures: u32,
    paused_until: Millis,
}

/// The limits of one workload, and what is used of them.
#[derive(Debug)]
pub(crate) struct Gate {
    held: Arc<Semaphore>,
    calls: Arc<Semaphore>,
    max_concurrent: usize,
    spent: Arc<Mutex<Spent>>,
    scorer: ScorerOptions,
    health: Mutex<Health>,
}

impl Gate {
    pub(crate) fn new(options: &CanaryOptions) -> Self {
        Self::with(options, Arc::default())
    }

    fn with(options: &CanaryOptions, spent: Arc<Mutex<Spent>>) -> Self {
        let max_concurrent = options.max_concurrent;
        Self {
            held: Arc::new(Semaphore::new(max_concurrent * HELD_PER_CALL)),
            calls: Arc::new(Semaphore::new(max_concurrent)),
            max_concurrent,
            spent,
            scorer: options.scorer.clone(),
            health: Mutex::default(),
        }
    }

    /// The gate for changed options; what was spent stays spent.
    pub(crate) fn renewed(&self, options: &CanaryOptions) -> Option<Self> {
        let is_same =
            self.max_concurrent == options.max_concurrent && self.scorer == options.scorer;
        (!is_same).then(|| Self::with(options, Arc::clone(&self.spent)))
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing is to be compared at the moment.
    pub(crate) fn is_scorer_paused(&self, now: Millis) -> bool {
        now < self.health().paused_until
    }

    /// A comparison came to its end. After a pause one failure is enough for the next.
    pub(crate) fn note_scorer(&self, gave_score: bool, now: Millis) -> Option<ScorerChange> {
        let mut health = self.health();
        if gave_score {
            let had_failed = std::mem::take(&mut health.failures) > 0;
            health.paused_until = 0;
            return had_failed.then_some(ScorerChange::Recovered);
        }
        health.failures = health.failures.saturating_add(1);
        if health.failures >= FAILURES_IN_A_ROW {
            let is_first_report = now >= health.paused_until;
            health.paused_until = now + PAUSE_MS;
            return is_first_report.then_some(ScorerChange::Paused);
        }
        (health.failures == 1).then_some(ScorerChange::Failed)
    }

    /// Room to keep one original until its client has its response.
    pub(crate) fn hold(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.held).try_acquire_owned().ok()
    }

    /// Room for one call right now. Waiting would only pile up originals.
    pub(crate) fn call(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.calls).try_acquire_owned().ok()
    }

    /// Takes one call of about this cost out of the budget; else says what is used up.
    pub(crate) fn take(
        &self,
        options: &CanaryOptions,
        estimate: Billed,
        now: Millis,
    ) -> Result<Ticket, Exhausted> {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.turn(now);
        if let Some(limit) = spent.reached(options, estimate) {
            let is_first_report = !spent.reported.contains(&limit);
            if is_first_report {
                spent.reported.push(limit);
            }
            return Err(Exhausted {
                limit,
                is_first_report,
            });
        }
        spent.calls += 1;
        spent.cost.tokens += estimate.tokens;
        spent.cost.usd += estimate.usd;
        Ok(Ticket {
            estimate,
            day: spent.day,
        })
    }

    /// Puts the real cost in the place of the estimate, unless the day is over.
    pub(crate) fn settle(&self, ticket: Ticket, actual: Billed) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if spent.day == ticket.day {
            let tokens = spent.cost.tokens.saturating_sub(ticket.estimate.tokens);
            spent.cost.tokens = tokens.saturating_add(actual.tokens);
            // Sums of fractions may end a hair below nothing.
            spent.cost.usd = (spent.cost.usd - ticket.estimate.usd).max(0.0) + actual.usd;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In seconds.
    const NOON: i64 = 86_400 * 20_000 + 43_200;

    fn tokens(tokens: u64) -> Billed {
        Billed { tokens, usd: 0.0 }
    }

    fn refused(outcome: Result<Ticket, Exhausted>) -> (&'static str, bool) {
        let refused = outcome.unwrap_err();
        (refused.limit, refused.is_first_report)
    }

    #[test]
    fn calls_and_tokens_run_out_and_come_back_with_the_hour_and_the_day() {
        let options = CanaryOptions {
            max_calls_per_hour: 2,
            max_tokens_per_day: 250,
            ..CanaryOptions::default()
        };
        let gate = Gate::new(&options);
        let take = |count, seconds| gate.take(&options, tokens(count), seconds * 1000);
        take(100, NOON).unwrap();
        let second = take(100, NOON).unwrap();
        assert_eq!(refused(take(10, NOON)), (CALLS, true));
        assert_eq!(refused(take(10, NOON)), (CALLS, false));
        assert_eq!(refused(take(100, NOON + 3600)), (TOKENS, true));
        gate.settle(second, tokens(40));
        take(100, NOON + 3600).unwrap();
        take(200, NOON + 86_400).unwrap();
    }

    #[test]
    fn money_runs_out_is_reported_once_and_comes_back_at_midnight() {
        let options = CanaryOptions {
            max_usd_per_day: 1.0,
            ..CanaryOptions::default()
        };
        let gate = Gate::new(&options);
        let usd = |usd| Billed { tokens: 0, usd };
        let take = |cost, seconds| gate.take(&options, cost, seconds * 1000);
        let first = take(usd(0.9), NOON).unwrap();
        assert_eq!(refused(take(usd(0.2), NOON)), (USD, true));
        assert_eq!(refused(take(usd(0.2), NOON + 7200)), (USD, false));
        // It was cheaper than thought.
        gate.settle(first, usd(0.3));
        let late = take(usd(0.6), NOON + 7200).unwrap();
        assert_eq!(refused(take(usd(0.2), NOON + 43_199)).0, USD);
        // Midnight, to the second; what is settled now belongs to the day before.
        take(usd(0.9), NOON + 43_200).unwrap();
        gate.settle(late, usd(100.0));
        take(usd(0.1), NOON + 43_200).unwrap();
        assert_eq!(refused(take(usd(0.2), NOON + 43_200)), (USD, true));
    }

    #[test]
    fn a_scorer_that_gives_no_scores_is_paused_and_tried_again_after_a_while() {
        let options = CanaryOptions::default();
        let gate = Gate::new(&options);
        let failed = |now| gate.note_scorer(false, now);
        assert_eq!(failed(1), Some(ScorerChange::Failed));
        assert_eq!(gate.note_scorer(true, 2), Some(ScorerChange::Recovered));
        assert_eq!(gate.note_scorer(true, 2), None);
        assert_eq!(failed(3), Some(ScorerChange::Failed));
        assert_eq!([failed(4), failed(5), failed(6)], [None; 3]);
        assert!(!gate.is_scorer_paused(6));
        assert_eq!(failed(7), Some(ScorerChange::Paused));
        // Comparisons that were on their way.
        assert_eq!(failed(8), None);
        assert!(gate.is_scorer_paused(9) && !gate.is_scorer_paused(8 + PAUSE_MS));
        assert_eq!(failed(9 + PAUSE_MS), Some(ScorerChange::Paused));
        // Another scorer begins anew; what was spent stays spent.
        let other = CanaryOptions {
            scorer: ScorerOptions::Command(vec!["judge".into()]),
            ..CanaryOptions::default()
        };
        assert!(gate.renewed(&options).is_none());
        assert!(
            !gate
                .renewed(&other)
                .unwrap()
                .is_scorer_paused(10 + PAUSE_MS)
        );
    }

    #[test]
    fn there_is_room_for_so_many_and_no_more() {
        let options = CanaryOptions {
            max_concurrent: 1,
            ..CanaryOptions::default()
        };
        let gate = Gate::new(&options);
        let one = gate.call().unwrap();
        assert!(gate.call().is_none());
        drop(one);
        assert!(gate.call().is_some());
        let held: Vec<_> = (0..20).filter_map(|_| gate.hold()).collect();
        assert_eq!(held.len(), HELD_PER_CALL);
    }
}
