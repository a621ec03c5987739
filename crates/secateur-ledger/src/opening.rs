//! Opens a ledger: connects, makes its tables where there are none, starts its threads.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use crate::control::Controls;
use crate::decisions;
use crate::error::LedgerError;
use crate::mover::move_batches;
use crate::options::{CaptureLimits, LedgerOptions};
use crate::queue::Queue;
use crate::read_pool::{self, Caller, Job, Keeper};
use crate::schema::create_or_check;
use crate::seal::Seal;
use crate::shared::Shared;
use crate::spool::{MAX_SPOOL_BYTES, Spool};
use crate::stats::Counters;
use crate::store::{Address, Store};
use crate::writer::write_batches;

/// By workload.
pub(crate) type Limits = Arc<Mutex<BTreeMap<String, CaptureLimits>>>;

/// An open ledger.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) readers: Sender<Job>,
    pub(crate) controls: watch::Receiver<Arc<Controls>>,
    pub(crate) limits: Limits,
    pub(crate) seal: Option<Arc<Seal>>,
    /// Not there if opened for reading.
    pub(crate) writing: Option<Writing>,
}

/// What only a ledger has that is written.
#[derive(Debug)]
pub(crate) struct Writing {
    pub(crate) shared: Arc<Shared>,
    pub(crate) keeper: Sender<Job>,
    pub(crate) publisher: watch::Sender<Arc<Controls>>,
    /// Of the mover and of the writer.
    pub(crate) done: Mutex<Vec<oneshot::Receiver<()>>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(writing) = &self.writing {
            writing.shared.queue.close();
        }
    }
}

/// Threads that answer questions.
const READERS: usize = 3;
pub(crate) fn open(options: &LedgerOptions) -> Result<Inner, LedgerError> {
    let address = Address::parse(&options.url)?;
    let counters = Counters::default();
    let (store, first) = match connect(&address) {
        Ok((store, decided)) => (Some(store), decided),
        Err(error) if error.stops_the_start() => return Err(error),
        Err(error) => {
            counters.note_away(&error);
            (None, Controls::default())
        }
    };
    let spool = open_spool(options, &counters, store.is_none());
    let shared = Arc::new(Shared {
        queue: Queue::new(options.queue_rows),
        counters,
        spool: Mutex::new(spool),
        address: address.clone(),
        flush_every: options
            .flush_every
            .clamp(Duration::from_millis(1), Duration::from_secs(1)),
        pass_through: options.pass_through,
    });
    let (publisher, controls) = watch::channel(Arc::new(first));
    let limits = Arc::default();
    let mut done = Vec::new();
    let mover = Arc::clone(&shared);
    done.push(start("ledger-mover", move || move_batches(&mover))?);
    let writer = Arc::clone(&shared);
    done.push(start("ledger-writer", move || {
        write_batches(&writer, store);
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
    Ok(Inner {
        readers: start_readers(&address)?,
        controls,
        limits,
        seal: options.capture_key.map(|key| Arc::new(Seal::new(&key))),
        writing: Some(Writing {
            shared,
            keeper,
            publisher,
            done: Mutex::new(done),
        }),
    })
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

/// A connection to a ledger with its tables, and what was decided before.
fn connect(address: &Address) -> Result<(Box<dyn Store>, Controls), LedgerError> {
    let mut store = address.connect(false)?;
    create_or_check(store.as_mut())?;
    let decided = decisions::controls(store.as_mut())?;
    Ok((store, decided))
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
        start("ledger-reader", move || read_pool::read(&jobs, caller))?;
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
