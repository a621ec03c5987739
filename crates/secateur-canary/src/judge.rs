//! From scores and signs of harm to a stack that is off: the verdict over the window, the rollback, the warning.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use secateur_ledger::moment::now;
use secateur_ledger::{Controls, Retired, Score, StackEvent, StackEventKind};
use tokio::sync::watch;

use crate::options::WatchedWorkload;
use crate::outside::{CanaryEvent, Reporter};
use crate::recent::Recent;
use crate::signals::{Finding, Signals};
use crate::standing::{STACK_OF_ORIGINALS, Standing, Window, oldest};
use crate::store::{CanaryStore, StoreError};

/// How long to wait before a store that failed is asked again.
const RETRY: Duration = Duration::from_secs(5);

/// How long a verdict waits for the store.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);

/// Takes scores, judges stacks, and switches off those that do harm.
#[derive(Debug)]
pub(crate) struct Judge {
    store: Arc<dyn CanaryStore>,
    controls: watch::Receiver<Arc<Controls>>,
    /// Stacks that are off here and not yet in the store.
    local: Mutex<Vec<Retired>>,
    recent: Mutex<Recent>,
    signals: Signals,
    reporter: Arc<dyn Reporter>,
}

impl Judge {
    pub(crate) fn new(store: Arc<dyn CanaryStore>, reporter: Arc<dyn Reporter>) -> Self {
        Self {
            controls: store.controls(),
            store,
            local: Mutex::default(),
            recent: Mutex::default(),
            signals: Signals::default(),
            reporter,
        }
    }

    pub(crate) fn store(&self) -> &dyn CanaryStore {
        &*self.store
    }

    pub(crate) fn signals(&self) -> &Signals {
        &self.signals
    }

    pub(crate) fn report(&self, event: CanaryEvent<'_>) {
        self.reporter.report(event);
    }

    fn local(&self) -> MutexGuard<'_, Vec<Retired>> {
        self.local.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is switched at the moment, by the store alone.
    pub(crate) fn stored_controls(&self) -> watch::Ref<'_, Arc<Controls>> {
        self.controls.borrow()
    }

    /// What is switched at the moment.
    pub(crate) fn controls(&self) -> Arc<Controls> {
        let shared = Arc::clone(&self.controls.borrow());
        let local = self.local();
        if local.is_empty() {
            return shared;
        }
        let mut merged = Controls::clone(&shared);
        merged.retired.extend(local.iter().cloned());
        Arc::new(merged)
    }

    /// Takes a score and has its stack judged, which nobody waits for.
    pub(crate) fn take_score(self: &Arc<Self>, workload: &Arc<WatchedWorkload>, score: Score) {
        self.report(CanaryEvent::Scored {
            workload: &score.workload,
            stack: &score.stack,
            scorer: &score.scorer,
            score: score.score,
        });
        self.recent().add(&score, workload.options.window);
        let stack = score.stack.clone();
        self.store.record_score(score);
        if !stack.is_empty() && stack != STACK_OF_ORIGINALS {
            let (judge, workload) = (Arc::clone(self), Arc::clone(workload));
            tokio::spawn(async move { judge.judge_stack(&workload, &stack).await });
        }
    }

    /// Acts on a sign of harm.
    pub(crate) async fn follow(
        self: Arc<Self>,
        workload: Arc<WatchedWorkload>,
        stack: String,
        finding: Finding,
    ) {
        match finding {
            Finding::Warn(signal, reason) => {
                self.warn(&workload.name, &stack, signal.name(), &reason)
                    .await;
            }
            Finding::Retire(reason) => self.retire(&workload.name, &stack, reason, None).await,
        }
    }

    /// The scores of a stack that count. What the store does not have, this process knows of its own.
    async fn window(&self, workload: &WatchedWorkload, stack: &str) -> Window {
        let (options, name) = (&*workload.options, &*workload.name);
        let asked = Window::of(&*self.store, options, name, stack, now());
        let stored = match tokio::time::timeout(STORE_TIMEOUT, asked).await {
            Ok(stored) => stored,
            Err(_) => Err(StoreError("no answer in time".to_owned())),
        };
        let mut recent = self.recent();
        let was_alone = std::mem::replace(&mut recent.is_alone, stored.is_err());
        if let (Err(error), false) = (&stored, was_alone) {
            self.store_failed(name, error);
        }
        let mut window = stored.unwrap_or_else(|_| Window {
            since: oldest(options, now()),
            ..Window::default()
        });
        recent.fill(&mut window, name, stack);
        window
    }

    /// Judges a stack after a new score.
    async fn judge_stack(&self, workload: &WatchedWorkload, stack: &str) {
        if self.controls().is_retired(&workload.name, stack) {
            return self.recent().forget(&workload.name, stack);
        }
        let window = self.window(workload, stack).await;
        let Standing { verdict, floor, .. } = window.standing(&workload.options);
        if verdict.is_breach {
            let reason = format!(
                "mean {:.3} of {} scores is under the floor {floor:.3}",
                verdict.mean, verdict.samples
            );
            let scores = Some((verdict.mean, verdict.samples as u64));
            self.retire(&workload.name, stack, reason, scores).await;
        }
    }

    fn store_failed(&self, workload: &str, error: &StoreError) {
        self.report(CanaryEvent::StoreFailed {
            workload,
            reason: &error.to_string(),
        });
    }

    /// Switches a stack off: here at once, then in the store for all replicas.
    async fn retire(
        &self,
        workload: &str,
        stack: &str,
        reason: String,
        scores: Option<(f64, u64)>,
    ) {
        let at = now();
        let retired = Retired {
            workload: workload.to_owned(),
            stack: stack.to_owned(),
            at,
            reason: reason.clone(),
        };
        {
            let mut local = self.local();
            let is_off = |known: &Retired| known.workload == workload && known.stack == stack;
            if local.iter().any(is_off) || self.controls.borrow().is_retired(workload, stack) {
                return;
            }
            local.push(retired.clone());
        }
        self.recent().forget(workload, stack);
        self.report(CanaryEvent::RolledBack {
            workload,
            stack,
            reason: &reason,
            scores,
        });
        let event = StackEvent {
            at,
            workload: workload.to_owned(),
            stack: stack.to_owned(),
            kind: StackEventKind::RolledBack,
            reason,
            mean: scores.map(|(mean, _)| mean),
            samples: scores.map(|(_, samples)| samples),
            by: None,
        };
        let is_first = loop {
            match self.store.retire(&retired, &event).await {
                Ok(is_first) => break is_first,
                Err(error) => self.store_failed(workload, &error),
            }
            tokio::time::sleep(RETRY).await;
        };
        self.local().retain(|known| *known != retired);
        self.signals.forget(workload, stack);
        // Another replica may have been first.
        if is_first {
            self.report(CanaryEvent::RollbackStored { workload, stack });
        }
    }

    /// Notes a sign of harm.
    async fn warn(&self, workload: &str, stack: &str, signal: &str, reason: &str) {
        self.report(CanaryEvent::Warned {
            workload,
            stack,
            signal,
            reason,
        });
        let event = StackEvent {
            at: now(),
            workload: workload.to_owned(),
            stack: stack.to_owned(),
            kind: StackEventKind::Warning,
            reason: format!("{signal}: {reason}"),
            mean: None,
            samples: None,
            by: None,
        };
        if let Err(error) = self.store.warn(&event).await {
            self.store_failed(workload, &error);
        }
    }
}
