//! The handle: what the rest of the program sees of the ledger.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};

use crate::captured::{self, CapturedCut, Recalled};
use crate::control::{Controls, Retired, Score, StackEvent, Switch};
use crate::decisions;
use crate::desk::{self, Caller, Job, Keeper, publish};
use crate::error::LedgerError;
use crate::holdout;
use crate::late_plan::LatePlan;
use crate::listing;
use crate::moment::now;
use crate::options::{CaptureLimits, LedgerOptions};
use crate::query::{After, DayScore, Filter, GroupBy, Holdout, Totals};
use crate::queue::Queue;
use crate::record::Record;
use crate::row::{Millis, Row};
use crate::scores;
use crate::seal::Seal;
use crate::spool::{MAX_SPOOL_BYTES, Spool};
use crate::stats::{Counters, LedgerStats};
use crate::store::{Address, Store, is_behind, migrate};
use crate::totals;
use crate::worker::{Shared, Start, move_batches, write_batches};

/// Threads that answer questions.
const READERS: usize = 3;
/// How long opening waits for a ledger of an earlier schema to be brought forward. A large one goes on without it.
const PATIENCE: Duration = Duration::from_secs(2);

/// A cheap handle; all clones are the same ledger. When the last one goes, what is queued is still
/// brought home, but only [`Ledger::close`] waits for it.
#[derive(Clone, Debug)]
pub struct Ledger {
    inner: Arc<Inner>,
}

/// By workload.
type Limits = Arc<Mutex<BTreeMap<String, CaptureLimits>>>;

fn limits_of(limits: &Limits, workload: &str) -> CaptureLimits {
    let all = limits.lock().unwrap_or_else(PoisonError::into_inner);
    all.get(workload).copied().unwrap_or_default()
}

#[derive(Debug)]
struct Inner {
    readers: Sender<Job>,
    controls: watch::Receiver<Arc<Controls>>,
    limits: Limits,
    seal: Option<Arc<Seal>>,
    /// Not there if opened for reading.
    writing: Option<Writing>,
}

#[derive(Debug)]
struct Writing {
    shared: Arc<Shared>,
    keeper: Sender<Job>,
    publisher: watch::Sender<Arc<Controls>>,
    /// Of the mover and of the writer, in this order.
    done: Mutex<Vec<oneshot::Receiver<()>>>,
    /// Not there if there was nothing to move.
    moving: Option<watch::Receiver<Option<Result<(), LedgerError>>>>,
}

impl Writing {
    /// What came of bringing the ledger forward; nothing while that goes on.
    fn moved(&self) -> Option<Result<(), LedgerError>> {
        match &self.moving {
            Some(moving) => moving.borrow().clone(),
            None => Some(Ok(())),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(writing) = &self.writing {
            writing.shared.queue.close();
        }
    }
}

impl Ledger {
    /// Opens the ledger, creates or migrates its schema, and starts its threads. A PostgreSQL that does
    /// not answer is no error: rows are spooled until it does. Nor is a large ledger of an earlier version: rows are
    /// spooled while it is brought forward, see [`Ledger::moved`].
    ///
    /// # Errors
    /// The address is wrong, the file or the spool folder cannot be used, or the schema is newer than
    /// this program.
    pub async fn open(options: LedgerOptions) -> Result<Self, LedgerError> {
        on_a_thread(move || Self::open_here(&options)).await
    }

    /// Opens a ledger that is there, for questions only. Nothing is created, migrated or replayed.
    ///
    /// # Errors
    /// There is no ledger, or its schema is not this program's.
    pub async fn open_for_reading(
        url: &str,
        capture_key: Option<[u8; 32]>,
    ) -> Result<Self, LedgerError> {
        let address = Address::parse(url)?;
        let (address, _) = on_a_thread(move || {
            Caller::new(address.clone(), true).ask(|_| Ok(()))?;
            Ok((address, ()))
        })
        .await?;
        let (_, controls) = watch::channel(Arc::default());
        Ok(Self {
            inner: Arc::new(Inner {
                readers: start_readers(&address)?,
                controls,
                limits: Arc::default(),
                seal: capture_key.map(|key| Arc::new(Seal::new(&key))),
                writing: None,
            }),
        })
    }

    fn open_here(options: &LedgerOptions) -> Result<Self, LedgerError> {
        let address = Address::parse(&options.url)?;
        let counters = Counters::default();
        let mut first = Controls::default();
        let (moving, moved) = watch::channel(None);
        let connected = address.connect(false).and_then(|mut store| {
            let is_behind = is_behind(store.as_mut());
            if !is_behind {
                migrate(store.as_mut())?;
            }
            // What was decided lies in the same tables in every schema, so it holds before a move is done.
            first = decisions::controls(store.as_mut())?;
            Ok(if is_behind {
                Start::Behind(store, moving)
            } else {
                Start::Ready(store)
            })
        });
        let store = match connected {
            Ok(store) => store,
            Err(error) if error.is_passing() => {
                counters.note(&error);
                Start::Away
            }
            Err(error) => return Err(error),
        };
        let moving = matches!(store, Start::Behind(..)).then_some(moved);
        let spool = open_spool(options, &counters)?;
        let shared = Arc::new(Shared {
            queue: Queue::new(options.queue_rows),
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
            write_batches(&writer, store);
        })?);
        let (keeper, jobs) = mpsc::channel();
        let keeping = Keeper {
            caller: Caller::new(address.clone(), false),
            controls: publisher.clone(),
            limits: Arc::clone(&limits),
            keep_days: options.keep_days,
        };
        start("ledger-keeper", move || keeping.keep(&jobs))?;
        let writing = Writing {
            shared,
            keeper,
            publisher,
            done: Mutex::new(done),
            moving,
        };
        let patient_until = Instant::now() + PATIENCE;
        let moved = loop {
            let moved = writing.moved();
            if moved.is_some() || Instant::now() >= patient_until {
                break moved;
            }
            thread::sleep(Duration::from_millis(5));
        };
        let inner = Inner {
            readers: start_readers(&address)?,
            controls,
            limits,
            seal: options.capture_key.map(|key| Arc::new(Seal::new(&key))),
            writing: Some(writing),
        };
        match moved {
            Some(Err(error)) if !error.is_passing() => Err(error),
            _ => Ok(Self {
                inner: Arc::new(inner),
            }),
        }
    }

    /// Whether a ledger of an earlier version is still being brought forward. Until that is done, rows are spooled and
    /// questions get [`LedgerError::OlderSchema`].
    #[must_use]
    pub fn is_moving(&self) -> bool {
        let writing = self.inner.writing.as_ref();
        writing.is_some_and(|writing| writing.moved().is_none())
    }

    /// Returns when the ledger has been brought forward, which it mostly is from the start; why not, if it could not
    /// be. It is then tried again, as with a database that does not answer.
    pub fn moved(&self) -> impl Future<Output = Result<(), String>> + Send + use<> {
        let writing = self.inner.writing.as_ref();
        let moving = writing.and_then(|writing| writing.moving.clone());
        async move {
            let Some(mut moving) = moving else {
                return Ok(());
            };
            match moving.wait_for(Option::is_some).await.as_deref() {
                Ok(Some(Err(error))) => Err(error.to_string()),
                Ok(_) => Ok(()),
                Err(_) => Err(LedgerError::Closed.to_string()),
            }
        }
    }

    /// Records a request. Never blocks, never fails: what finds no room is counted in `stats().lost`.
    pub fn record(&self, row: Row) {
        self.push(Record::of(row), None);
    }

    /// Records a request whose plan is written out later, off the caller's thread. A plan that the row
    /// has already is replaced.
    pub fn record_with_plan(&self, row: Row, plan: LatePlan) {
        self.push(Record::with_late_plan(row), Some(plan));
    }

    /// Records a score, in the same way.
    pub fn record_score(&self, score: Score) {
        self.push(Record::score(score), None);
    }

    fn push(&self, record: Record, plan: Option<LatePlan>) {
        let Some(writing) = &self.inner.writing else {
            return;
        };
        if !writing.shared.queue.push(record, plan) {
            Counters::add(&writing.shared.counters.lost, 1);
        }
    }

    /// A page of rows, newest first, without their plans.
    ///
    /// # Errors
    /// The database does not answer; so for every question below.
    pub async fn rows(
        &self,
        filter: &Filter,
        after: Option<&After>,
        limit: u32,
    ) -> Result<Vec<Row>, LedgerError> {
        let (filter, after) = (filter.clone(), after.cloned());
        self.read(move |store| listing::rows(store, &filter, after.as_ref(), limit))
            .await
    }

    /// One row with its plan.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn row(&self, id: &str) -> Result<Option<Row>, LedgerError> {
        let id = id.to_owned();
        self.read(move |store| listing::one(store, &id)).await
    }

    /// Sums by group, ordered by the group's name.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn totals(&self, filter: &Filter, by: GroupBy) -> Result<Vec<Totals>, LedgerError> {
        let filter = filter.clone();
        self.read(move |store| totals::totals(store, &filter, by))
            .await
    }

    /// Held-out against pruned sessions that began at or after `since`.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn holdout(&self, workload: &str, since: Millis) -> Result<Holdout, LedgerError> {
        let workload = workload.to_owned();
        self.read(move |store| holdout::holdout(store, &workload, since))
            .await
    }

    /// Workloads that have rows.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn workloads(&self) -> Result<Vec<String>, LedgerError> {
        self.read(listing::workloads).await
    }

    /// Scores of a stack, newest first.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn scores(
        &self,
        workload: &str,
        stack: &str,
        since: Millis,
        limit: u32,
    ) -> Result<Vec<Score>, LedgerError> {
        let (workload, stack) = (workload.to_owned(), stack.to_owned());
        self.read(move |store| scores::scores(store, &workload, &stack, since, limit))
            .await
    }

    /// Mean scores per day and stack, oldest day first.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn day_scores(
        &self,
        workload: &str,
        since: Millis,
    ) -> Result<Vec<DayScore>, LedgerError> {
        let workload = workload.to_owned();
        self.read(move |store| scores::day_scores(store, &workload, since))
            .await
    }

    /// What happened to stacks, newest first.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn stack_events(
        &self,
        workload: Option<&str>,
        since: Millis,
    ) -> Result<Vec<StackEvent>, LedgerError> {
        let workload = workload.map(str::to_owned);
        self.read(move |store| scores::stack_events(store, workload.as_deref(), since))
            .await
    }

    /// Switches a stack off. `false`: it was off already, and the event is not written again.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn retire(&self, retired: &Retired, event: &StackEvent) -> Result<bool, LedgerError> {
        let (retired, event) = (retired.clone(), event.clone());
        self.decide(move |store| decisions::retire(store, &retired, &event))
            .await
    }

    /// Switches a stack on again. `false`: it was not off.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn resume(
        &self,
        workload: &str,
        stack: &str,
        by: &str,
        at: Millis,
    ) -> Result<bool, LedgerError> {
        let (workload, stack, by) = (workload.to_owned(), stack.to_owned(), by.to_owned());
        self.decide(move |store| decisions::resume(store, &workload, &stack, &by, at))
            .await
    }

    /// Writes an event that switches nothing.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn warn(&self, event: &StackEvent) -> Result<(), LedgerError> {
        let event = event.clone();
        self.decide(move |store| scores::add_event(store, &event))
            .await
    }

    /// Switches a mechanic of a workload, over what the configuration says.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn set_switch(&self, switch: &Switch) -> Result<(), LedgerError> {
        let switch = switch.clone();
        self.decide(move |store| decisions::set_switch(store, &switch))
            .await
    }

    /// Lets the configuration decide again.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn clear_switch(&self, workload: &str, mechanic: &str) -> Result<(), LedgerError> {
        let (workload, mechanic) = (workload.to_owned(), mechanic.to_owned());
        self.decide(move |store| decisions::clear_switch(store, &workload, &mechanic))
            .await
    }

    /// What people and the canary decided. Own decisions show at once, those of other replicas within
    /// two seconds while the database answers.
    #[must_use]
    pub fn controls(&self) -> watch::Receiver<Arc<Controls>> {
        self.inner.controls.clone()
    }

    /// How much captured text a workload may keep. Holds for this process; replicas set the same.
    pub fn set_capture_limits(&self, workload: &str, limits: CaptureLimits) {
        let mut all = self
            .inner
            .limits
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.insert(workload.to_owned(), limits);
    }

    /// Keeps texts that were cut, encrypted, all or none of them. A second text with the same id in its
    /// workload changes nothing.
    ///
    /// # Errors
    /// There is no key, or see [`Ledger::rows`].
    pub async fn capture(&self, cuts: Vec<CapturedCut>) -> Result<(), LedgerError> {
        let seal = self.inner.seal.clone().ok_or(LedgerError::NoCaptureKey)?;
        let limits = Arc::clone(&self.inner.limits);
        let keeper = &self.writing()?.keeper;
        desk::ask(keeper, move |store| {
            let limits = |workload: &str| limits_of(&limits, workload);
            captured::capture(store, &seal, limits, &cuts, now())
        })
        .await
    }

    /// Gives a text back by its id.
    ///
    /// # Errors
    /// The key is missing or another one, or see [`Ledger::rows`].
    pub async fn recall(&self, workload: &str, id: &str) -> Result<Recalled, LedgerError> {
        let (seal, limits) = (
            self.inner.seal.clone(),
            limits_of(&self.inner.limits, workload),
        );
        let (workload, id) = (workload.to_owned(), id.to_owned());
        self.read(move |store| {
            captured::recall(store, seal.as_deref(), limits, &workload, &id, now())
        })
        .await
    }

    /// What was cut first in a request and is still there.
    ///
    /// # Errors
    /// See [`Ledger::recall`].
    pub async fn captured_of(&self, request: &str) -> Result<Vec<CapturedCut>, LedgerError> {
        let (seal, request) = (self.inner.seal.clone(), request.to_owned());
        self.read(move |store| captured::captured_of(store, seal.as_deref(), &request))
            .await
    }

    /// How the ledger is doing.
    #[must_use]
    pub fn stats(&self) -> LedgerStats {
        let Some(writing) = &self.inner.writing else {
            return LedgerStats::default();
        };
        let queued = {
            let state = writing.shared.queue.lock();
            usize::try_from(state.accepted - state.settled).unwrap_or(usize::MAX)
        };
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
            // All is spooled now. A move that is cut off never happened, and begins anew with the next start.
            if writing.moved().is_none() {
                break;
            }
        }
    }

    fn writing(&self) -> Result<&Writing, LedgerError> {
        self.inner.writing.as_ref().ok_or(LedgerError::ReadOnly)
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&mut dyn Store) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        desk::ask(&self.inner.readers, work).await
    }

    /// Writes, and shows the controls that result before it returns.
    async fn decide<T: Send + 'static>(
        &self,
        work: impl Fn(&mut dyn Store) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let writing = self.writing()?;
        let publisher = writing.publisher.clone();
        desk::ask(&writing.keeper, move |store| {
            let value = work(store)?;
            publish(&publisher, decisions::controls(store)?);
            Ok(value)
        })
        .await
    }
}

fn open_spool(options: &LedgerOptions, counters: &Counters) -> Result<Spool, LedgerError> {
    let unusable = |error: std::io::Error| LedgerError::Spool {
        path: options.spool_dir.clone(),
        reason: error.to_string(),
    };
    let spool = Spool::open(&options.spool_dir, MAX_SPOOL_BYTES).map_err(unusable)?;
    Counters::add(&counters.spooled, spool.records());
    Ok(spool)
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
async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LedgerError> + Send + 'static,
) -> Result<T, LedgerError> {
    let (tell, told) = oneshot::channel();
    start("ledger-open", move || {
        let _ = tell.send(work());
    })?;
    told.await.map_err(|_| LedgerError::Closed)?
}
