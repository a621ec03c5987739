//! Opens a ledger: connects, brings its schema forward, starts its threads.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};

use crate::control::Controls;
use crate::decisions;
use crate::desk::{self, Caller, Job, Keeper};
use crate::error::LedgerError;
use crate::ledger::{Inner, Writing};
use crate::options::LedgerOptions;
use crate::queue::Queue;
use crate::seal::Seal;
use crate::spool::{MAX_SPOOL_BYTES, Spool};
use crate::stats::Counters;
use crate::store::{Address, is_behind, migrate};
use crate::worker::{Moving, Shared, Start, move_batches, write_batches};

/// Threads that answer questions.
const READERS: usize = 3;
/// How long opening waits for a ledger of an earlier schema to be brought forward. A large one goes on without it.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) fn open(options: &LedgerOptions) -> Result<Inner, LedgerError> {
    let address = Address::parse(&options.url)?;
    let counters = Counters::default();
    let (moving, moved) = watch::channel(Some(Ok(())));
    let (begin, first) = match connect(&address, moving) {
        Err(error) if error.is_passing() => {
            counters.note_away(&error);
            (Start::Away, Controls::default())
        }
        connected => connected?,
    };
    let spool = open_spool(options, &counters, matches!(begin, Start::Away));
    let shared = Arc::new(Shared {
        queue: Queue::new(options.queue_rows, address.database()),
        counters,
        spool: Mutex::new(spool),
        address: address.clone(),
        flush_every: options
            .flush_every
            .clamp(Duration::from_millis(1), Duration::from_secs(1)),
    });
    let (publisher, controls) = watch::channel(Arc::new(first));
    let limits = Arc::default();
    let mut done = Vec::new();
    let mover = Arc::clone(&shared);
    done.push(start("ledger-mover", move || move_batches(&mover))?);
    let writer = Arc::clone(&shared);
    done.push(start("ledger-writer", move || {
        write_batches(&writer, begin);
    })?);
    let (keeper, jobs) = mpsc::channel();
    let keeping = Keeper {
        caller: Caller::new(address.clone(), false),
        controls: publisher.clone(),
        limits: Arc::clone(&limits),
        keep_days: options.keep_days,
        clears: options.clears,
    };
    start("ledger-keeper", move || keeping.keep(&jobs))?;
    let writing = Writing {
        shared,
        keeper,
        publisher,
        done: Mutex::new(done),
        moved,
    };
    let moved = wait_for_move(&writing);
    // Should it have failed, what was started ends with this.
    let inner = Inner {
        readers: start_readers(&address)?,
        controls,
        limits,
        seal: options.capture_key.map(|key| Arc::new(Seal::new(&key))),
        writing: Some(writing),
    };
    match moved {
        Some(Err(error)) if !error.is_passing() => Err(error),
        _ => Ok(inner),
    }
}

pub(crate) fn open_for_reading(
    url: &str,
    capture_key: Option<[u8; 32]>,
) -> Result<Inner, LedgerError> {
    let address = Address::parse(url)?;
    let decided = Caller::new(address.clone(), true).ask(decisions::controls)?;
    let (_, controls) = watch::channel(Arc::new(decided));
    Ok(Inner {
        readers: start_readers(&address)?,
        controls,
        limits: Arc::default(),
        seal: capture_key.map(|key| Arc::new(Seal::new(&key))),
        writing: None,
    })
}

/// What the writer begins with, and what was decided before.
fn connect(address: &Address, moving: Moving) -> Result<(Start, Controls), LedgerError> {
    let mut store = address.connect(false)?;
    let is_behind = is_behind(store.as_mut());
    if !is_behind {
        migrate(store.as_mut())?;
    }
    // Decisions lie in the same tables in every schema, so they hold before a move is done.
    let first = decisions::controls(store.as_mut())?;
    let begin = if is_behind {
        moving.send_replace(None);
        Start::Behind(store, moving)
    } else {
        Start::Ready(store)
    };
    Ok((begin, first))
}

/// What came of bringing it forward, if that was quick.
fn wait_for_move(writing: &Writing) -> Option<Result<(), LedgerError>> {
    let end = Instant::now() + PATIENCE;
    loop {
        let moved = writing.moved.borrow().clone();
        if moved.is_some() || Instant::now() >= end {
            return moved;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// One that cannot be used now is tried again when it is needed. Where it `is_needed`, nobody waits for the first row to learn
/// whether it takes any.
fn open_spool(options: &LedgerOptions, counters: &Counters, is_needed: bool) -> Spool {
    let mut spool = Spool::new(&options.spool_dir, MAX_SPOOL_BYTES);
    let mut outcome = spool.adopt();
    if is_needed && outcome.is_ok() {
        outcome = spool.append(&[]);
    }
    counters.note_spool(&outcome);
    Counters::add(&counters.spooled, spool.records());
    spool
}

fn start_readers(address: &Address) -> Result<Sender<Job>, LedgerError> {
    let (readers, jobs) = mpsc::channel();
    let jobs = Arc::new(Mutex::new(jobs));
    for _ in 0..READERS {
        let (jobs, caller) = (Arc::clone(&jobs), Caller::new(address.clone(), true));
        start("ledger-reader", move || desk::read(&jobs, caller))?;
    }
    Ok(readers)
}

/// The receiver learns when the thread has ended.
fn start(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<oneshot::Receiver<()>, LedgerError> {
    let (done, is_done) = oneshot::channel();
    let run = move || {
        work();
        let _ = done.send(());
    };
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .map_err(|error| LedgerError::Unreachable(format!("no thread: {error}")))?;
    Ok(is_done)
}

/// Databases are opened on a thread of their own: opening blocks.
pub(crate) async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LedgerError> + Send + 'static,
) -> Result<T, LedgerError> {
    let (tell, told) = oneshot::channel();
    start("ledger-open", move || {
        let _ = tell.send(work());
    })?;
    told.await.map_err(|_| LedgerError::Closed)?
}
