//! The queue between the requests and the ledger's threads, and what the threads tell each other.
//!
//! Records leave it in order, in batches: to the database, or to the spool if the database is away or
//! slow. A record counts as settled once it is in one of the two.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::ingest::Sight;
use crate::lanes::{Lanes, LikeWhat, Taken};
use crate::late_plan::LatePlan;
use crate::plain::Figures;
use crate::record::Record;
use crate::sheaf::Sheaf;
use crate::store::Database;

/// Records in one transaction, if each is as much work as a row by itself.
pub(crate) const BATCH_WORK: usize = 2_000;
/// As many rows that the database keeps in one piece are as much work as one by itself.
const ROWS_IN_A_PIECE: usize = 2;
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
    pub(crate) sight: Sight,
    pub(crate) is_taken: bool,
    pub(crate) is_spooled: bool,
}

/// A record on its way out, and its plan where that is not written out yet.
#[derive(Debug)]
pub(crate) struct Waiting {
    record: Record,
    plan: Option<LatePlan>,
    bytes: usize,
    /// In rows.
    work: usize,
}

impl Waiting {
    /// Whether its plan is still to be made.
    pub(crate) fn takes_long(&self) -> bool {
        self.plan.is_some()
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
    work: usize,
    /// Records that make a batch, however little work they are.
    full_rows: usize,
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

    /// What there is to do, in rows.
    pub(crate) fn work(&self) -> usize {
        self.work
    }

    pub(crate) fn is_due(&self) -> bool {
        self.len > 0 && (self.is_full() || self.taken < self.flush_to)
    }

    /// Whether there is a batch of it. A queue that is small in rows must not run full before that.
    fn is_full(&self) -> bool {
        self.work >= BATCH_WORK || self.len >= self.full_rows
    }

    /// What fits into one batch. All of it at once, if it does: whoever is interrupted here keeps requests waiting.
    pub(crate) fn take_batch(&mut self) -> VecDeque<Waiting> {
        let (mut taken, mut bytes, mut work) = (self.len, self.bytes, self.work);
        let batch = if work <= BATCH_WORK && bytes <= BATCH_BYTES {
            let room = VecDeque::with_capacity(self.records.len());
            std::mem::replace(&mut self.records, room)
        } else {
            (taken, bytes, work) = (0, 0, 0);
            let fits = |waiting: &&Waiting| {
                let is_room = work < BATCH_WORK && bytes < BATCH_BYTES;
                if is_room {
                    taken += waiting.record.count();
                    bytes += waiting.bytes;
                    work += waiting.work;
                }
                is_room
            };
            let records = self.records.iter().take_while(fits).count();
            self.records.drain(..records).collect()
        };
        self.len = self.len.saturating_sub(taken);
        self.bytes = self.bytes.saturating_sub(bytes);
        self.work = self.work.saturating_sub(work);
        self.taken += taken as u64;
        batch
    }

    /// A batch that found no place is the first again.
    pub(crate) fn put_back(&mut self, batch: Vec<Waiting>) {
        for record in batch.into_iter().rev() {
            self.taken -= record.record.count() as u64;
            self.len += record.record.count();
            self.bytes += record.bytes;
            self.work += record.work;
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
    /// What comes before the queue.
    lanes: Lanes,
    max_rows: usize,
    /// Whether the database keeps sheaves in one piece.
    keeps_pieces: bool,
}

impl Queue {
    pub(crate) fn new(max_rows: usize, database: Database) -> Self {
        Self {
            state: Mutex::new(State {
                full_rows: (max_rows / 4).max(1),
                ..State::default()
            }),
            for_mover: Condvar::new(),
            for_writer: Condvar::new(),
            settled: tokio::sync::watch::Sender::new(0),
            lanes: Lanes::new(max_rows),
            max_rows: max_rows.max(1),
            keeps_pieces: database == Database::Sqlite,
        }
    }

    pub(crate) fn waiting(&self, record: Record, plan: Option<LatePlan>) -> Waiting {
        let bytes = record.bytes() + plan.as_ref().map_or(0, LatePlan::bytes);
        let work = match &record {
            Record::Sheaf(sheaf) if self.keeps_pieces && sheaf.is_a_bundle() => {
                sheaf.len().div_ceil(ROWS_IN_A_PIECE)
            }
            other => other.count(),
        };
        Waiting {
            record,
            plan,
            bytes,
            work,
        }
    }

    /// A thread that panicked cannot leave the state half-changed: every change is one step.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there was room.
    pub(crate) fn push(&self, record: Record, plan: Option<LatePlan>) -> bool {
        let record = self.waiting(record, plan);
        let (count, bytes, work) = (record.record.count(), record.bytes, record.work);
        let mut state = self.lock();
        if state.is_closed || state.len + count > self.max_rows || state.bytes + bytes > QUEUE_BYTES
        {
            return false;
        }
        let was_full = state.is_full();
        state.records.push_back(record);
        state.len += count;
        state.bytes += bytes;
        state.work += work;
        state.accepted += count as u64;
        let is_full = state.is_full();
        drop(state);
        if is_full && !was_full {
            self.for_mover.notify_one();
        }
        true
    }

    /// A request that no mechanic looked at; how many records found no room.
    pub(crate) fn push_plain(&self, id: &str, like: LikeWhat<'_>, own: Figures) -> usize {
        let mut lost = 0;
        let hand_on = |sheaf| lost = self.push_sheaf(sheaf);
        match self.lanes.add(id, like, own, hand_on) {
            Taken::Waits => lost,
            Taken::Alone(record) => usize::from(!self.push(record, None)),
            Taken::Refused => 1,
        }
    }

    fn push_sheaf(&self, sheaf: Sheaf) -> usize {
        let count = sheaf.len();
        if self.push(Record::Sheaf(sheaf), None) {
            0
        } else {
            count
        }
    }

    /// Takes in what waits before the queue; how many records found no room.
    pub(crate) fn empty_lanes(&self) -> usize {
        let mut lost = 0;
        self.lanes.empty(|sheaf| lost += self.push_sheaf(sheaf));
        lost
    }

    /// Records that are neither in the database nor in the spool.
    pub(crate) fn unsettled(&self) -> usize {
        let before = self.lanes.rows();
        let state = self.lock();
        before + usize::try_from(state.accepted - state.settled).unwrap_or(usize::MAX)
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

    /// Wants everything accepted so far out; up to where that is. Nothing of it may be left in the lanes.
    pub(crate) fn want_flush(&self) -> u64 {
        let mut state = self.lock();
        state.flush_to = state.accepted;
        let up_to = state.accepted;
        drop(state);
        self.for_mover.notify_one();
        up_to
    }

    /// Takes in what waits before the queue, and nothing more; how many records found no room.
    pub(crate) fn close(&self) -> usize {
        let mut lost = 0;
        self.lanes.close(|sheaf| lost += self.push_sheaf(sheaf));
        let mut state = self.lock();
        state.is_closed = true;
        state.flush_to = state.accepted;
        drop(state);
        self.for_mover.notify_all();
        self.for_writer.notify_all();
        lost
    }

    pub(crate) fn wait<'a>(
        &self,
        bell: &Condvar,
        state: MutexGuard<'a, State>,
        time: Duration,
    ) -> MutexGuard<'a, State> {
        bell.wait_timeout(state, time)
            .map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state)
    }
}
