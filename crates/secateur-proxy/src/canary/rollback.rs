//! From scores to a stack that is off: the verdict over the window, the rollback, the warning.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use secateur_ledger::moment::now;
use secateur_ledger::{Retired, StackEvent, StackEventKind};

use super::standing::{Standing, Window, oldest};
use super::{Canary, StoreError};
use crate::config::Workload;

/// How long to wait before a store that failed is asked again.
const RETRY: Duration = Duration::from_secs(5);

/// How long a verdict waits for the store.
const PATIENCE: Duration = Duration::from_secs(10);

impl Canary {
    /// The scores of a stack that count. What the store does not tell, this process knows of its own.
    async fn window(&self, workload: &Workload, stack: &str) -> Window {
        let (options, name) = (&*workload.canary, &*workload.name);
        let asked = Window::of(&*self.store, options, name, stack, now());
        let told = match tokio::time::timeout(PATIENCE, asked).await {
            Ok(told) => told,
            Err(_) => Err(StoreError("no answer in time".to_owned())),
        };
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let was_alone = std::mem::replace(&mut recent.is_alone, told.is_err());
        if let (Err(error), false) = (&told, was_alone) {
            self.store_failed(name, error);
        }
        let mut window = told.unwrap_or_else(|_| Window {
            since: oldest(options, now()),
            ..Window::default()
        });
        recent.fill(&mut window, name, stack);
        window
    }

    /// Judges a stack after a new score.
    pub(super) async fn judge_stack(self: &Arc<Self>, workload: &Arc<Workload>, stack: &str) {
        if self.controls().is_retired(&workload.name, stack) {
            let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
            return recent.forget(&workload.name, stack);
        }
        let window = self.window(workload, stack).await;
        let Standing { verdict, floor, .. } = window.standing(&workload.canary);
        if verdict.is_breach {
            let reason = format!(
                "mean {:.3} of {} scores is under the floor {floor:.3}",
                verdict.mean, verdict.samples
            );
            let figures = Some((verdict.mean, verdict.samples as u64));
            self.retire(&workload.name, stack, reason, figures).await;
        }
    }

    fn store_failed(&self, workload: &str, error: &StoreError) {
        self.surfaces.log.line(
            "error",
            "canary_store_failed",
            &[
                ("workload", workload.into()),
                ("reason", error.to_string().into()),
            ],
        );
    }

    /// Switches a stack off: here at once, then in the store for all replicas.
    pub(super) async fn retire(
        self: &Arc<Self>,
        workload: &str,
        stack: &str,
        reason: String,
        figures: Option<(f64, u64)>,
    ) {
        let at = now();
        let retired = Retired {
            workload: workload.to_owned(),
            stack: stack.to_owned(),
            at,
            reason: reason.clone(),
        };
        {
            let mut local = self.local.lock().unwrap_or_else(PoisonError::into_inner);
            let is_off = |known: &Retired| known.workload == workload && known.stack == stack;
            if local.iter().any(is_off) || self.controls.borrow().is_retired(workload, stack) {
                return;
            }
            local.push(retired.clone());
        }
        self.recent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .forget(workload, stack);
        let event = StackEvent {
            at,
            workload: workload.to_owned(),
            stack: stack.to_owned(),
            kind: StackEventKind::RolledBack,
            reason: reason.clone(),
            mean: figures.map(|(mean, _)| mean),
            samples: figures.map(|(_, samples)| samples),
            by: None,
        };
        let mut fields = vec![
            ("workload", workload.into()),
            ("stack", stack.into()),
            ("reason", reason.into()),
        ];
        if let Some((mean, samples)) = figures {
            fields.push(("mean", mean.into()));
            fields.push(("samples", samples.into()));
        }
        self.surfaces.log.line("warn", "stack_rolled_back", &fields);
        let is_first = loop {
            match self.store.retire(&retired, &event).await {
                Ok(is_first) => break is_first,
                Err(error) => self.store_failed(workload, &error),
            }
            tokio::time::sleep(RETRY).await;
        };
        {
            let mut local = self.local.lock().unwrap_or_else(PoisonError::into_inner);
            local.retain(|known| *known != retired);
        }
        self.signals.forget(workload, stack);
        // Another replica may have come first.
        if is_first {
            self.surfaces.metrics.stack_rolled_back(workload, stack);
        }
    }

    /// Notes a sign of harm.
    pub(super) async fn warn(&self, workload: &str, stack: &str, signal: &str, reason: &str) {
        self.surfaces.log.line(
            "warn",
            "stack_warning",
            &[
                ("workload", workload.into()),
                ("stack", stack.into()),
                ("signal", signal.into()),
                ("reason", reason.into()),
            ],
        );
        self.surfaces.metrics.stack_warning(workload, stack, signal);
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
