//! From scores to a stack that is off: the verdict over the window, the rollback, the warning.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use secateur_ledger::moment::now;
use secateur_ledger::{Millis, Retired, Score, StackEvent, StackEventKind};

use super::verdict::{Rule, judge};
use super::{Canary, CanaryOptions};
use crate::config::Workload;

/// How long to wait before a store that failed is asked again.
const RETRY: Duration = Duration::from_secs(5);

/// The stack under which originals are scored against themselves.
const STACK_OF_ORIGINALS: &str = "";

impl Canary {
    /// The scores of a stack that count: of the window, and since a person resumed it.
    async fn window(
        &self,
        workload: &Workload,
        stack: &str,
        since: Millis,
    ) -> Result<Vec<Score>, super::StoreError> {
        let options = &workload.canary;
        self.store
            .scores(&workload.name, stack, since, options.window)
            .await
    }

    /// Judges a stack after a new score.
    pub(super) async fn judge_stack(self: &Arc<Self>, workload: &Arc<Workload>, new: Score) {
        let options: &CanaryOptions = &workload.canary;
        let stack = new.stack.clone();
        if self.controls().is_retired(&workload.name, &stack) {
            return;
        }
        let window = Millis::try_from(options.window_age.as_millis()).unwrap_or(Millis::MAX);
        let oldest = now().saturating_sub(window);
        let Ok(resumed) = self.store.resumed_at(&workload.name, &stack).await else {
            // The next score asks again.
            return;
        };
        let since = resumed.map_or(oldest, |at| oldest.max(at + 1));
        let Ok(mut scores) = self.window(workload, &stack, since).await else {
            return;
        };
        // It may still be on its way into the store.
        if !scores.iter().any(|score| score.id == new.id) {
            scores.insert(0, new);
            scores.truncate(options.window as usize);
        }
        let floor = self.floor(workload, oldest).await;
        let values: Vec<f64> = scores.iter().map(|score| score.score).collect();
        let verdict = judge(
            &values,
            Rule {
                floor,
                min_samples: options.min_samples as usize,
                confidence: options.confidence,
            },
        );
        if verdict.is_breach {
            let reason = format!(
                "mean {:.3} of {} scores is under the floor {floor:.3}",
                verdict.mean, verdict.samples
            );
            let figures = Some((verdict.mean, verdict.samples as u64));
            self.retire(&workload.name, &stack, reason, figures).await;
        }
    }

    /// The floor. Where originals are compared with themselves, no stack can agree more than they do: the
    /// floor is that much lower.
    async fn floor(&self, workload: &Arc<Workload>, oldest: Millis) -> f64 {
        let options = &workload.canary;
        if options.control_pct <= 0.0 {
            return options.floor;
        }
        let scores = self.window(workload, STACK_OF_ORIGINALS, oldest).await;
        let scores: Vec<f64> = scores
            .unwrap_or_default()
            .iter()
            .filter(|score| score.scorer != "client")
            .map(|score| score.score)
            .collect();
        if scores.len() < options.min_samples as usize {
            return options.floor;
        }
        options.floor * scores.iter().sum::<f64>() / scores.len() as f64
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
                Err(error) => self.surfaces.log.line(
                    "error",
                    "canary_store_failed",
                    &[
                        ("workload", workload.into()),
                        ("reason", error.to_string().into()),
                    ],
                ),
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
            self.surfaces.metrics.count(
                "secateur_stack_rollbacks_total",
                &[("workload", workload), ("stack", stack)],
                1.0,
            );
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
        self.surfaces.metrics.count(
            "secateur_stack_warnings_total",
            &[("workload", workload), ("stack", stack), ("signal", signal)],
            1.0,
        );
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
            self.surfaces.log.line(
                "error",
                "canary_store_failed",
                &[
                    ("workload", workload.into()),
                    ("reason", error.to_string().into()),
                ],
            );
        }
    }
}
