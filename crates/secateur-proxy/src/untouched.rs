//! Requests that pass untouched because of their address: the bare base URL, or a workload that does not exist.
//!
//! Both are nearly always a mistake in a client's base URL, and nothing fails: so they are counted here by name, for the
//! log's warning and the portal's first page.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use secateur_ledger::Millis;
use secateur_ledger::moment::now;

/// Names that are counted apart; clients choose them. Further ones count together.
const MAX_NAMES: usize = 8;

/// Why a request passed untouched although the configuration has workloads that change requests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Untouched {
    /// It named no workload, and nothing is on for such requests.
    NoWorkload,
    /// It named a workload that the configuration does not have; empty where that is not written like a name.
    UnknownWorkload(String),
}

impl Untouched {
    /// Its name in the response header and the log.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::NoWorkload => "no-workload",
            Self::UnknownWorkload(_) => "unknown-workload",
        }
    }
}

/// How many there were, and when the last one arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UntouchedCount {
    /// Since the proxy started.
    pub requests: u64,
    /// The time of the last one.
    pub last: Millis,
}

/// Counts of a running proxy.
#[derive(Debug, Default)]
pub struct UntouchedRequests(Mutex<BTreeMap<Untouched, UntouchedCount>>);

impl UntouchedRequests {
    /// Counts a request. Whether it is the first of its kind.
    pub(crate) fn note(&self, untouched: &Untouched) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = counts.len() >= MAX_NAMES && !counts.contains_key(untouched);
        let kind = if is_full {
            Untouched::UnknownWorkload(String::new())
        } else {
            untouched.clone()
        };
        let mut is_first = false;
        let count = counts.entry(kind).or_insert_with(|| {
            is_first = true;
            UntouchedCount {
                requests: 0,
                last: 0,
            }
        });
        count.requests += 1;
        count.last = now();
        is_first
    }

    /// All counts, sorted.
    #[must_use]
    pub fn all(&self) -> Vec<(Untouched, UntouchedCount)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |(untouched, count): (&Untouched, &UntouchedCount)| (untouched.clone(), *count);
        counts.iter().map(count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_and_the_first_of_each_kind_is_told_apart() {
        let requests = UntouchedRequests::default();
        assert!(requests.note(&Untouched::NoWorkload));
        assert!(!requests.note(&Untouched::NoWorkload));
        let firsts =
            (0..100).filter(|at| requests.note(&Untouched::UnknownWorkload(format!("w{at}"))));
        assert_eq!(firsts.count(), MAX_NAMES);
        let all = requests.all();
        assert_eq!(all.len(), MAX_NAMES + 1);
        assert_eq!((&all[0].0, all[0].1.requests), (&Untouched::NoWorkload, 2));
        let rest = &all[1];
        assert_eq!(rest.0, Untouched::UnknownWorkload(String::new()));
        assert_eq!(rest.1.requests, 100 - (MAX_NAMES as u64 - 1));
    }
}
