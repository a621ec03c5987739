//! Where scores are kept and switches are shared. The ledger in production; a process of its own keeps
//! them in memory.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use secateur_ledger::{Controls, Millis, Retired, Score, StackEvent, StackEventKind, Switch};
use tokio::sync::watch;

/// An answer that comes later.
pub type Later<'s, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 's>>;

/// The store did not answer. Says nothing of what was to be stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the canary's store failed: {0}")]
pub struct StoreError(pub String);

/// What a score can be given to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastRequest {
    /// Its workload.
    pub workload: String,
    /// Its stack, joined by `+`; empty: it went out as it came.
    pub stack: String,
}

/// What the canary needs of a store.
pub trait CanaryStore: Send + Sync + std::fmt::Debug {
    /// Takes a score. Never blocks; a score with an id that is there already is the same score.
    fn record_score(&self, score: Score);

    /// The newest scores of a stack, newest first.
    fn scores<'s>(
        &'s self,
        workload: &'s str,
        stack: &'s str,
        since: Millis,
        limit: u32,
    ) -> Later<'s, Vec<Score>>;

    /// When a person last switched a stack on again: older scores do not count any more.
    fn resumed_at<'s>(&'s self, workload: &'s str, stack: &'s str) -> Later<'s, Option<Millis>>;

    /// Switches a stack off on all replicas; false: it was off already.
    fn retire<'s>(&'s self, retired: &'s Retired, event: &'s StackEvent) -> Later<'s, bool>;

    /// Notes a sign of harm.
    fn warn<'s>(&'s self, event: &'s StackEvent) -> Later<'s, ()>;

    /// A request that is over.
    fn request<'s>(&'s self, id: &'s str) -> Later<'s, Option<PastRequest>>;

    /// What is switched off at the moment, by whomever. Own changes show at once.
    fn controls(&self) -> watch::Receiver<Arc<Controls>>;
}

/// Scores kept for one stack.
const MAX_SCORES: usize = 10_000;

/// Entries kept of the timeline, and of shadow calls.
const MAX_EVENTS: usize = 10_000;

#[derive(Debug, Default)]
struct Kept {
    scores: BTreeMap<(String, String), VecDeque<Score>>,
    events: VecDeque<StackEvent>,
}

/// Keeps everything in this process. Several proxies of one process can share it.
#[derive(Debug)]
pub struct MemoryStore {
    kept: Mutex<Kept>,
    controls: watch::Sender<Arc<Controls>>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self {
            kept: Mutex::default(),
            controls: watch::Sender::new(Arc::default()),
        }
    }
}

impl MemoryStore {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, event: StackEvent) {
        let mut kept = self.kept();
        if kept.events.len() == MAX_EVENTS {
            kept.events.pop_front();
        }
        kept.events.push_back(event);
    }

    /// All scores of a stack, oldest first.
    #[must_use]
    pub fn all_scores(&self, workload: &str, stack: &str) -> Vec<Score> {
        let kept = self.kept();
        let found = kept.scores.get(&(workload.to_owned(), stack.to_owned()));
        found.into_iter().flatten().cloned().collect()
    }

    /// The timeline, oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<StackEvent> {
        self.kept().events.iter().cloned().collect()
    }

    /// A person switches a stack on again; false: it was not off.
    pub fn resume(&self, workload: &str, stack: &str, by: &str, at: Millis) -> bool {
        let is_it = |retired: &Retired| retired.workload == workload && retired.stack == stack;
        let was_off = self.controls.send_if_modified(|controls| {
            let mut changed = Controls::clone(controls);
            changed.retired.retain(|retired| !is_it(retired));
            let differs = changed.retired.len() != controls.retired.len();
            *controls = Arc::new(changed);
            differs
        });
        if was_off {
            self.note(StackEvent {
                at,
                workload: workload.to_owned(),
                stack: stack.to_owned(),
                kind: StackEventKind::Resumed,
                reason: "resumed by a person".to_owned(),
                mean: None,
                samples: None,
                by: Some(by.to_owned()),
            });
        }
        was_off
    }

    /// A person switches a mechanic.
    pub fn set_switch(&self, switch: &Switch) {
        self.controls.send_modify(|controls| {
            let mut changed = Controls::clone(controls);
            let other =
                |of: &Switch| (&of.workload, &of.mechanic) != (&switch.workload, &switch.mechanic);
            changed.switches.retain(other);
            changed.switches.push(switch.clone());
            *controls = Arc::new(changed);
        });
    }
}

impl CanaryStore for MemoryStore {
    fn record_score(&self, score: Score) {
        let mut kept = self.kept();
        let key = (score.workload.clone(), score.stack.clone());
        let scores = kept.scores.entry(key).or_default();
        if scores.iter().rev().any(|known| known.id == score.id) {
            return;
        }
        if scores.len() == MAX_SCORES {
            scores.pop_front();
        }
        scores.push_back(score);
    }

    fn scores<'s>(
        &'s self,
        workload: &'s str,
        stack: &'s str,
        since: Millis,
        limit: u32,
    ) -> Later<'s, Vec<Score>> {
        let mut scores = self.all_scores(workload, stack);
        scores.retain(|score| score.at >= since);
        scores.reverse();
        scores.truncate(limit as usize);
        Box::pin(std::future::ready(Ok(scores)))
    }

    fn resumed_at<'s>(&'s self, workload: &'s str, stack: &'s str) -> Later<'s, Option<Millis>> {
        let kept = self.kept();
        let found = kept.events.iter().rev().find(|event| {
            event.kind == StackEventKind::Resumed
                && event.workload == workload
                && event.stack == stack
        });
        Box::pin(std::future::ready(Ok(found.map(|event| event.at))))
    }

    fn retire<'s>(&'s self, retired: &'s Retired, event: &'s StackEvent) -> Later<'s, bool> {
        let is_new = self.controls.send_if_modified(|controls| {
            let same =
                |of: &Retired| (&of.workload, &of.stack) == (&retired.workload, &retired.stack);
            if controls.retired.iter().any(same) {
                return false;
            }
            let mut changed = Controls::clone(controls);
            changed.retired.push(retired.clone());
            *controls = Arc::new(changed);
            true
        });
        if is_new {
            self.note(event.clone());
        }
        Box::pin(std::future::ready(Ok(is_new)))
    }

    fn warn<'s>(&'s self, event: &'s StackEvent) -> Later<'s, ()> {
        self.note(event.clone());
        Box::pin(std::future::ready(Ok(())))
    }

    fn request<'s>(&'s self, _: &'s str) -> Later<'s, Option<PastRequest>> {
        // The canary itself remembers the newest requests of this process.
        Box::pin(std::future::ready(Ok(None)))
    }

    fn controls(&self) -> watch::Receiver<Arc<Controls>> {
        self.controls.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(id: &str, at: Millis) -> Score {
        Score {
            id: id.into(),
            at,
            request: None,
            workload: "w".into(),
            stack: "m7".into(),
            scorer: "client".into(),
            score: 0.5,
        }
    }

    #[tokio::test]
    async fn scores_come_newest_first_and_never_twice() {
        let store = MemoryStore::default();
        for (id, at) in [("a", 1), ("b", 2), ("a", 3), ("c", 4)] {
            store.record_score(score(id, at));
        }
        let found = store.scores("w", "m7", 2, 10).await.unwrap();
        let ids: Vec<&str> = found.iter().map(|score| score.id.as_str()).collect();
        assert_eq!(ids, ["c", "b"]);
        assert_eq!(store.scores("w", "m7", 0, 1).await.unwrap().len(), 1);
        assert_eq!(store.scores("w", "m3", 0, 9).await.unwrap().len(), 0);
    }

    #[tokio::test]
    async fn a_stack_goes_off_once_and_comes_back_by_a_person() {
        let store = MemoryStore::default();
        let retired = Retired {
            workload: "w".into(),
            stack: "m7".into(),
            at: 1,
            reason: "r".into(),
        };
        let event = StackEvent {
            at: 1,
            workload: "w".into(),
            stack: "m7".into(),
            kind: StackEventKind::RolledBack,
            reason: "r".into(),
            mean: None,
            samples: None,
            by: None,
        };
        let controls = store.controls();
        assert!(store.retire(&retired, &event).await.unwrap());
        assert!(!store.retire(&retired, &event).await.unwrap());
        assert!(controls.borrow().is_retired("w", "m1+m7"));
        assert!(store.resume("w", "m7", "ada", 5) && !store.resume("w", "m7", "ada", 6));
        assert!(!controls.borrow().is_retired("w", "m7"));
        assert_eq!(store.resumed_at("w", "m7").await.unwrap(), Some(5));
        assert_eq!(store.events().len(), 2);
    }
}
