//! Requests of this process that scores can still be posted for.
//!
//! Every request is added and next to none is ever asked for: so they lie in a row, one after the other, and whoever
//! asks looks through them.

use std::collections::VecDeque;
use std::sync::Arc;

use super::store::PastRequest;
use crate::audit::AuditEvent;
use crate::wire::identity::number_of;

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
    fn is_of(&self, event: &AuditEvent) -> bool {
        let is_same = Arc::ptr_eq(&self.workload, &event.workload);
        (is_same || self.workload == event.workload) && *self.stack == *event.stack
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    /// What tells a request's id from all others, and the place of its kind.
    requests: VecDeque<(u64, usize)>,
    kinds: Vec<Kind>,
    /// The first score that a client gave to a request.
    posted: VecDeque<(u64, f64)>,
}

impl Remembered {
    pub(super) fn add(&mut self, event: &AuditEvent) {
        let Some(number) = number_of(&event.id) else {
            return;
        };
        if self.requests.len() >= REMEMBERED {
            self.requests.pop_front();
        }
        let known = self.kinds.iter().position(|kind| kind.is_of(event));
        let kind = known.unwrap_or_else(|| {
            self.kinds.push(Kind {
                workload: Arc::clone(&event.workload),
                stack: event.stack.as_slice().into(),
            });
            self.kinds.len() - 1
        });
        self.requests.push_back((number, kind));
    }

    /// The score that was posted for a request.
    pub(super) fn posted(&self, id: &str) -> Option<f64> {
        let number = number_of(id)?;
        let mut newest_first = self.posted.iter().rev();
        let found = newest_first.find(|(known, _)| *known == number);
        found.map(|(_, score)| *score)
    }

    /// Takes a posted score, or tells the one that was there before.
    pub(super) fn post(&mut self, id: &str, score: f64) -> Option<f64> {
        let number = number_of(id)?;
        if let Some(first) = self.posted(id) {
            return Some(first);
        }
        if self.posted.len() >= REMEMBERED {
            self.posted.pop_front();
        }
        self.posted.push_back((number, score));
        None
    }

    pub(super) fn get(&self, id: &str) -> Option<PastRequest> {
        let wanted = number_of(id)?;
        let newest_first = self.requests.iter().rev();
        let (_, kind) = newest_first
            .into_iter()
            .find(|(number, _)| *number == wanted)?;
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
    use crate::config::Provider;
    use crate::wire::identity::request_id;
    use std::time::SystemTime;

    #[test]
    fn the_oldest_are_forgotten_first() {
        let mut remembered = Remembered::default();
        let ids: Vec<String> = (0..=REMEMBERED)
            .map(|_| {
                let id = request_id(SystemTime::now());
                let mut event = AuditEvent::new(id.clone(), "w".into(), Provider::Openai, None);
                event.stack = vec!["m3", "m7"];
                remembered.add(&event);
                id
            })
            .collect();
        assert!(remembered.get(&ids[0]).is_none());
        let last = remembered.get(&ids[REMEMBERED]).unwrap();
        assert_eq!(
            (last.workload.as_str(), last.stack.as_str()),
            ("w", "m3+m7")
        );
        assert_eq!(remembered.requests.len(), REMEMBERED);
        assert!(remembered.get("an id of another process").is_none());
    }
}
