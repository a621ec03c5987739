//! `summary = "model"`: asks the workload's upstream for the summaries that the engine misses.
//!
//! ```text
//! chain misses a summary ─► under way already? ─► within the budget? ─► call ─► cache ─► chain again
//! ```
//!
//! **Invariants:** one call at a time for the same content. What the cache answered once under a key
//! it answers until it is evicted. Nothing here fails a request: without a summary the policy says
//! what is done instead.

mod budget;
mod cache;
mod call;
mod wire;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use http::Request;
use secateur_core::Dialect;
use secateur_core::strategy::{OnMiss, Summary};
use secateur_core::summary::{Found, SummaryKey, WantedSummary};
use tokio::sync::{Semaphore, watch};

use self::budget::Budgets;
pub(crate) use self::cache::{Scoped, SummaryCache};
pub(crate) use self::call::summary_request;
use crate::audit::SummaryOutcome;
use crate::config::Workload;
use crate::surface::Surfaces;
use crate::upstream::{OutBody, UpstreamClient};

/// Calls that may be under way at a time, in all workloads.
const CALLS_AT_A_TIME: usize = 64;

/// What came of the summaries that a request wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Obtained {
    /// What became of them: made, or why one was not.
    pub(crate) outcome: SummaryOutcome,
    /// Whether there is one that was not there before.
    pub(crate) any_made: bool,
}

/// How a call ended, for all who wait for it.
type Ending = Option<SummaryOutcome>;
type Place = (Arc<str>, SummaryKey);

/// See the module.
#[derive(Debug)]
pub(crate) struct Summarizer {
    pub(crate) cache: Arc<SummaryCache>,
    budgets: Budgets,
    under_way: Mutex<HashMap<Place, watch::Receiver<Ending>>>,
    calls: Arc<Semaphore>,
}

impl Summarizer {
    pub(crate) fn new(cache: SummaryCache) -> Self {
        Self {
            cache: Arc::new(cache),
            budgets: Budgets::default(),
            under_way: Mutex::default(),
            calls: Arc::new(Semaphore::new(CALLS_AT_A_TIME)),
        }
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<Place, watch::Receiver<Ending>>> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The summaries of a workload, where its policy asks a model for them.
    pub(crate) fn of(&self, workload: &Workload) -> Option<Scoped> {
        let policy = workload.policy.as_deref()?;
        let asks = policy.options.summarized_turns.summary == Summary::Model;
        asks.then(|| Scoped::new(&self.cache, &workload.name))
    }

    /// Sees to it that what is known under the wanted keys is settled, as far as the budget goes.
    /// `prepare` makes the call for one of them.
    pub(crate) async fn obtain(
        self: &Arc<Self>,
        context: &CallContext,
        workload: &Arc<Workload>,
        wanted: &[WantedSummary],
        prepare: impl Fn(&WantedSummary) -> Option<Request<OutBody>>,
    ) -> Obtained {
        let deadline = Instant::now() + workload.summary.wait;
        let calls: Vec<_> = wanted
            .iter()
            .map(|want| self.start(context, workload, want, &prepare))
            .collect();
        let (mut outcome, mut any_made) = (SummaryOutcome::Made, false);
        for (want, call) in wanted.iter().zip(calls) {
            let ended = match call {
                Ok(mut ending) => {
                    let ended = ending.wait_for(Option::is_some);
                    match tokio::time::timeout_at(deadline.into(), ended).await {
                        Ok(Ok(ended)) => ended.unwrap_or(SummaryOutcome::Failed),
                        Ok(Err(_)) => SummaryOutcome::Failed,
                        Err(_) => SummaryOutcome::Late,
                    }
                }
                Err(refused) => refused,
            };
            let ended = match ended {
                SummaryOutcome::Made => ended,
                _ => self.settle_without(workload, want.key, ended).await,
            };
            match ended {
                SummaryOutcome::Made => any_made = true,
                _ => outcome = ended,
            }
        }
        Obtained { outcome, any_made }
    }

    /// Joins the call for a key, or makes it.
    fn start(
        self: &Arc<Self>,
        context: &CallContext,
        workload: &Arc<Workload>,
        want: &WantedSummary,
        prepare: impl Fn(&WantedSummary) -> Option<Request<OutBody>>,
    ) -> Result<watch::Receiver<Ending>, SummaryOutcome> {
        let place: Place = (Arc::clone(&workload.name), want.key);
        let mut under_way = self.under_way();
        if let Some(ending) = under_way.get(&place) {
            return Ok(ending.clone());
        }
        // A call that ended since the chain looked.
        if let Some(Found::Ready(_)) = self.cache.known(&place) {
            return Ok(watch::channel(Some(SummaryOutcome::Made)).1);
        }
        let Ok(slot) = Arc::clone(&self.calls).try_acquire_owned() else {
            return Err(SummaryOutcome::OverBudget);
        };
        if !self.budgets.take(workload, Instant::now()) {
            return Err(SummaryOutcome::OverBudget);
        }
        let request = prepare(want).ok_or(SummaryOutcome::Failed)?;
        let (sender, receiver) = watch::channel(None);
        under_way.insert(place.clone(), receiver.clone());
        drop(under_way);
        let (this, context, workload) = (Arc::clone(self), context.clone(), Arc::clone(workload));
        let model = want.model.clone();
        tokio::spawn(async move {
            let _slot = slot;
            let made = call::summarize(&context, &workload, place.1, &model, request).await;
            let ended = match made {
                Ok(text) => {
                    let found = Found::Ready(text.into());
                    match this.cache.settle(&place.0, place.1, found).await {
                        Found::Ready(_) => SummaryOutcome::Made,
                        // It was done without while this was under way.
                        _ => SummaryOutcome::Late,
                    }
                }
                Err(ended) => ended,
            };
            this.under_way().remove(&place);
            // Nobody waits any more: the summary is in the cache for the next request.
            let _ = sender.send(Some(ended));
        });
        Ok(receiver)
    }

    /// Where the policy puts something else in the summary's place, it is that from now on.
    async fn settle_without(
        &self,
        workload: &Workload,
        key: SummaryKey,
        ended: SummaryOutcome,
    ) -> SummaryOutcome {
        let policy = workload.policy.as_deref();
        let on_miss = policy.map_or(OnMiss::Earlier, |policy| {
            policy.options.summarized_turns.summary_on_miss
        });
        if on_miss == OnMiss::Earlier {
            return ended;
        }
        match self
            .cache
            .settle(&workload.name, key, Found::Declined)
            .await
        {
            Found::Ready(_) => SummaryOutcome::Made,
            _ => ended,
        }
    }
}

/// What a call is made with, and the request that it is made for.
#[derive(Clone, Debug)]
pub(crate) struct CallContext {
    pub(crate) client: UpstreamClient,
    pub(crate) surfaces: Arc<Surfaces>,
    pub(crate) dialect: Dialect,
    /// The request's id.
    pub(crate) request: String,
    /// The client key's name.
    pub(crate) key: Option<Arc<str>>,
}
