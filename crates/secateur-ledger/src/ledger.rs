//! The handle: what the rest of the program sees of the ledger.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use crate::alike::Likeness;
use crate::captured::{self, CapturedCut, Recalled};
use crate::control::{Controls, Retired, Score, StackEvent, Switch};
use crate::decisions;
use crate::desk::{self, Job, publish};
use crate::ended_sessions;
use crate::error::LedgerError;
use crate::holdout;
use crate::lanes::LikeWhat;
use crate::late_plan::LatePlan;
use crate::listing::{self, Page, Towards};
use crate::moment::now;
use crate::opening::{self, on_a_thread};
use crate::options::{CaptureLimits, LedgerOptions};
use crate::plain::{Figures, is_plain};
use crate::query::{After, DayScore, Filter, GroupBy, Holdout, Totals};
use crate::record::Record;
use crate::row::{Millis, Row};
use crate::scores;
use crate::seal::Seal;
use crate::shadow::{self, ShadowCall, ShadowCost};
use crate::stats::LedgerStats;
use crate::store::Store;
use crate::totals;
use crate::worker::Shared;

/// A cheap handle; all clones are the same ledger. When the last one goes, what is queued is still
/// brought home, but only [`Ledger::close`] waits for it.
#[derive(Clone, Debug)]
pub struct Ledger {
    inner: Arc<Inner>,
}

/// By workload.
type Limits = Arc<Mutex<BTreeMap<String, CaptureLimits>>>;

fn limits_of(limits: &Limits, workload: &str) -> Option<CaptureLimits> {
    let all = limits.lock().unwrap_or_else(PoisonError::into_inner);
    all.get(workload).copied()
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) readers: Sender<Job>,
    pub(crate) controls: watch::Receiver<Arc<Controls>>,
    pub(crate) limits: Limits,
    pub(crate) seal: Option<Arc<Seal>>,
    /// Not there if opened for reading.
    pub(crate) writing: Option<Writing>,
}

#[derive(Debug)]
pub(crate) struct Writing {
    pub(crate) shared: Arc<Shared>,
    pub(crate) keeper: Sender<Job>,
    pub(crate) publisher: watch::Sender<Arc<Controls>>,
    /// Of the mover and of the writer, in this order.
    pub(crate) done: Mutex<Vec<oneshot::Receiver<()>>>,
    /// What came of bringing the ledger forward; `None` while that goes on.
    pub(crate) moved: watch::Receiver<Option<Result<(), LedgerError>>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(writing) = &self.writing {
            writing.shared.close();
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
        let inner = on_a_thread(move || opening::open(&options)).await?;
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Opens a ledger that is there, for questions only. Nothing is created, migrated or replayed.
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

    /// Whether a ledger of an earlier version is still being brought forward. Until that is done, rows are spooled and
    /// questions get [`LedgerError::OlderSchema`].
    #[must_use]
    pub fn is_moving(&self) -> bool {
        let writing = self.inner.writing.as_ref();
        writing.is_some_and(|writing| writing.moved.borrow().is_none())
    }

    /// Returns when the ledger has been brought forward, which it mostly is from the start; why not, if it could not
    /// be. It is then tried again, as with a database that does not answer.
    pub fn moved(&self) -> impl Future<Output = Result<(), String>> + Send + use<> {
        let writing = self.inner.writing.as_ref();
        let moved = writing.map(|writing| writing.moved.clone());
        async move {
            let Some(mut moved) = moved else {
                return Ok(());
            };
            match moved.wait_for(Option::is_some).await.as_deref() {
                Ok(Some(Err(error))) => Err(error.to_string()),
                Ok(_) => Ok(()),
                Err(_) => Err(LedgerError::Closed.to_string()),
            }
        }
    }

    /// Records a request, once. Never blocks, never fails: what finds no room is counted in `stats().lost`.
    pub fn record(&self, row: Row) {
        if is_plain(&row) {
            self.push_plain(&row.id, LikeWhat::Alike(&row.alike()), Figures::of(&row));
        } else {
            self.push(Record::of(row), None);
        }
    }

    /// Records a request that no mechanic looked at, in the same way and with less work than by its row. It has no
    /// session, no steps and nothing else but this.
    pub fn record_plain(&self, id: &str, like: &Likeness, figures: Figures) {
        self.push_plain(id, LikeWhat::Kept(like), figures);
    }

    fn push_plain(&self, id: &str, like: LikeWhat<'_>, figures: Figures) {
        let Some(writing) = &self.inner.writing else {
            return;
        };
        let lost = writing.shared.queue.push_plain(id, like, figures);
        writing.shared.lose(lost);
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

    /// Records what a comparison of answers cost, in the same way.
    pub fn record_shadow(&self, call: ShadowCall) {
        self.push(Record::shadow(call), None);
    }

    fn push(&self, record: Record, plan: Option<LatePlan>) {
        let Some(writing) = &self.inner.writing else {
            return;
        };
        if !writing.shared.queue.push(record, plan) {
            writing.shared.lose(1);
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

    /// The page of rows just before a place, newest first too: the nearest ones, not the newest.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn rows_before(
        &self,
        filter: &Filter,
        before: &After,
        limit: u32,
    ) -> Result<Vec<Row>, LedgerError> {
        let (filter, before) = (filter.clone(), before.clone());
        self.read(move |store| {
            let page = Page {
                towards: Towards::Newer,
                ..Page::new(&filter, Some(&before), limit)
            };
            page.read(store)
        })
        .await
    }

    /// A page of rows with their plans. These may be large (see `docs/ledger.md`): ask for few rows at once.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn rows_with_plans(
        &self,
        filter: &Filter,
        after: Option<&After>,
        limit: u32,
    ) -> Result<Vec<Row>, LedgerError> {
        let (filter, after) = (filter.clone(), after.cloned());
        self.read(move |store| {
            let page = Page {
                has_plans: true,
                ..Page::new(&filter, after.as_ref(), limit)
            };
            page.read(store)
        })
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
        self.seen(GroupBy::Workload).await
    }

    /// The names that rows can be added up by.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn seen(&self, by: GroupBy) -> Result<Vec<String>, LedgerError> {
        self.read(move |store| listing::seen(store, by)).await
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

    /// What comparisons of answers cost since then, by day and workload, the oldest day first. Calls go with their rows, after
    /// `keep_days`.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn shadow_costs(
        &self,
        workload: Option<&str>,
        since: Millis,
    ) -> Result<Vec<ShadowCost>, LedgerError> {
        let workload = workload.map(str::to_owned);
        self.read(move |store| shadow::costs(store, workload.as_deref(), since))
            .await
    }

    /// Remembers that a session of the portal was ended, until it would have ended by itself.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn end_session(&self, id: &str, until: Millis) -> Result<(), LedgerError> {
        let id = id.to_owned();
        let keeper = &self.writing()?.keeper;
        desk::ask(keeper, move |store| {
            ended_sessions::end(store, &id, until, now())
        })
        .await
    }

    /// Whether a session of the portal was ended, here or elsewhere.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn is_session_ended(&self, id: &str) -> Result<bool, LedgerError> {
        let id = id.to_owned();
        self.read(move |store| ended_sessions::is_ended(store, &id))
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
            let limits = |workload: &str| limits_of(&limits, workload).unwrap_or_default();
            captured::capture(store, &seal, limits, &cuts, now())
        })
        .await
    }

    /// Those of the ids whose text is kept for a workload.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn still_captured(
        &self,
        workload: &str,
        ids: Vec<String>,
    ) -> Result<Vec<String>, LedgerError> {
        let workload = workload.to_owned();
        self.read(move |store| captured::still_there(store, &workload, &ids))
            .await
    }

    /// Gives a text back by its id.
    ///
    /// # Errors
    /// The key is missing or another one, or see [`Ledger::rows`].
    pub async fn recall(&self, workload: &str, id: &str) -> Result<Recalled, LedgerError> {
        // Where this process knows no limits, what is there is there.
        let limits = limits_of(&self.inner.limits, workload).unwrap_or(CaptureLimits {
            max_bytes: u64::MAX,
            max_age: Duration::MAX,
        });
        let seal = self.inner.seal.clone();
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
        let up_to = writing.shared.want_flush();
        // The sender lives as long as this handle.
        let _ = settled.wait_for(|&settled| settled >= up_to).await;
    }

    /// Brings home what is queued and stops. Rows recorded later through other clones are lost.
    pub async fn close(self) {
        let Some(writing) = &self.inner.writing else {
            return;
        };
        writing.shared.close();
        let done =
            std::mem::take(&mut *writing.done.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in done {
            // An error says that the thread has ended, which is what is waited for.
            let _ = thread.await;
            // All is spooled now. A move that is cut off never happened, and begins anew with the next start.
            if writing.moved.borrow().is_none() {
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
