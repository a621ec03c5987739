//! Threads that answer questions: a few readers, and the *keeper*, who writes decisions and captured
//! text, keeps the controls fresh, and clears away what is too old.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};

use crate::control::Controls;
use crate::decisions;
use crate::error::LedgerError;
use crate::housekeeping::{expire_captured, forget};
use crate::moment::now;
use crate::options::CaptureLimits;
use crate::same_file::OpenFile;
use crate::schema::check_version;
use crate::store::{Address, Store};

/// How often others' decisions are looked for.
const POLL: Duration = Duration::from_secs(1);
const CLEAR_EVERY: Duration = Duration::from_secs(60);
/// Portions of old rows that go between two looks at the jobs.
const PORTIONS: usize = 5;

/// A connection that comes back by itself.
#[derive(Debug)]
pub(crate) struct Caller {
    address: Address,
    read_only: bool,
    store: Option<OpenStore>,
    file: OpenFile,
}

struct OpenStore(Box<dyn Store>);

impl std::fmt::Debug for OpenStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OpenStore")
    }
}

impl Caller {
    pub(crate) fn new(address: Address, read_only: bool) -> Self {
        Self {
            address,
            read_only,
            store: None,
            file: OpenFile::default(),
        }
    }

    /// A connection that broke since the last question is opened again, once.
    pub(crate) fn ask<T>(
        &mut self,
        work: impl Fn(&mut dyn Store) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        if let Err(error) = self.file.check(&self.address) {
            self.store = None;
            if self.file.is_gone(&self.address) {
                // The writer makes a new one.
                return Err(error);
            }
        }
        if let Some(store) = &mut self.store {
            match work(store.0.as_mut()) {
                Err(error) if error.is_passing() => self.store = None,
                other => return other,
            }
        }
        let mut store = self.address.connect(self.read_only)?;
        self.file = OpenFile::of(&self.address);
        check_version(store.as_mut())?;
        let outcome = work(store.as_mut());
        if !outcome.as_ref().is_err_and(LedgerError::is_passing) {
            self.store = Some(OpenStore(store));
        }
        outcome
    }
}

pub(crate) type Job = Box<dyn FnOnce(&mut Caller) + Send>;

/// Sends a job and waits for its answer.
pub(crate) async fn ask<T: Send + 'static>(
    jobs: &Sender<Job>,
    work: impl Fn(&mut dyn Store) -> Result<T, LedgerError> + Send + 'static,
) -> Result<T, LedgerError> {
    let (tell, told) = oneshot::channel();
    let job: Job = Box::new(move |caller| {
        // Who asked may have gone away.
        if !tell.is_closed() {
            let _ = tell.send(caller.ask(work));
        }
    });
    jobs.send(job).map_err(|_| LedgerError::Closed)?;
    told.await.map_err(|_| LedgerError::Closed)?
}

/// Runs until every handle is gone.
pub(crate) fn read(jobs: &Mutex<Receiver<Job>>, mut caller: Caller) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        job(&mut caller);
    }
}

#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) caller: Caller,
    pub(crate) controls: watch::Sender<Arc<Controls>>,
    pub(crate) limits: Arc<Mutex<BTreeMap<String, CaptureLimits>>>,
    pub(crate) keep_days: u32,
    /// Whether it clears away what is too old.
    pub(crate) clears: bool,
}

impl Keeper {
    /// Runs until every handle is gone.
    pub(crate) fn keep(mut self, jobs: &Receiver<Job>) {
        let mut poll_at = Instant::now();
        let mut clear_at = Instant::now();
        loop {
            match jobs.recv_timeout(poll_at.saturating_duration_since(Instant::now())) {
                Ok(job) => {
                    job(&mut self.caller);
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            poll_at = Instant::now() + POLL;
            if let Ok(found) = self.caller.ask(decisions::controls) {
                publish(&self.controls, found);
            }
            if self.clears && Instant::now() >= clear_at && !self.clear() {
                clear_at = Instant::now() + CLEAR_EVERY;
            }
        }
    }

    /// Whether there is more to clear away.
    fn clear(&mut self) -> bool {
        let keep_days = self.keep_days;
        let mut is_more = true;
        for _ in 0..PORTIONS {
            is_more = is_more
                && self
                    .caller
                    .ask(|store| forget(store, keep_days, now()))
                    .unwrap_or(false);
        }
        if !is_more {
            let limits = self
                .limits
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            // What could not be cleared away now is tried again in a minute.
            let _ = self
                .caller
                .ask(|store| expire_captured(store, &limits, keep_days, now()));
        }
        is_more
    }
}

/// Wakes those who watch, if anything changed.
pub(crate) fn publish(controls: &watch::Sender<Arc<Controls>>, found: Controls) {
    controls.send_if_modified(|current| {
        let is_changed = **current != found;
        if is_changed {
            *current = Arc::new(found);
        }
        is_changed
    });
}
