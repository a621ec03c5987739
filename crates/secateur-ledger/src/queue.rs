//! The queue between the requests and the ledger's threads, and what the threads tell each other.
//!
//! Records leave it in order, in batches: to the database, or to the spool if the database is away or
//! slow. A record counts as settled once it is in one of the two.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::late_plan::LatePlan;
use crate::record::Record;

/// Records in one transaction.
pub(crate) const BATCH_RECORDS: usize = 2_000;
/// Bytes in one transaction, roughly.
const BATCH_BYTES: usize = 8 << 20;
/// Bytes of all that waits.
pub(crate) const QUEUE_BYTES: usize = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flight {
    /// The writer has it or will take it.
    Pending,
    /// The database did not take it.
    Failed,
}

/// The batch that the writer thread has.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    pub(crate) records: Arc<Vec<Record>>,
    /// How many these are.
    pub(crate) count: usize,
    pub(crate) since: Instant,
    pub(crate) state: Flight,
    pub(crate) is_taken: bool,
    pub(crate) is_spooled: bool,
}

/// A record on its way out, and its plan where that is not written out yet.
#[derive(Debug)]
pub(crate) struct Waiting {
    record: Record,
    plan: Option<LatePlan>,
    bytes: usize,
}

impl Waiting {
    pub(crate) fn new(record: Record, plan: Option<LatePlan>) -> Self {
        let bytes = record.bytes() + plan.as_ref().map_or(0, LatePlan::bytes);
        Self {
            record,
            plan,
            bytes,
        }
    }

    /// Whether its plan is still to be made.
    pub(crate) fn takes_long(&self) -> bool {
        self.plan.is_some()
    }

    /// Whether it is the row of a request that no mechanic touched.
    pub(crate) fn is_passed_through(&self) -> bool {
        matches!(&self.record, Record::Row(row) if row.is_passed_through())
    }

    /// The record alone, for whom the plan does not matter.
    pub(crate) fn without_plan(self) -> Record {
        self.record
    }

    /// The whole record. Takes a while; not for where somebody waits for the queue.
    pub(crate) fn write_out(self) -> Record {
        match self.plan {
            Some(plan) => self.record.with_plan(plan),
            None => self.record,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct State {
    records: VecDeque<Waiting>,
    /// How many these are.
    len: usize,
    bytes: usize,
    /// Records that make a batch.
    full: usize,
    /// Records ever accepted, taken out, and settled.
    pub(crate) accepted: u64,
    pub(crate) taken: u64,
    pub(crate) settled: u64,
    /// Everything up to here is wanted out now.
    pub(crate) flush_to: u64,
    pub(crate) in_flight: Option<InFlight>,
    pub(crate) is_up: bool,
    pub(crate) is_closed: bool,
    /// The mover is done: nothing comes any more.
    pub(crate) is_drained: bool,
}

impl State {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_due(&self) -> bool {
        self.len > 0 && (self.is_full() || self.taken < self.flush_to)
    }

    /// Whether there is a batch of it.
    fn is_full(&self) -> bool {
        self.len >= self.full
    }

    /// What fits into one batch. All of it at once, if it does: whoever is interrupted here keeps requests waiting.
    pub(crate) fn take_batch(&mut self) -> VecDeque<Waiting> {
        let (mut taken, mut bytes) = (self.len, self.bytes);
        let batch = if taken <= BATCH_RECORDS && bytes <= BATCH_BYTES {
            let room = VecDeque::with_capacity(self.records.len());
            std::mem::replace(&mut self.records, room)
        } else {
            (taken, bytes) = (0, 0);
            let fits = |waiting: &&Waiting| {
                let is_room = taken < BATCH_RECORDS && bytes < BATCH_BYTES;
                if is_room {
                    taken += waiting.record.count();
                    bytes += waiting.bytes;
                }
                is_room
            };
            let records = self.records.iter().take_while(fits).count();
            self.records.drain(..records).collect()
        };
        self.len = self.len.saturating_sub(taken);
        self.bytes = self.bytes.saturating_sub(bytes);
        self.taken += taken as u64;
        batch
    }

    /// A batch that found no place is the first again.
    pub(crate) fn put_back(&mut self, batch: Vec<Waiting>) {
        for record in batch.into_iter().rev() {
            self.taken -= record.record.count() as u64;
            self.len += record.record.count();
            self.bytes += record.bytes;
            self.records.push_front(record);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// For the mover: a full batch, a flush, news from the writer.
    pub(crate) for_mover: Condvar,
    /// For the writer: a batch, the end.
    pub(crate) for_writer: Condvar,
    /// Counts settled records.
    settled: tokio::sync::watch::Sender<u64>,
    max_rows: usize,
}

impl Queue {
    pub(crate) fn new(max_rows: usize) -> Self {
        Self {
            state: Mutex::new(State {
                // A small queue must not run full before there is a batch.
                full: BATCH_RECORDS.min(max_rows / 4).max(1),
                ..State::default()
            }),
            for_mover: Condvar::new(),
            for_writer: Condvar::new(),
            settled: tokio::sync::watch::Sender::new(0),
            max_rows: max_rows.max(1),
        }
    }

    /// A thread that panicked cannot leave the state half-changed: every change is one step.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there was room.
    pub(crate) fn push(&self, record: Record, plan: Option<LatePlan>) -> bool {
        let record = Waiting::new(record, plan);
        let (count, bytes) = (record.record.count(), record.bytes);
        let mut state = self.lock();
        if state.is_closed || state.len + count > self.max_rows || state.bytes + bytes > QUEUE_BYTES
        {
            return false;
        }
        let was_full = state.is_full();
        state.records.push_back(record);
        state.len += count;
        state.bytes += bytes;
        state.accepted += count as u64;
        let is_full = state.is_full();
        drop(state);
        if is_full && !was_full {
            self.for_mover.notify_one();
        }
        true
    }

    /// Records that are neither in the database nor in the spool.
    pub(crate) fn unsettled(&self) -> usize {
        let state = self.lock();
        usize::try_from(state.accepted - state.settled).unwrap_or(usize::MAX)
    }

    /// Whether it is so full that waiting for the database risks losing records.
    pub(crate) fn is_crowded(&self, state: &State) -> bool {
        state.len >= self.max_rows / 4 * 3 || state.bytes >= QUEUE_BYTES / 4 * 3
    }

    pub(crate) fn settle(&self, state: &mut State, count: usize) {
        state.settled += count as u64;
        self.settled.send_replace(state.settled);
    }

    pub(crate) fn settled(&self) -> tokio::sync::watch::Receiver<u64> {
        self.settled.subscribe()
    }

    /// Wants everything accepted so far out; up to where that is.
    pub(crate) fn want_flush(&self) -> u64 {
        let mut state = self.lock();
        state.flush_to = state.accepted;
        let up_to = state.accepted;
        drop(state);
        self.for_mover.notify_one();
        up_to
    }

    /// Nothing is taken any more.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.flush_to = state.accepted;
        drop(state);
        self.for_mover.notify_all();
        self.for_writer.notify_all();
    }

    pub(crate) fn wait<'a>(
        &self,
        signal: &Condvar,
        state: MutexGuard<'a, State>,
        time: Duration,
    ) -> MutexGuard<'a, State> {
        signal
            .wait_timeout(state, time)
            .map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state)
    }
}
