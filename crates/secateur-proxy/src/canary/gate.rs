//! How much shadow traffic a workload may have: calls at a time, calls in an hour, tokens in a day.
//! Each process counts for itself.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::options::CanaryOptions;

/// Requests that may wait for their client's response to end, for each call that may run.
const HELD_PER_CALL: usize = 8;

#[derive(Debug, Default)]
struct Spent {
    hour: u64,
    calls: u32,
    day: u64,
    tokens: u64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Gate {
    held: Arc<Semaphore>,
    calls: Arc<Semaphore>,
    max_concurrent: usize,
    spent: Arc<Mutex<Spent>>,
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
        }
    }

    /// The gate for changed options; what was spent stays spent.
    pub(crate) fn renewed(&self, options: &CanaryOptions) -> Option<Self> {
        (self.max_concurrent != options.max_concurrent)
            .then(|| Self::with(options, Arc::clone(&self.spent)))
    }

    /// Room to keep one original until its client has its response.
    pub(crate) fn hold(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.held).try_acquire_owned().ok()
    }

    /// Room for one call right now. Waiting would only pile up originals.
    pub(crate) fn call(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.calls).try_acquire_owned().ok()
    }

    /// Takes one call of about so many tokens out of the budget; else says what is used up.
    pub(crate) fn take(
        &self,
        options: &CanaryOptions,
        tokens: u64,
        now: SystemTime,
    ) -> Result<(), &'static str> {
        let seconds = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let (hour, day) = (seconds / 3600, seconds / 86_400);
        if spent.hour != hour {
            (spent.hour, spent.calls) = (hour, 0);
        }
        if spent.day != day {
            (spent.day, spent.tokens) = (day, 0);
        }
        if spent.calls >= options.max_calls_per_hour {
            return Err("calls-per-hour");
        }
        if spent.tokens.saturating_add(tokens) > options.max_tokens_per_day {
            return Err("tokens-per-day");
        }
        spent.calls += 1;
        spent.tokens += tokens;
        Ok(())
    }

    /// Puts the real count in the place of the estimate.
    pub(crate) fn settle(&self, estimate: u64, actual: u64) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.tokens = spent.tokens.saturating_sub(estimate).saturating_add(actual);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn calls_and_tokens_run_out_and_come_back_with_the_hour_and_the_day() {
        let options = CanaryOptions {
            max_calls_per_hour: 2,
            max_tokens_per_day: 250,
            ..CanaryOptions::default()
        };
        let gate = Gate::new(&options);
        let noon = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * 20_000 + 43_200);
        let later = |seconds| noon + Duration::from_secs(seconds);
        assert_eq!(gate.take(&options, 100, noon), Ok(()));
        assert_eq!(gate.take(&options, 100, noon), Ok(()));
        assert_eq!(gate.take(&options, 10, noon), Err("calls-per-hour"));
        assert_eq!(gate.take(&options, 100, later(3600)), Err("tokens-per-day"));
        gate.settle(100, 40);
        assert_eq!(gate.take(&options, 100, later(3600)), Ok(()));
        assert_eq!(gate.take(&options, 200, later(86_400)), Ok(()));
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
