//! How many calls a workload may make in a minute.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::config::Workload;

const MINUTE: Duration = Duration::from_secs(60);

/// A window of one minute per workload.
#[derive(Debug, Default)]
pub(super) struct Budgets(Mutex<HashMap<Arc<str>, Window>>);

#[derive(Debug)]
struct Window {
    since: Instant,
    calls: u32,
}

impl Budgets {
    /// Takes one call, if there is one left.
    pub(super) fn take(&self, workload: &Workload, now: Instant) -> bool {
        self.take_of(&workload.name, workload.summary.calls_per_minute, now)
    }

    fn take_of(&self, name: &Arc<str>, limit: u32, now: Instant) -> bool {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows.entry(Arc::clone(name)).or_insert(Window {
            since: now,
            calls: 0,
        });
        if now.saturating_duration_since(window.since) >= MINUTE {
            (window.since, window.calls) = (now, 0);
        }
        if window.calls >= limit {
            return false;
        }
        window.calls += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_so_many_calls_and_the_next_has_them_again() {
        let (budgets, start) = (Budgets::default(), Instant::now());
        let take = |name: &str, seconds| {
            budgets.take_of(&name.into(), 2, start + Duration::from_secs(seconds))
        };
        assert_eq!(
            [take("a", 0), take("a", 1), take("a", 59)],
            [true, true, false]
        );
        assert!(take("b", 59), "each workload has its own");
        assert_eq!(
            [take("a", 60), take("a", 61), take("a", 62)],
            [true, true, false]
        );
        assert!(!budgets.take_of(&"c".into(), 0, start));
    }
}
