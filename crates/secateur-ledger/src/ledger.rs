//! The handle: what the rest of the program sees of the ledger.

mod deciding;
mod reading;
mod texts;

use std::sync::{Arc, PoisonError};

use crate::control::Score;
use crate::error::LedgerError;
use crate::late_plan::LatePlan;
use crate::opening::{self, Inner, Writing, on_a_thread};
use crate::options::LedgerOptions;
use crate::read_pool;
use crate::record::Record;
use crate::row::Row;
use crate::spending::Spending;
use crate::stats::LedgerStats;
use crate::store::Store;

/// A cheap handle; all clones are the same ledger. When the last one goes, what is queued is still
/// brought home, but only [`Ledger::close`] waits for it.
#[derive(Clone, Debug)]
pub struct Ledger {
    inner: Arc<Inner>,
}

impl Ledger {
    /// Opens the ledger, makes its tables where there are none, and starts its threads. A database that does not answer or
    /// refuses, a file that is read-only or no ledger at all: that is no error here. [`Ledger::stats`] says what is wrong, and
    /// rows are spooled until it is put right.
    ///
    /// # Errors
    /// The address is wrong, its folder does not exist, or the schema is not this program's.
    pub async fn open(options: LedgerOptions) -> Result<Self, LedgerError> {
        let inner = on_a_thread(move || opening::open(&options)).await?;
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Opens a ledger that is there, for questions only. Nothing is created or replayed.
    ///
    /// # Errors
    /// There is no ledger, or its schema is not this program's.
    pub async fn open_for_reading(
        url: &str,
        capture_key: Option<[u8; 32]>,
    ) -> Result<Self, LedgerError> {
        let url = url.to_owned();
        let open = move || opening::open_for_reading(&url, capture_key);
        Ok(Self {
            inner: Arc::new(on_a_thread(open).await?),
        })
    }

    /// Records a request, once. Never blocks, never fails: what finds no room is counted in `stats().lost`.
    pub fn record(&self, row: Row) {
        self.push(Record::of(row), None);
    }

    /// Records a request whose plan is written out later, off the caller's thread. A plan that the row
    /// has already is replaced.
    pub fn record_with_plan(&self, row: Row, plan: LatePlan) {
        self.push(Record::of(row), Some(plan));
    }

    /// Records a score, in the same way.
    pub fn record_score(&self, score: Score) {
        self.push(Record::score(score), None);
    }

    /// Records a call that Secateur made for itself, in the same way.
    pub fn record_spending(&self, call: Spending) {
        self.push(Record::spending(call), None);
    }

    fn push(&self, record: Record, plan: Option<LatePlan>) {
        let Some(writing) = &self.inner.writing else {
            return;
        };
        if !writing.shared.queue.push(record, plan) {
            writing.shared.lose(1);
        }
    }

    /// How the ledger is doing.
    #[must_use]
    pub fn stats(&self) -> LedgerStats {
        let Some(writing) = &self.inner.writing else {
            return LedgerStats::default();
        };
        let queued = writing.shared.queue.unsettled();
        writing.shared.counters.show(queued)
    }

    /// Returns when everything recorded so far is in the database or in the spool. Should neither take
    /// it, it returns when the ledger is closed.
    pub async fn flush(&self) {
        let Some(writing) = &self.inner.writing else {
            return;
        };
        let mut settled = writing.shared.queue.settled();
        let up_to = writing.shared.queue.want_flush();
        // The sender lives as long as this handle.
        let _ = settled.wait_for(|&settled| settled >= up_to).await;
    }

    /// Brings home what is queued and stops. Rows recorded later through other clones are lost.
    pub async fn close(self) {
        let Some(writing) = &self.inner.writing else {
            return;
        };
        writing.shared.queue.close();
        let done =
            std::mem::take(&mut *writing.done.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in done {
            // An error says that the thread has ended, which is what is waited for.
            let _ = thread.await;
        }
    }

    fn writing(&self) -> Result<&Writing, LedgerError> {
        self.inner.writing.as_ref().ok_or(LedgerError::ReadOnly)
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&mut dyn Store) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        read_pool::ask(&self.inner.readers, work).await
    }
}
