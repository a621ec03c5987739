//! How the ledger is doing.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

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
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) spooled: AtomicU64,
    pub(crate) written: AtomicU64,
    pub(crate) lost: AtomicU64,
    last_error: Mutex<Option<String>>,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn note(&self, error: &impl ToString) {
        if let Ok(mut last) = self.last_error.lock() {
            *last = Some(error.to_string());
        }
    }

    pub(crate) fn show(&self, queued: usize) -> LedgerStats {
        LedgerStats {
            queued: queued as u64,
            spooled: self.spooled.load(Ordering::Relaxed),
            written: self.written.load(Ordering::Relaxed),
            lost: self.lost.load(Ordering::Relaxed),
            last_error: self.last_error.lock().ok().and_then(|last| last.clone()),
        }
    }
}
