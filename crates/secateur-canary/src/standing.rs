//! How a stack stands: the scores that count, the floor that holds for them, and what they say together. The
//! canary judges by it, and pages show it.

use secateur_ledger::{Millis, Score};

use crate::options::CanaryOptions;
use crate::store::{CanaryStore, StoreError};
use crate::verdict::{Rule, Verdict, judge};

/// The name under which originals are scored against themselves: no stack is called so. Clients score
/// unchanged requests too; those scores lie under the empty stack, and say nothing of noise.
pub const STACK_OF_ORIGINALS: &str = "original";

/// The scores of a stack, judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// What the scores that count say.
    pub verdict: Verdict,
    /// The floor that holds for them: the workload's own, lower where originals do not agree with themselves.
    pub floor: f64,
    /// How far originals agree with themselves, where that lowers the floor.
    pub noise: Option<f64>,
    /// Scores that a verdict takes at least.
    pub min_samples: usize,
}

impl Standing {
    /// How a stack stands by what a store holds.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn of(
        store: &dyn CanaryStore,
        options: &CanaryOptions,
        workload: &str,
        stack: &str,
        now: Millis,
    ) -> Result<Self, StoreError> {
        let window = Window::of(store, options, workload, stack, now).await?;
        Ok(window.standing(options))
    }
}

/// The oldest score that counts by its age.
pub(super) fn oldest(options: &CanaryOptions, now: Millis) -> Millis {
    let age = Millis::try_from(options.window_age.as_millis()).unwrap_or(Millis::MAX);
    now.saturating_sub(age)
}

/// The scores that count, newest first.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// Scores of the stack before this moment do not count: they are too old, or a person resumed it since.
    pub(super) since: Millis,
    pub(super) scores: Vec<Score>,
    /// Of originals against themselves.
    pub(super) controls: Vec<Score>,
}

impl Window {
    pub(super) async fn of(
        store: &dyn CanaryStore,
        options: &CanaryOptions,
        workload: &str,
        stack: &str,
        now: Millis,
    ) -> Result<Self, StoreError> {
        let oldest = oldest(options, now);
        let resumed = store.resumed_at(workload, stack).await?;
        let since = resumed.map_or(oldest, |at| oldest.max(at + 1));
        let scores = store.scores(workload, stack, since, options.window).await?;
        let controls = if options.control_pct > 0.0 {
            store
                .scores(workload, STACK_OF_ORIGINALS, oldest, options.window)
                .await?
        } else {
            Vec::new()
        };
        Ok(Self {
            since,
            scores,
            controls,
        })
    }

    /// What these scores say.
    pub(super) fn standing(&self, options: &CanaryOptions) -> Standing {
        let values = |scores: &[Score]| -> Vec<f64> {
            let newest = scores.iter().take(options.window as usize);
            newest.map(|score| score.score).collect()
        };
        let controls = values(&self.controls);
        let min_samples = options.min_samples as usize;
        // No stack can agree more with originals than they do with themselves.
        let noise = (options.control_pct > 0.0 && controls.len() >= min_samples)
            .then(|| controls.iter().sum::<f64>() / controls.len() as f64);
        let floor = options.floor * noise.unwrap_or(1.0);
        let rule = Rule {
            floor,
            min_samples,
            confidence: options.confidence,
        };
        Standing {
            verdict: judge(&values(&self.scores), rule),
            floor,
            noise,
            min_samples,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    const OPTIONS: CanaryOptions = CanaryOptions::DEFAULT;

    fn score(stack: &str, id: i64, scorer: &str, score: f64) -> Score {
        Score {
            id: format!("{stack} {scorer} {id}"),
            at: 1_000 + id,
            request: None,
            workload: "w".into(),
            stack: stack.into(),
            scorer: scorer.into(),
            score,
        }
    }

    async fn stands(store: &MemoryStore, options: &CanaryOptions) -> Standing {
        Standing::of(store, options, "w", "m7", 10_000)
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn scores_of_unchanged_requests_do_not_push_out_what_is_known_of_the_noise() {
        let store = MemoryStore::default();
        let options = CanaryOptions {
            control_pct: 100.0,
            ..OPTIONS
        };
        for n in 0..40 {
            store.record_score(score(STACK_OF_ORIGINALS, n, "deterministic", 0.6));
            store.record_score(score("m7", n, "deterministic", 0.6));
        }
        let noisy = stands(&store, &options).await;
        assert!((noisy.floor - 0.95 * 0.6).abs() < 1e-9 && !noisy.verdict.is_breach);
        for n in 0..300 {
            store.record_score(score("", 1_000 + n, "client", 1.0));
        }
        assert_eq!(stands(&store, &options).await, noisy);
        // Without controls the same scores are a breach.
        assert!(stands(&store, &OPTIONS).await.verdict.is_breach);
    }

    #[tokio::test]
    async fn what_lies_before_a_resume_or_outside_the_window_does_not_count() {
        let store = MemoryStore::default();
        for n in 0..40 {
            store.record_score(score("m7", n, "client", 0.0));
        }
        assert!(stands(&store, &OPTIONS).await.verdict.is_breach);
        let retired = secateur_ledger::Retired {
            workload: "w".into(),
            stack: "m7".into(),
            at: 1_100,
            reason: String::new(),
        };
        let event = secateur_ledger::StackEvent {
            at: 1_100,
            workload: "w".into(),
            stack: "m7".into(),
            kind: secateur_ledger::StackEventKind::RolledBack,
            reason: String::new(),
            mean: None,
            samples: None,
            by: None,
        };
        store.retire(&retired, &event).await.unwrap();
        store.resume("w", "m7", "ada", 1_200);
        for n in 300..303 {
            store.record_score(score("m7", n, "client", 1.0));
        }
        let standing = stands(&store, &OPTIONS).await;
        assert_eq!((standing.verdict.samples, standing.verdict.mean), (3, 1.0));
        assert_eq!(standing.min_samples, 30);
        let short = CanaryOptions {
            window_age: std::time::Duration::from_millis(1),
            ..OPTIONS
        };
        assert_eq!(stands(&store, &short).await.verdict.samples, 0);
    }
}
