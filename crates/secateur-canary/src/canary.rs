//! The canary itself, and the value that accompanies one request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::request::Parts;
use secateur_core::mechanic::Mechanic;
use secateur_ledger::moment::now;
use secateur_ledger::{Millis, Score};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::answer::Answer;
use crate::changed::ChangedRequest;
use crate::finished::Finished;
use crate::judge::Judge;
use crate::options::WatchedWorkload;
use crate::outside::{Reporter, Upstream};
use crate::overrides::{Configured, Overrides};
use crate::remembered::Remembered;
use crate::shadow::{Sampled, Shadows};
use crate::signals;
use crate::store::{CanaryStore, PastRequest};

/// Bodies whose tool calls are read at a time; others are left out of that signal.
const MAX_READ_AT_A_TIME: usize = 2;

/// Scores that are searched for one that was posted before.
const MAX_SEARCHED: u32 = 10_000;

/// What the canary is made of.
#[derive(Clone, Debug)]
pub struct CanaryParts {
    /// Where scores are kept and switches are shared.
    pub store: Arc<dyn CanaryStore>,
    /// Makes calls.
    pub upstream: Arc<dyn Upstream>,
    /// Takes what happens.
    pub reporter: Arc<dyn Reporter>,
    /// How long a provider may take to answer an original.
    pub response_timeout: Duration,
}

/// Watches over the answers of all workloads.
#[derive(Debug)]
pub struct Canary {
    judge: Arc<Judge>,
    shadows: Arc<Shadows>,
    remembered: Mutex<Remembered>,
    reading: Arc<Semaphore>,
}

/// A score that a client posts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PostedScore<'p> {
    /// The id of the request.
    pub request: &'p str,
    /// When the request arrived; scores before that are not its own.
    pub since: Millis,
    /// The stack of the request.
    pub stack: &'p str,
    /// From 0 to 1.
    pub score: f64,
}

impl Canary {
    /// A canary that has seen nothing yet.
    #[must_use]
    pub fn new(parts: CanaryParts) -> Self {
        let judge = Arc::new(Judge::new(parts.store, parts.reporter));
        let shadows = Shadows::new(Arc::clone(&judge), parts.upstream, parts.response_timeout);
        Self {
            judge,
            shadows: Arc::new(shadows),
            remembered: Mutex::default(),
            reading: Arc::new(Semaphore::new(MAX_READ_AT_A_TIME)),
        }
    }

    /// Decides whether mechanics may run on a request. `session` is the value of
    /// [`SESSION_HEADER`](crate::SESSION_HEADER). `None`: none may, and its body need not be read.
    #[must_use]
    pub fn watch(
        self: &Arc<Self>,
        workload: &Arc<WatchedWorkload>,
        configured: Configured<'_>,
        session: Option<&str>,
    ) -> Option<Watch> {
        // Stacks that are off in this process alone switch nothing on.
        if !configured.wants_bodies(&workload.name, &self.judge.stored_controls()) {
            return None;
        }
        Some(Watch {
            canary: Arc::clone(self),
            workload: Arc::clone(workload),
            overrides: Overrides {
                controls: self.judge.controls(),
                session: session.map(str::to_owned),
            },
        })
    }

    /// Takes a request that is over, and where it was sampled the whole answer that its client got.
    pub fn finished(&self, finished: &Finished<'_>, sampled: Option<(Sampled, Answer)>) {
        if finished.is_answered {
            let mut remembered = self.remembered();
            remembered.add(finished.id, &finished.workload.name, finished.stack);
        }
        if let Some((sampled, answer)) = sampled {
            self.shadows.start(sampled, answer);
        }
        let findings = self.judge.signals().request(finished, Instant::now());
        // Without a runtime the process is ending.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        for finding in findings {
            let stack = if finished.stack.is_empty() {
                finished.rejected_stack.join("+")
            } else {
                finished.stack.join("+")
            };
            let (judge, workload) = (Arc::clone(&self.judge), Arc::clone(finished.workload));
            runtime.spawn(judge.follow(workload, stack, finding));
        }
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A request that a score can be posted for.
    pub async fn past_request(&self, id: &str) -> Option<PastRequest> {
        let known = self.remembered().get(id);
        match known {
            Some(known) => Some(known),
            None => self.judge.store().request(id).await.ok().flatten(),
        }
    }

    /// Takes a score that a client posts, and returns the one that counts: the first.
    pub async fn post_score(
        &self,
        workload: &Arc<WatchedWorkload>,
        posted: PostedScore<'_>,
    ) -> f64 {
        let (request, stack) = (posted.request, posted.stack);
        let id = format!("{request}:client");
        let (known, is_local) = {
            let remembered = self.remembered();
            let is_local = remembered.get(request).is_some();
            (remembered.posted(request), is_local)
        };
        // It may have been scored before this process started, or through another one.
        let first = if known.is_none() && !is_local {
            let store = self.judge.store();
            let scores = store.scores(&workload.name, stack, posted.since, MAX_SEARCHED);
            let scores = scores.await.unwrap_or_default();
            let first = scores.into_iter().find(|known| known.id == id);
            first.map(|first| first.score)
        } else {
            known
        };
        // Of two that arrive at once one is the first.
        let score = first.unwrap_or(posted.score);
        let before = self.remembered().post(request, score);
        if let Some(first) = before.or(first) {
            return first;
        }
        self.judge.take_score(
            workload,
            Score {
                id,
                at: now(),
                request: Some(request.to_owned()),
                workload: workload.name.to_string(),
                stack: stack.to_owned(),
                scorer: "client".to_owned(),
                score: posted.score,
            },
        );
        posted.score
    }
}

/// Accompanies one request whose body the mechanics read.
#[derive(Clone, Debug)]
pub struct Watch {
    canary: Arc<Canary>,
    workload: Arc<WatchedWorkload>,
    /// What overrides the configuration for this request.
    pub overrides: Overrides,
}

impl Watch {
    /// The mechanics ran. Notes in the background whether the model asks again for what was cut, and chooses whether
    /// the original is sent too once the client has its response. `body` is the original as it arrived, `original`
    /// makes the head of the request that would send it.
    #[must_use]
    pub fn changed(
        &self,
        changed: &ChangedRequest<'_>,
        body: &Bytes,
        original: impl FnOnce() -> Option<Parts>,
    ) -> Option<Sampled> {
        self.read_calls(changed);
        let shadows = &self.canary.shadows;
        shadows.sample(&self.workload, changed, body, original)
    }

    /// Reads the tool calls of a pruned request on another thread.
    fn read_calls(&self, changed: &ChangedRequest<'_>) {
        let is_pruned = changed.stack.contains(&Mechanic::M7.name());
        let (Some(session), Some(report), Some(body), true) =
            (changed.session, changed.report, changed.read, is_pruned)
        else {
            return;
        };
        let Ok(slot) = Arc::clone(&self.canary.reading).try_acquire_owned() else {
            return;
        };
        let (judge, workload) = (Arc::clone(&self.canary.judge), Arc::clone(&self.workload));
        let (session, stack, dialect) =
            (session.to_owned(), changed.stack.join("+"), changed.dialect);
        let (report, body, runtime) = (Arc::clone(report), body.clone(), Handle::current());
        tokio::task::spawn_blocking(move || {
            let _slot = slot;
            let Some(calls) = signals::calls_of(&body, dialect, &report) else {
                return;
            };
            let signals = judge.signals();
            let found = signals.calls(&workload.name, &stack, &session, calls, Instant::now());
            if let Some(finding) = found {
                runtime.spawn(judge.follow(workload, stack, finding));
            }
        });
    }
}
