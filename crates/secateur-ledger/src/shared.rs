//! What the threads that bring records to the database share: the queue, the spool, the counts.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::options::PassThrough;
use crate::queue::Queue;
use crate::record::Record;
use crate::spool::Spool;
use crate::stats::Counters;
use crate::store::Address;

/// How long closing waits for the database before it leaves the rest to the spool.
pub(crate) const CLOSING: Duration = Duration::from_secs(5);

/// What the ledger's threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) queue: Queue,
    pub(crate) counters: Counters,
    pub(crate) spool: Mutex<Spool>,
    pub(crate) address: Address,
    pub(crate) flush_every: Duration,
    pub(crate) pass_through: PassThrough,
}

impl Shared {
    /// Counts records that found no room.
    pub(crate) fn lose(&self, records: usize) {
        if records > 0 {
            Counters::add(&self.counters.lost, records);
        }
    }

    pub(crate) fn spool(&self) -> MutexGuard<'_, Spool> {
        self.spool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows how many records the spool holds. While it is locked: told later, a replay in between would
    /// be overwritten, and records that are home would be shown as spooled for ever.
    pub(crate) fn tell(&self, spool: &Spool) {
        let records = spool.records() as u64;
        self.counters.spooled.store(records, Ordering::Relaxed);
    }

    pub(crate) fn put_in_spool(&self, records: &[Record]) -> bool {
        let mut spool = self.spool();
        let outcome = spool.append(records);
        self.counters.note_spool(&outcome);
        if outcome.is_ok() {
            self.tell(&spool);
        }
        outcome.is_ok()
    }
}
