//! Requests that pass untouched because of their address: the bare base URL, or a workload that does not exist.
//!
//! Both are nearly always a mistake in a client's base URL, and nothing fails: so they are counted here by name, for the
//! log's warning and the portal's first page.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use secateur_ledger::Millis;
use secateur_ledger::moment::now;

/// Names that are counted apart; clients choose them. Further ones count together.
const MAX_NAMES: usize = 8;

/// Why a request passed untouched although the configuration has workloads that change requests.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UntouchedCount {
    /// Since the proxy started.
    pub requests: u64,
    /// The time of the last one.
    pub last: Millis,
}

/// Counts of a running proxy.
#[derive(Debug, Default)]
pub struct UntouchedRequests {
    /// Without a lock: every request of a proxy may be one.
    unnamed: AtomicU64,
    last_unnamed: AtomicI64,
    unknown: Mutex<BTreeMap<String, UntouchedCount>>,
}

impl UntouchedRequests {
    /// Counts a request. Whether it is the first of its kind.
    pub(crate) fn note(&self, untouched: &Untouched) -> bool {
        let name = match untouched {
            Untouched::NoWorkload => {
                self.last_unnamed.store(now(), Ordering::Relaxed);
                return self.unnamed.fetch_add(1, Ordering::Relaxed) == 0;
            }
            Untouched::UnknownWorkload(name) => name.as_str(),
        };
        let mut counts = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = counts.len() >= MAX_NAMES && !counts.contains_key(name);
        let name = if is_full { "" } else { name };
        let is_first = !counts.contains_key(name);
        let count = counts.entry(name.to_owned()).or_default();
        count.requests += 1;
        count.last = now();
        is_first
    }

    /// All counts, sorted.
    #[must_use]
    pub fn all(&self) -> Vec<(Untouched, UntouchedCount)> {
        let unnamed = UntouchedCount {
            requests: self.unnamed.load(Ordering::Relaxed),
            last: self.last_unnamed.load(Ordering::Relaxed),
        };
        let unnamed = (unnamed.requests > 0).then_some((Untouched::NoWorkload, unnamed));
        let counts = self.unknown.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = |(name, count): (&String, &UntouchedCount)| {
            (Untouched::UnknownWorkload(name.clone()), *count)
        };
        unnamed
            .into_iter()
            .chain(counts.iter().map(unknown))
            .collect()
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
        // And the first of those that count together.
        assert_eq!(firsts.count(), MAX_NAMES + 1);
        let all = requests.all();
        assert_eq!(all.len(), MAX_NAMES + 2);
        assert_eq!((&all[0].0, all[0].1.requests), (&Untouched::NoWorkload, 2));
        let rest = &all[1];
        assert_eq!(rest.0, Untouched::UnknownWorkload(String::new()));
        assert_eq!(rest.1.requests, 100 - MAX_NAMES as u64);
    }
}
