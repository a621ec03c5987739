//! Whether answers get worse, and what happens then.
//!
//! ```text
//! changed request ─► sampled? ─► client has its response ─► original sent too ─► two answers compared
//!                                                                                   │ score
//!      clients post scores ─────────────────────────────────────────────────────────┤
//!                                                                                   ▼
//! rejected bodies, repeated calls, unread caches ─► warning, or ─► verdict ─► stack retired everywhere
//! ```
//!
//! **Invariants:** nothing here delays or changes a response. A stack that is off comes back by a person
//! alone. Scores, events and log lines hold no text of a request or an answer, and no credential.

mod gate;
mod ledger_store;
mod orders;
mod recent;
mod remembered;
mod repeatable;
mod reply;
mod rollback;
mod score;
mod session;
mod shadow;
mod signals;
mod standing;
mod store;
mod verdict;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Request};
use secateur_core::Dialect;
use secateur_core::report::Report;
use secateur_ledger::moment::now;
use secateur_ledger::{Controls, Retired, Score};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

pub(crate) use orders::{Allowance, Orders};
pub use reply::{Reply, ToolCall};
pub use score::deterministic_score;
pub(crate) use session::{SESSION_HEADER, session_key};
pub(crate) use shadow::Shadow;
pub use standing::{STACK_OF_ORIGINALS, Standing};
pub use store::{CanaryStore, Later, MemoryStore, PastRequest, StoreError};
pub use verdict::{Rule, Tally, Verdict, judge};

use crate::audit::{AuditEvent, Mechanic};
use crate::config::{CanaryOptions, ScorerOptions, Workload, is_in_share};
use crate::surface::Surfaces;
use crate::upstream::UpstreamClient;
use gate::{Gate, SCORER_RESTS, ScorerNews};
use orders::is_switched_on;
use recent::Recent;
use remembered::Remembered;
use score::ScorerError;
use signals::{Finding, Signals};

/// Bodies that are looked back on at a time; others are left out of that signal.
const LOOKING: usize = 2;

/// Scores that are looked through for one that was posted before.
const MAX_LOOKED_AT: u32 = 10_000;

/// See the module.
#[derive(Debug)]
pub(crate) struct Canary {
    store: Arc<dyn CanaryStore>,
    controls: watch::Receiver<Arc<Controls>>,
    /// Stacks that are off here and not yet in the store.
    local: Mutex<Vec<Retired>>,
    client: UpstreamClient,
    surfaces: Arc<Surfaces>,
    response_timeout: Duration,
    gates: Mutex<HashMap<Arc<str>, Arc<Gate>>>,
    remembered: Mutex<Remembered>,
    recent: Mutex<Recent>,
    signals: Signals,
    looking: Arc<Semaphore>,
}

/// A request that was chosen to be compared.
#[derive(Debug)]
pub(crate) struct Chosen {
    held: OwnedSemaphorePermit,
}

impl Canary {
    pub(crate) fn new(
        store: Arc<dyn CanaryStore>,
        client: UpstreamClient,
        surfaces: Arc<Surfaces>,
        response_timeout: Duration,
    ) -> Self {
        Self {
            controls: store.controls(),
            store,
            local: Mutex::default(),
            client,
            surfaces,
            response_timeout,
            gates: Mutex::default(),
            remembered: Mutex::default(),
            recent: Mutex::default(),
            signals: Signals::default(),
            looking: Arc::new(Semaphore::new(LOOKING)),
        }
    }

    /// What is switched at the moment.
    pub(crate) fn controls(&self) -> Arc<Controls> {
        let shared = Arc::clone(&self.controls.borrow());
        let local = self.local.lock().unwrap_or_else(PoisonError::into_inner);
        if local.is_empty() {
            return shared;
        }
        let mut merged = Controls::clone(&shared);
        merged.retired.extend(local.iter().cloned());
        Arc::new(merged)
    }

    /// Whether the bodies of a workload must be looked at.
    pub(crate) fn wants(&self, workload: &Workload) -> bool {
        // Stacks that are off here alone switch nothing on.
        workload.has_mechanics() || is_switched_on(workload, &self.controls.borrow())
    }

    /// What the chain of one request is told.
    pub(crate) fn orders(&self, headers: &HeaderMap) -> Orders {
        let session = headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok());
        Orders {
            controls: self.controls(),
            session: session.map(str::to_owned),
        }
    }

    fn response_timeout(&self) -> Duration {
        self.response_timeout
    }

    fn gate(&self, workload: &Workload) -> Arc<Gate> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        let gate = gates
            .entry(Arc::clone(&workload.name))
            .or_insert_with(|| Arc::new(Gate::new(&workload.canary)));
        if let Some(renewed) = gate.renewed(&workload.canary) {
            *gate = Arc::new(renewed);
        }
        Arc::clone(gate)
    }

    /// Whether a changed request is also to be sent unchanged.
    pub(crate) fn choose(
        &self,
        workload: &Workload,
        event: &AuditEvent,
        original: &Bytes,
    ) -> Option<Chosen> {
        let options = &*workload.canary;
        if !is_in_share(&event.id, options.sample_pct) || !is_comparable(event, options) {
            return None;
        }
        let refused = |reason| self.count_shadow(&workload.name, &event.stack.join("+"), reason);
        if original.len() > options.max_body_bytes {
            refused("too-large");
            return None;
        }
        let gate = self.gate(workload);
        if gate.scorer_rests(now()) {
            refused(SCORER_RESTS);
            return None;
        }
        let Some(held) = gate.hold() else {
            refused("busy");
            return None;
        };
        Some(Chosen { held })
    }

    /// Keeps the original of a chosen request until its client has the response.
    pub(crate) fn shadow(
        self: &Arc<Self>,
        chosen: Chosen,
        workload: &Arc<Workload>,
        event: &AuditEvent,
        original: Request<()>,
        body: &Bytes,
    ) -> Option<Shadow> {
        Shadow::new(
            Arc::clone(self),
            Arc::clone(workload),
            event,
            original,
            body.clone(),
            chosen.held,
        )
    }

    fn count_shadow(&self, workload: &str, stack: &str, result: &str) {
        self.surfaces.metrics.shadow_call(workload, stack, result);
    }

    /// A comparison ended, with an error or with a score.
    fn note_scorer(&self, workload: &str, gate: &Gate, error: Option<ScorerError>) {
        let Some(news) = gate.note_scorer(error.is_none(), now()) else {
            return;
        };
        let (level, event) = match news {
            ScorerNews::Failed => ("warn", "scorer_failed"),
            ScorerNews::Rests => ("warn", "scorer_rests"),
            ScorerNews::Recovered => ("info", "scorer_recovered"),
        };
        let mut fields = vec![("workload", workload.into())];
        if let Some(error) = error {
            fields.push(("reason", error.to_string().into()));
        }
        self.surfaces.log.line(level, event, &fields);
    }

    /// The response's head is known: from now on the client can post a score.
    pub(crate) fn remember(&self, event: &AuditEvent) {
        self.remembered().add(event);
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn past_request(&self, id: &str) -> Option<PastRequest> {
        let known = self.remembered().get(id);
        match known {
            Some(known) => Some(known),
            None => self.store.request(id).await.ok().flatten(),
        }
    }

    /// Takes a score that a client gives, and tells the one that stands: the first.
    pub(crate) async fn post_score(
        self: &Arc<Self>,
        workload: &Arc<Workload>,
        stack: &str,
        request: &str,
        score: f64,
    ) -> f64 {
        let id = format!("{request}:client");
        let (known, is_local) = {
            let remembered = self.remembered();
            (
                remembered.posted(request),
                remembered.get(request).is_some(),
            )
        };
        // It may have been scored before this process was started, or through another one.
        let stands = if known.is_none() && !is_local {
            let since = crate::wire::identity::time_of(request).unwrap_or_default();
            let scores = self
                .store
                .scores(&workload.name, stack, since, MAX_LOOKED_AT);
            let scores = scores.await.unwrap_or_default();
            let first = scores.into_iter().find(|known| known.id == id);
            first.map(|first| first.score)
        } else {
            known
        };
        // Of two that come at once one is the first.
        let first = self.remembered().post(request, stands.unwrap_or(score));
        if let Some(first) = first.or(stands) {
            return first;
        }
        self.note_score(
            workload,
            Score {
                id,
                at: now(),
                request: Some(request.to_owned()),
                workload: workload.name.to_string(),
                stack: stack.to_owned(),
                scorer: "client".to_owned(),
                score,
            },
        );
        score
    }

    /// Takes a score of a shadow call.
    fn note_shadow_score(
        self: &Arc<Self>,
        workload: &Arc<Workload>,
        stack: &str,
        request: &str,
        scorer: &'static str,
        score: f64,
    ) {
        let kind = if stack == STACK_OF_ORIGINALS {
            "noise"
        } else {
            scorer
        };
        self.note_score(
            workload,
            Score {
                id: format!("{request}:{kind}"),
                at: now(),
                request: Some(request.to_owned()),
                workload: workload.name.to_string(),
                stack: stack.to_owned(),
                scorer: scorer.to_owned(),
                score,
            },
        );
    }

    /// Takes a score and has its stack judged, which nobody waits for.
    fn note_score(self: &Arc<Self>, workload: &Arc<Workload>, score: Score) {
        let metrics = &self.surfaces.metrics;
        metrics.score(&score.workload, &score.stack, &score.scorer, score.score);
        self.recent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(&score, workload.canary.window);
        let stack = score.stack.clone();
        self.store.record_score(score);
        if !stack.is_empty() && stack != STACK_OF_ORIGINALS {
            let (canary, workload) = (Arc::clone(self), Arc::clone(workload));
            tokio::spawn(async move { canary.judge_stack(&workload, &stack).await });
        }
    }

    /// A pruned request: whether its model asks again for what was cut. Off the request's path.
    pub(crate) fn look_back(
        self: &Arc<Self>,
        workload: &Arc<Workload>,
        session: Option<&str>,
        body: Bytes,
        dialect: Dialect,
        stack: &[&'static str],
        report: Option<&Arc<Report>>,
    ) {
        let (Some(session), Some(report), true) =
            (session, report, stack.contains(&Mechanic::M7.name()))
        else {
            return;
        };
        let Ok(slot) = Arc::clone(&self.looking).try_acquire_owned() else {
            return;
        };
        let (canary, name) = (Arc::clone(self), Arc::clone(&workload.name));
        let (session, report, stack) = (session.to_owned(), Arc::clone(report), stack.join("+"));
        let (workload, runtime) = (Arc::clone(workload), tokio::runtime::Handle::current());
        tokio::task::spawn_blocking(move || {
            let _slot = slot;
            let Some(calls) = signals::calls_of(&body, dialect, &report) else {
                return;
            };
            let now = Instant::now();
            let found = canary.signals.calls(&name, &stack, &session, calls, now);
            if let Some(finding) = found {
                runtime.spawn(canary.follow(workload, stack, finding));
            }
        });
    }

    /// A request is over.
    pub(crate) fn observe(self: &Arc<Self>, workload: &Arc<Workload>, event: &AuditEvent) {
        let findings = self
            .signals
            .request(event, &workload.canary, Instant::now());
        if findings.is_empty() {
            return;
        }
        let stack = if event.stack.is_empty() {
            event.struck_stack.join("+")
        } else {
            event.stack.join("+")
        };
        // Without a runtime the process is ending.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        for finding in findings {
            runtime.spawn(Arc::clone(self).follow(Arc::clone(workload), stack.clone(), finding));
        }
    }

    async fn follow(self: Arc<Self>, workload: Arc<Workload>, stack: String, finding: Finding) {
        match finding {
            Finding::Warn(signal, reason) => {
                self.warn(&workload.name, &stack, signal.name(), &reason)
                    .await;
            }
            Finding::Retire(reason) => {
                self.retire(&workload.name, &stack, reason, None).await;
            }
        }
    }
}

/// M1 and M8 are meant to change how an answer looks: without somebody who understands answers there is
/// nothing to compare.
fn is_comparable(event: &AuditEvent, options: &CanaryOptions) -> bool {
    let mutates = |mechanic| event.fired(mechanic);
    match options.scorer {
        ScorerOptions::Deterministic => mutates(Mechanic::M7) || mutates(Mechanic::M3),
        _ => !event.stack.is_empty(),
    }
}
