//! How the ledger is doing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// Counts since the ledger was opened. Holds no row content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerStats {
    /// Records in memory, not yet in the database or the spool.
    pub queued: u64,
    /// Records in the spool, not yet in the database.
    pub spooled: u64,
    /// Records that the database has taken.
    pub written: u64,
    /// Records that are gone: the queue and the spool were full, or the database found them impossible.
    pub lost: u64,
    /// The last thing that went wrong.
    pub last_error: Option<String>,
    /// How often the database ceased to take rows.
    pub outages: u64,
    /// Why the database takes no rows at the moment; `None`: it takes them.
    pub away: Option<String>,
    /// Why the spool takes no rows at the moment; they then wait in memory alone.
    pub spool_away: Option<String>,
}

impl LedgerStats {
    /// What is wrong at the moment, in words that may be shown to anybody: no addresses, no paths.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let who = match (&self.away, &self.spool_away) {
            (Some(_), Some(_)) => {
                Some("nothing is recorded: neither the database nor the spool takes rows")
            }
            (Some(_), None) => Some("the database takes no rows"),
            (None, Some(_)) => Some("the spool takes no rows"),
            (None, None) => None,
        };
        let waits = who.map(|who| {
            let (spooled, queued) = (self.spooled, self.queued);
            format!("{who}, {spooled} wait in the spool and {queued} in memory")
        });
        let lost = (self.lost > 0).then(|| format!("{} rows are lost since the start", self.lost));
        match (waits, lost) {
            (Some(waits), Some(lost)) => Some(format!("{waits}; {lost}")),
            (waits, lost) => waits.or(lost),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) spooled: AtomicU64,
    pub(crate) written: AtomicU64,
    pub(crate) lost: AtomicU64,
    outages: AtomicU64,
    last_error: Mutex<Option<String>>,
    away: Mutex<Option<String>>,
    spool_away: Mutex<Option<String>>,
}

/// What it was before.
fn set(to: &Mutex<Option<String>>, value: Option<String>) -> Option<String> {
    let mut held = to.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::replace(&mut *held, value)
}

fn get(from: &Mutex<Option<String>>) -> Option<String> {
    from.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn note(&self, error: &impl ToString) {
        set(&self.last_error, Some(error.to_string()));
    }

    /// The database took nothing.
    pub(crate) fn note_away(&self, error: &impl ToString) {
        self.note(error);
        if set(&self.away, Some(error.to_string())).is_none() {
            Self::add(&self.outages, 1);
        }
    }

    /// The database took what there was.
    pub(crate) fn note_back(&self) {
        set(&self.away, None);
    }

    /// Whether the spool took nothing the last time.
    pub(crate) fn is_spool_away(&self) -> bool {
        get(&self.spool_away).is_some()
    }

    /// What became of an attempt to spool.
    pub(crate) fn note_spool(&self, outcome: &Result<(), std::io::Error>) {
        let error = outcome
            .as_ref()
            .err()
            .map(|error| format!("spool: {error}"));
        if let Some(error) = &error {
            self.note(error);
        }
        set(&self.spool_away, error);
    }

    pub(crate) fn show(&self, queued: usize) -> LedgerStats {
        LedgerStats {
            queued: queued as u64,
            spooled: self.spooled.load(Ordering::Relaxed),
            written: self.written.load(Ordering::Relaxed),
            lost: self.lost.load(Ordering::Relaxed),
            outages: self.outages.load(Ordering::Relaxed),
            last_error: get(&self.last_error),
            away: get(&self.away),
            spool_away: get(&self.spool_away),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_told_without_addresses() {
        let mut stats = LedgerStats::default();
        assert_eq!(stats.trouble(), None);
        stats.away = Some("cannot reach db.internal:5432".into());
        (stats.spooled, stats.queued) = (7, 2);
        let told = stats.trouble().unwrap();
        assert_eq!(
            told,
            "the database takes no rows, 7 wait in the spool and 2 in memory"
        );
        stats.lost = 3;
        stats.spool_away = Some("spool: /secret/path is full".into());
        let told = stats.trouble().unwrap();
        assert!(
            told.starts_with("nothing is recorded: neither")
                && told.ends_with("3 rows are lost since the start"),
            "{told}"
        );
        assert!(!told.contains('/') && !told.contains("internal"), "{told}");
    }
}
