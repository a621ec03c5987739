//! The two threads that bring records home: the *mover* takes batches out of the queue and gives them to
//! the writer, or to the spool; the *writer* talks to the database, and replays the spool.
//!
//! A batch that the database does not take within half a second is spooled as well: should the process
//! die now, it is there. If the database took it after all, the replay finds its rows and adds nothing.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::error::LedgerError;
use crate::ingest::{self, Sight, Written};
use crate::pace::Pace;
use crate::queue::{BATCH_WORK, Flight, InFlight, Queue, State, Waiting};
use crate::record::Record;
use crate::same_file::OpenFile;
use crate::spool::{Spool, load};
use crate::stats::Counters;
use crate::store::{Address, Database, Store, migrate};

/// What the writer begins with.
pub(crate) enum Start {
    Ready(Box<dyn Store>),
    /// Of an earlier schema: it is moved first, and the records that come meanwhile are spooled.
    Behind(Box<dyn Store>, Moving),
    Away,
}

/// What came of the move to this program's schema; `None` while it goes on. An error ends it: the writer tries again
/// as with a database that is away.
pub(crate) type Moving = watch::Sender<Option<Result<(), LedgerError>>>;

/// A database that takes longer than this is slow: records go to the spool instead of waiting.
const SLOW: Duration = Duration::from_millis(500);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
const ADOPT_EVERY: Duration = Duration::from_secs(30);
/// How often a spool is tried that takes nothing.
const RETRY_SPOOL: Duration = Duration::from_secs(1);
/// How long closing waits for the database before it leaves the rest to the spool.
const CLOSING: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) queue: Queue,
    pub(crate) counters: Counters,
    pub(crate) spool: Mutex<Spool>,
    pub(crate) address: Address,
    pub(crate) flush_every: Duration,
}

impl Shared {
    /// Counts records that found no room.
    pub(crate) fn lose(&self, records: usize) {
        if records > 0 {
            Counters::add(&self.counters.lost, records);
        }
    }

    /// Wants everything recorded so far out; up to where that is.
    pub(crate) fn want_flush(&self) -> u64 {
        self.lose(self.queue.empty_lanes());
        self.queue.want_flush()
    }

    /// Nothing is taken any more.
    pub(crate) fn close(&self) {
        self.lose(self.queue.close());
    }

    fn spool(&self) -> MutexGuard<'_, Spool> {
        self.spool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows how many records the spool holds. While it is locked: told later, a replay in between would
    /// be overwritten, and records that are home would be shown as spooled for ever.
    fn tell(&self, spool: &Spool) {
        let records = spool.records() as u64;
        self.counters.spooled.store(records, Ordering::Relaxed);
    }

    fn put_in_spool(&self, records: &[Record]) -> bool {
        let mut spool = self.spool();
        let outcome = spool.append(records);
        self.counters.note_spool(&outcome);
        if outcome.is_ok() {
            self.tell(&spool);
        }
        outcome.is_ok()
    }
}

/// Runs until the queue is closed and empty.
pub(crate) fn move_batches(shared: &Shared) {
    let queue = &shared.queue;
    let mut next_tick = Instant::now() + shared.flush_every;
    let mut closing_since = None;
    let mut state = queue.lock();
    loop {
        let now = Instant::now();
        if now >= next_tick {
            drop(state);
            shared.lose(queue.empty_lanes());
            state = queue.lock();
            state.flush_to = state.accepted;
            next_tick = now + shared.flush_every;
        }
        if state.is_closed && closing_since.is_none() {
            closing_since = Some(now);
        }
        let is_late = closing_since.is_some_and(|since| since.elapsed() > CLOSING);
        if state.is_closed
            && (is_late || state.len() == 0)
            && state
                .in_flight
                .as_ref()
                .is_none_or(|batch| batch.is_spooled || is_late)
        {
            break;
        }
        let moved;
        (state, moved) = step(shared, state);
        if !moved {
            let rest = next_tick.saturating_duration_since(Instant::now());
            let nap = if state.in_flight.is_some() || state.len() > 0 {
                rest.min(Duration::from_millis(50))
            } else {
                rest
            };
            state = queue.wait(&queue.for_mover, state, nap.max(Duration::from_millis(1)));
        }
    }
    let left = state.len();
    shared.lose(left);
    queue.settle(&mut state, left);
    state.is_drained = true;
    drop(state);
    queue.for_writer.notify_all();
}

/// One move, if there is one to make. Disk is written without the lock.
fn step<'a>(shared: &'a Shared, mut state: MutexGuard<'a, State>) -> (MutexGuard<'a, State>, bool) {
    let queue = &shared.queue;
    if let Some(batch) = &mut state.in_flight
        && batch.state == Flight::Failed
        && batch.is_spooled
    {
        state.in_flight = None;
    }
    let (is_up, is_due, is_crowded) = (state.is_up, state.is_due(), queue.is_crowded(&state));
    match &mut state.in_flight {
        // The database came back before the spool could take it.
        Some(batch) if batch.state == Flight::Failed && is_up => {
            batch.state = Flight::Pending;
            batch.is_taken = false;
            batch.sight = Sight::Again;
            batch.since = Instant::now();
            queue.for_writer.notify_one();
            (state, true)
        }
        Some(batch)
            if !batch.is_spooled
                && (batch.state == Flight::Failed
                    || is_crowded
                    || batch.since.elapsed() > SLOW) =>
        {
            let records = Arc::clone(&batch.records);
            drop(state);
            let is_spooled = shared.put_in_spool(&records);
            let mut state = queue.lock();
            let is_same = |batch: &&mut InFlight| Arc::ptr_eq(&batch.records, &records);
            if is_spooled && let Some(batch) = state.in_flight.as_mut().filter(is_same) {
                batch.is_spooled = true;
                let count = batch.count;
                queue.settle(&mut state, count);
            }
            (state, is_spooled)
        }
        None if is_up && is_due => {
            let batch = state.take_batch();
            drop(state);
            // Nobody but this thread puts a batch in flight.
            let records = Arc::new(write_out(queue, batch));
            let count = Record::count_all(&records);
            let mut state = queue.lock();
            state.in_flight = Some(InFlight {
                records,
                count,
                since: Instant::now(),
                state: Flight::Pending,
                sight: Sight::First,
                is_taken: false,
                is_spooled: false,
            });
            queue.for_writer.notify_one();
            (state, true)
        }
        in_flight => {
            // Nothing overtakes a batch that is not settled: settled records are always the first ones.
            let is_free = in_flight.as_ref().is_none_or(|batch| batch.is_spooled);
            let is_away = !is_up || in_flight.is_some();
            if !(is_free && is_away && is_due) {
                return (state, false);
            }
            let batch = state.take_batch();
            drop(state);
            let records = write_out(queue, batch);
            let is_spooled = shared.put_in_spool(&records);
            let mut state = queue.lock();
            if is_spooled {
                queue.settle(&mut state, Record::count_all(&records));
            } else {
                let waiting = |record| queue.waiting(record, None);
                state.put_back(records.into_iter().map(waiting).collect());
            }
            (state, is_spooled)
        }
    }
}

/// Without the lock: requests push meanwhile.
fn write_out(queue: &Queue, batch: VecDeque<Waiting>) -> Vec<Record> {
    let pace = Pace::new(queue);
    let whole = |waiting: Waiting| {
        if waiting.takes_long() {
            pace.rest();
        }
        waiting.write_out()
    };
    batch.into_iter().map(whole).collect()
}

/// The connection, and when to try again.
struct Line {
    store: Option<Box<dyn Store>>,
    file: OpenFile,
    retry_at: Instant,
    pause: Duration,
}

impl Line {
    fn lost(&mut self, shared: &Shared, error: &LedgerError) {
        shared.counters.note_away(error);
        self.store = None;
        self.retry_at = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        shared.queue.lock().is_up = false;
    }

    fn try_connect(&mut self, shared: &Shared) {
        if self.store.is_some() || Instant::now() < self.retry_at {
            return;
        }
        self.file.clear_rest(&shared.address);
        let connected = shared.address.connect(false).and_then(|mut store| {
            migrate(store.as_mut())?;
            Ok(store)
        });
        match connected {
            Ok(store) => {
                self.store = Some(store);
                self.file = OpenFile::of(&shared.address);
                self.pause = FIRST_PAUSE;
                shared.queue.lock().is_up = true;
                shared.queue.for_mover.notify_one();
            }
            Err(error) => self.lost(shared, &error),
        }
    }

    /// Lets go of a file that is no longer the ledger's.
    fn check_file(&mut self, shared: &Shared) {
        if self.store.is_some()
            && let Err(error) = self.file.check(&shared.address)
        {
            self.lost(shared, &error);
        }
    }
}

/// Runs until the mover is done and the batch in hand is settled.
pub(crate) fn write_batches(shared: &Shared, start: Start) {
    let queue = &shared.queue;
    let mut line = Line {
        store: None,
        file: OpenFile::of(&shared.address),
        retry_at: Instant::now(),
        pause: FIRST_PAUSE,
    };
    match start {
        Start::Ready(store) => line.store = Some(store),
        Start::Behind(mut store, moving) => {
            let moved = migrate(store.as_mut());
            match &moved {
                Ok(()) => line.store = Some(store),
                Err(error) => line.lost(shared, error),
            }
            moving.send_replace(Some(moved));
        }
        Start::Away => {}
    }
    queue.lock().is_up = line.store.is_some();
    let mut adopt_at = Instant::now() + adopt_after(shared);
    loop {
        line.check_file(shared);
        line.try_connect(shared);
        let mut state = queue.lock();
        let batch = state
            .in_flight
            .as_mut()
            .filter(|batch| batch.state == Flight::Pending && !batch.is_taken);
        if let Some(batch) = batch {
            batch.is_taken = true;
            let (records, sight) = (Arc::clone(&batch.records), batch.sight);
            drop(state);
            write_batch(shared, &mut line, &records, sight);
            continue;
        }
        if state.is_drained {
            // The last batch had its last try.
            if let Some(batch) = state.in_flight.take().filter(|batch| !batch.is_spooled) {
                shared.lose(batch.count);
                queue.settle(&mut state, batch.count);
            }
            drop(state);
            // A ledger that is closed in peace leaves nothing in the spool.
            let end = Instant::now() + CLOSING;
            while Instant::now() < end && replay(shared, &mut line) {}
            if let Some(store) = line.store.as_deref_mut() {
                settle_file(store);
            }
            return;
        }
        let is_closed = state.is_closed;
        drop(state);
        if Instant::now() >= adopt_at {
            adopt(shared);
            adopt_at = Instant::now() + adopt_after(shared);
        }
        if !is_closed && replay(shared, &mut line) {
            continue;
        }
        let is_spool_empty = shared.spool().is_empty();
        let state = queue.lock();
        if line.store.is_some() && is_spool_empty && state.in_flight.is_none() {
            shared.counters.note_back();
        }
        let has_work = state
            .in_flight
            .as_ref()
            .is_some_and(|batch| batch.state == Flight::Pending && !batch.is_taken);
        if !has_work && !state.is_drained {
            drop(queue.wait(&queue.for_writer, state, Duration::from_millis(100)));
        }
    }
}

/// Takes what dead processes left in the spool. Where the spool took nothing the last time and no rows wait that would show
/// it, tries whether it takes any now.
fn adopt(shared: &Shared) {
    let is_idle = shared.queue.lock().len() == 0;
    let mut spool = shared.spool();
    let adopted = spool.adopt();
    if is_idle && shared.counters.is_spool_away() {
        let outcome = adopted.and_then(|()| spool.append(&[]));
        shared.counters.note_spool(&outcome);
    } else if let Err(error) = adopted {
        shared.counters.note(&error);
    }
    shared.tell(&spool);
}

fn adopt_after(shared: &Shared) -> Duration {
    match shared.counters.is_spool_away() {
        true => RETRY_SPOOL,
        false => ADOPT_EVERY,
    }
}

/// Brings what SQLite keeps in its log into the file itself: then a copy of the file alone has every row. Without it
/// nothing is lost, so an error is none.
fn settle_file(store: &mut dyn Store) {
    if store.database() == Database::Sqlite {
        let _ = store.script("PRAGMA wal_checkpoint(TRUNCATE)");
    }
}

fn write_batch(shared: &Shared, line: &mut Line, records: &Arc<Vec<Record>>, sight: Sight) {
    let queue = &shared.queue;
    let outcome = match line.store.as_deref_mut() {
        Some(store) => {
            let pace = Pace::new(queue);
            ingest::write(store, records, sight, &|| pace.rest())
        }
        None => Err(LedgerError::Unreachable("not connected".into())),
    };
    if let Err(error) = &outcome
        && line.store.is_some()
    {
        line.lost(shared, error);
    }
    let mut state = queue.lock();
    let in_flight = state
        .in_flight
        .as_mut()
        .filter(|batch| Arc::ptr_eq(&batch.records, records));
    match (outcome, in_flight) {
        (Ok(written), batch) => {
            shared.counters.note_back();
            let is_settled = batch.is_some_and(|batch| batch.is_spooled);
            let all = Record::count_all(records);
            count(shared, all, &written);
            state.in_flight = None;
            if !is_settled {
                queue.settle(&mut state, all);
            }
        }
        (Err(_), Some(batch)) => batch.state = Flight::Failed,
        (Err(_), None) => {}
    }
    drop(state);
    queue.for_mover.notify_one();
}

fn count(shared: &Shared, records: usize, written: &Written) {
    Counters::add(&shared.counters.written, records - written.impossible);
    shared.lose(written.impossible);
    if written.impossible > 0 {
        shared
            .counters
            .note(&format!("{} records cannot be stored", written.impossible));
    }
}

/// Brings one segment of the spool home; whether there was one.
fn replay(shared: &Shared, line: &mut Line) -> bool {
    let Some(store) = line.store.as_deref_mut() else {
        return false;
    };
    let segment = {
        let mut spool = shared.spool();
        if spool.is_empty() {
            return false;
        }
        match spool.oldest() {
            Ok(Some(segment)) => segment,
            Ok(None) => return false,
            Err(error) => {
                shared.counters.note(&error);
                return false;
            }
        }
    };
    match replay_segment(shared, store, &segment) {
        Ok(()) => {
            shared.counters.note_back();
            true
        }
        Err(error) => {
            line.lost(shared, &error);
            false
        }
    }
}

fn replay_segment(
    shared: &Shared,
    store: &mut dyn Store,
    segment: &Path,
) -> Result<(), LedgerError> {
    let unreadable = |error: std::io::Error| LedgerError::Unreachable(format!("spool: {error}"));
    let frames = match load(segment) {
        Ok(frames) if !frames.is_foreign => frames,
        other => {
            let why = other.map_or_else(
                |error| error.to_string(),
                |_| "not a segment that this version knows".into(),
            );
            shared
                .counters
                .note(&format!("{} is set aside: {why}", segment.display()));
            let mut spool = shared.spool();
            spool.set_aside(segment).map_err(unreadable)?;
            shared.tell(&spool);
            return Ok(());
        }
    };
    shared.lose(frames.unknown);
    for records in frames.records.chunks(BATCH_WORK) {
        let pace = Pace::new(&shared.queue);
        let written = ingest::write(store, records, Sight::Again, &|| pace.rest())?;
        count(shared, written.new + written.impossible, &written);
    }
    // Only now: a death before this line replays the segment again, and adds nothing.
    let mut spool = shared.spool();
    spool
        .remove(segment, frames.records.len())
        .map_err(unreadable)?;
    shared.tell(&spool);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Entry;
    use crate::spool::MAX_SPOOL_BYTES;
    use crate::store::{Table, Value};

    /// A database that takes everything and keeps nothing.
    struct Willing;

    impl Store for Willing {
        fn database(&self) -> Database {
            Database::Sqlite
        }
        fn execute(&mut self, _: &str, _: &[Value<'_>]) -> Result<u64, LedgerError> {
            Ok(1)
        }
        fn query(
            &mut self,
            _: &str,
            _: &[Value<'_>],
        ) -> Result<Vec<Vec<Value<'static>>>, LedgerError> {
            Ok(Vec::new())
        }
        fn script(&mut self, _: &str) -> Result<(), LedgerError> {
            Ok(())
        }
        fn begin(&mut self) -> Result<(), LedgerError> {
            Ok(())
        }
        fn commit(&mut self) -> Result<(), LedgerError> {
            Ok(())
        }
        fn rollback(&mut self) {}
        fn insert_new(
            &mut self,
            _: &Table,
            rows: &[Vec<Value<'_>>],
        ) -> Result<Vec<bool>, LedgerError> {
            Ok(vec![true; rows.len()])
        }
        fn insert_rows<'r>(
            &mut self,
            rows: Vec<Entry<'r>>,
            _: Sight,
            _: &dyn Fn(),
        ) -> Result<Vec<Entry<'r>>, LedgerError> {
            Ok(rows)
        }
    }

    #[test]
    fn what_a_replay_overtakes_does_not_stay_in_the_counts() {
        let folder = tempfile::tempdir().unwrap();
        let shared = Shared {
            queue: Queue::new(10, Database::Sqlite),
            counters: Counters::default(),
            spool: Mutex::new(Spool::new(folder.path(), MAX_SPOOL_BYTES)),
            address: Address::parse("sqlite:nowhere.db").unwrap(),
            flush_every: Duration::from_millis(1),
        };
        let rounds = 300;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..rounds {
                    assert!(shared.put_in_spool(&[Record::Row(Box::default())]));
                }
            });
            scope.spawn(|| {
                let mut line = Line {
                    store: Some(Box::new(Willing)),
                    file: OpenFile::default(),
                    retry_at: Instant::now(),
                    pause: FIRST_PAUSE,
                };
                while shared.counters.show(0).written < rounds {
                    replay(&shared, &mut line);
                }
            });
        });
        assert!(shared.spool().is_empty());
        assert_eq!(shared.counters.show(0).spooled, 0);
    }
}
