//! The thread that writes batches to the database, and replays the spool.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::LedgerError;
use crate::ingest::{self, Written};
use crate::queue::{BATCH_RECORDS, Flight};
use crate::record::Record;
use crate::same_file::OpenFile;
use crate::schema::create_or_check;
use crate::shared::{CLOSING, Shared};
use crate::spool::load;
use crate::stats::Counters;
use crate::store::{Database, Store};
use crate::write_throttle::WriteThrottle;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
const ADOPT_EVERY: Duration = Duration::from_secs(30);
/// How often a spool is tried that takes nothing.
const RETRY_SPOOL: Duration = Duration::from_secs(1);

/// The connection, and when to try again.
struct Connection {
    store: Option<Box<dyn Store>>,
    file: OpenFile,
    retry_at: Instant,
    pause: Duration,
}

impl Connection {
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
            create_or_check(store.as_mut())?;
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
pub(crate) fn write_batches(shared: &Shared, store: Option<Box<dyn Store>>) {
    let queue = &shared.queue;
    let mut connection = Connection {
        store,
        file: OpenFile::of(&shared.address),
        retry_at: Instant::now(),
        pause: FIRST_PAUSE,
    };
    queue.lock().is_up = connection.store.is_some();
    let mut adopt_at = Instant::now() + adopt_after(shared);
    loop {
        connection.check_file(shared);
        connection.try_connect(shared);
        let mut state = queue.lock();
        let batch = state
            .in_flight
            .as_mut()
            .filter(|batch| batch.state == Flight::Pending && !batch.is_taken);
        if let Some(batch) = batch {
            batch.is_taken = true;
            let records = Arc::clone(&batch.records);
            drop(state);
            write_batch(shared, &mut connection, &records);
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
            while Instant::now() < end && replay(shared, &mut connection) {}
            if let Some(store) = connection.store.as_deref_mut() {
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
        if !is_closed && replay(shared, &mut connection) {
            continue;
        }
        let is_spool_empty = shared.spool().is_empty();
        let state = queue.lock();
        if connection.store.is_some() && is_spool_empty && state.in_flight.is_none() {
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

fn write_batch(shared: &Shared, connection: &mut Connection, records: &Arc<Vec<Record>>) {
    let queue = &shared.queue;
    let outcome = match connection.store.as_deref_mut() {
        Some(store) => {
            let throttle = WriteThrottle::new(queue);
            ingest::write(store, records, &|| throttle.pause())
        }
        None => Err(LedgerError::Unreachable("not connected".into())),
    };
    if let Err(error) = &outcome
        && connection.store.is_some()
    {
        connection.lost(shared, error);
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
fn replay(shared: &Shared, connection: &mut Connection) -> bool {
    let Some(store) = connection.store.as_deref_mut() else {
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
            connection.lost(shared, &error);
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
    for records in frames.records.chunks(BATCH_RECORDS) {
        let throttle = WriteThrottle::new(&shared.queue);
        let written = ingest::write(store, records, &|| throttle.pause())?;
        count(shared, written.new + written.impossible, &written);
    }
    // Only now: a death before this line replays the segment again, and adds nothing.
    let mut spool = shared.spool();
    spool
        .remove(segment, Record::count_all(&frames.records))
        .map_err(unreadable)?;
    shared.tell(&spool);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit_table::AUDIT;
    use crate::options::PassThrough;
    use crate::queue::Queue;
    use crate::spool::MAX_SPOOL_BYTES;
    use crate::spool::Spool;
    use crate::store::{Address, Value};
    use std::sync::Mutex;

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
            values: &[Value<'_>],
        ) -> Result<Vec<Vec<Value<'static>>>, LedgerError> {
            let keys = values.chunks(AUDIT.columns.len());
            Ok(keys.map(|_| vec![Value::owned("")]).collect())
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
    }

    #[test]
    fn what_a_replay_overtakes_does_not_stay_in_the_counts() {
        let folder = tempfile::tempdir().unwrap();
        let shared = Shared {
            queue: Queue::new(10),
            counters: Counters::default(),
            spool: Mutex::new(Spool::new(folder.path(), MAX_SPOOL_BYTES)),
            address: Address::parse("sqlite:nowhere.db").unwrap(),
            flush_every: Duration::from_millis(1),
            pass_through: PassThrough::Rows,
        };
        let rounds = 300;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..rounds {
                    assert!(shared.put_in_spool(&[Record::Row(Box::default())]));
                }
            });
            scope.spawn(|| {
                let mut connection = Connection {
                    store: Some(Box::new(Willing)),
                    file: OpenFile::default(),
                    retry_at: Instant::now(),
                    pause: FIRST_PAUSE,
                };
                while shared.counters.show(0).written < rounds {
                    replay(&shared, &mut connection);
                }
            });
        });
        assert!(shared.spool().is_empty());
        assert_eq!(shared.counters.show(0).spooled, 0);
    }
}
