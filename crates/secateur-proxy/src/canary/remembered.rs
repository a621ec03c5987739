//! Requests of this process that scores can still be posted for.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use super::store::PastRequest;
use crate::audit::AuditEvent;
use crate::identity::number_of;

/// How many, at least.
const REMEMBERED: usize = 20_000;

/// The numbers in ids are hashes already, under a key that nobody outside this process knows.
#[derive(Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

#[derive(Debug)]
struct Past {
    workload: Arc<str>,
    /// Empty for nearly all requests of a workload without mechanics.
    stack: Box<[&'static str]>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    requests: HashMap<u64, Past, BuildHasherDefault<AsItIs>>,
    order: VecDeque<u64>,
}

impl Remembered {
    pub(super) fn add(&mut self, event: &AuditEvent) {
        let Some(number) = number_of(&event.id) else {
            return;
        };
        if self.order.len() >= REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.requests.remove(&oldest);
        }
        self.order.push_back(number);
        let past = Past {
            workload: Arc::clone(&event.workload),
            stack: event.stack.as_slice().into(),
        };
        self.requests.insert(number, past);
    }

    pub(super) fn get(&self, id: &str) -> Option<PastRequest> {
        let past = self.requests.get(&number_of(id)?)?;
        Some(PastRequest {
            workload: past.workload.to_string(),
            stack: past.stack.join("+"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Provider;
    use crate::identity::request_id;
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
