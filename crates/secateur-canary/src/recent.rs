//! The newest scores of this process: with these the canary goes on judging while its store is unavailable.

use std::collections::{HashMap, VecDeque};

use secateur_ledger::Score;

use crate::standing::{STACK_OF_ORIGINALS, Window};

/// Stacks that are remembered: the configured workloads, each with the few that its requests get.
const MAX_STACKS: usize = 1_000;

/// The newest scores of this process.
#[derive(Debug, Default)]
pub(super) struct Recent {
    /// By workload and stack, newest first.
    scores: HashMap<(String, String), VecDeque<Score>>,
    /// Whether the store did not answer the last time.
    pub(super) is_alone: bool,
}

impl Recent {
    fn of(&self, workload: &str, stack: &str) -> impl Iterator<Item = &Score> {
        let key = (workload.to_owned(), stack.to_owned());
        self.scores.get(&key).into_iter().flatten()
    }

    /// Takes a score; `window` are kept of each stack.
    pub(super) fn add(&mut self, score: &Score, window: u32) {
        let key = (score.workload.clone(), score.stack.clone());
        if self.scores.len() >= MAX_STACKS && !self.scores.contains_key(&key) {
            return;
        }
        let scores = self.scores.entry(key).or_default();
        scores.push_front(score.clone());
        scores.truncate(window as usize);
    }

    /// A stack went off: what comes after a resume begins anew.
    pub(super) fn forget(&mut self, workload: &str, stack: &str) {
        self.scores.remove(&(workload.to_owned(), stack.to_owned()));
    }

    /// Adds what the store does not have, or not yet.
    pub(super) fn fill(&self, window: &mut Window, workload: &str, stack: &str) {
        let since = window.since;
        add_missing(&mut window.scores, self.of(workload, stack), since);
        let controls = self.of(workload, STACK_OF_ORIGINALS);
        add_missing(&mut window.controls, controls, i64::MIN);
    }
}

fn add_missing<'s>(
    scores: &mut Vec<Score>,
    known: impl Iterator<Item = &'s Score>,
    since: secateur_ledger::Millis,
) {
    let held: std::collections::HashSet<String> =
        scores.iter().map(|score| score.id.clone()).collect();
    let missing = known.filter(|score| score.at >= since && !held.contains(&score.id));
    scores.extend(missing.cloned());
    scores.sort_by(|one, other| other.at.cmp(&one.at).then_with(|| other.id.cmp(&one.id)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(id: &str, at: i64) -> Score {
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

    #[test]
    fn what_the_store_lacks_is_filled_in_once_and_in_order() {
        let mut recent = Recent::default();
        for (id, at) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] {
            recent.add(&score(id, at), 3);
        }
        let mut window = Window {
            since: 3,
            scores: vec![score("c", 3)],
            ..Window::default()
        };
        recent.fill(&mut window, "w", "m7");
        let ids: Vec<&str> = window.scores.iter().map(|score| &*score.id).collect();
        assert_eq!(ids, ["d", "c"]);
        recent.forget("w", "m7");
        let mut empty = Window::default();
        recent.fill(&mut empty, "w", "m7");
        assert!(empty.scores.is_empty());
    }
}
