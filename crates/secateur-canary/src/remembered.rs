//! Requests of this process that scores can still be posted for.
//!
//! Every request is added and next to none is ever looked up: so they are kept in a queue, which a lookup walks through.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use crate::store::PastRequest;

/// How many, at least.
const REMEMBERED: usize = 20_000;

/// What requests have in common. Few: the configured workloads, each with the stacks that its requests got.
#[derive(Debug)]
struct Kind {
    workload: Arc<str>,
    /// Empty for nearly all requests of a workload without mechanics.
    stack: Box<[&'static str]>,
}

impl Kind {
    fn is(&self, workload: &Arc<str>, stack: &[&'static str]) -> bool {
        let is_same = Arc::ptr_eq(&self.workload, workload) || self.workload == *workload;
        is_same && *self.stack == *stack
    }
}

/// The newest requests by the hash of their id, and the scores that clients gave them.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    hashes: RandomState,
    /// The hash of a request's id, and the index of its kind.
    requests: VecDeque<(u64, usize)>,
    kinds: Vec<Kind>,
    /// The first score that a client gave to a request.
    posted: VecDeque<(u64, f64)>,
}

impl Remembered {
    pub(crate) fn add(&mut self, id: &str, workload: &Arc<str>, stack: &[&'static str]) {
        if self.requests.len() >= REMEMBERED {
            self.requests.pop_front();
        }
        let mut kinds = self.kinds.iter();
        let known = kinds.position(|kind| kind.is(workload, stack));
        let kind = known.unwrap_or_else(|| {
            self.kinds.push(Kind {
                workload: Arc::clone(workload),
                stack: stack.into(),
            });
            self.kinds.len() - 1
        });
        self.requests.push_back((self.hashes.hash_one(id), kind));
    }

    /// The score that was posted for a request.
    pub(crate) fn posted(&self, id: &str) -> Option<f64> {
        let wanted = self.hashes.hash_one(id);
        let mut newest_first = self.posted.iter().rev();
        let found = newest_first.find(|(known, _)| *known == wanted);
        found.map(|(_, score)| *score)
    }

    /// Takes a posted score, or returns the one that was posted before.
    pub(crate) fn post(&mut self, id: &str, score: f64) -> Option<f64> {
        if let Some(first) = self.posted(id) {
            return Some(first);
        }
        if self.posted.len() >= REMEMBERED {
            self.posted.pop_front();
        }
        self.posted.push_back((self.hashes.hash_one(id), score));
        None
    }

    pub(crate) fn get(&self, id: &str) -> Option<PastRequest> {
        let wanted = self.hashes.hash_one(id);
        let mut newest_first = self.requests.iter().rev();
        let (_, kind) = newest_first.find(|(known, _)| *known == wanted)?;
        let kind = self.kinds.get(*kind)?;
        Some(PastRequest {
            workload: kind.workload.to_string(),
            stack: kind.stack.join("+"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten_first() {
        let (mut remembered, workload) = (Remembered::default(), Arc::from("w"));
        for n in 0..=REMEMBERED {
            remembered.add(&format!("id {n}"), &workload, &["m3", "m7"]);
        }
        assert!(remembered.get("id 0").is_none());
        let last = remembered.get(&format!("id {REMEMBERED}")).unwrap();
        assert_eq!(
            (last.workload.as_str(), last.stack.as_str()),
            ("w", "m3+m7")
        );
        assert_eq!(remembered.requests.len(), REMEMBERED);
        assert!(remembered.get("an id of another process").is_none());
    }

    #[test]
    fn the_first_posted_score_stands() {
        let mut remembered = Remembered::default();
        assert_eq!(remembered.post("a", 0.5), None);
        assert_eq!(remembered.post("a", 0.9), Some(0.5));
        assert_eq!(
            (remembered.posted("a"), remembered.posted("b")),
            (Some(0.5), None)
        );
    }
}
