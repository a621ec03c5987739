//! Ids for requests and spans.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// Sixteen hexadecimal digits that no other request has: a counter, keyed with a random seed of the
/// process.
pub(crate) fn fresh_id() -> String {
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    // Zero is not a valid span id.
    format!("{:016x}", SEED.hash_one(number).max(1))
}

/// A request's id: the time in milliseconds, then a fresh id. Ids that grow with time keep a ledger's index
/// growing at one end.
pub(crate) fn request_id() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    format!("{:011x}{}", millis & 0xfff_ffff_ffff, fresh_id())
}

/// Trace id and parent span of a `traceparent` header.
pub(crate) fn trace_of(value: &str) -> Option<(String, String)> {
    let mut parts = value.split('-');
    let (version, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |text: &str, len: usize| {
        text.len() == len && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    (is_hex(version, 2) && is_hex(trace, 32) && is_hex(span, 16))
        .then(|| (trace.to_owned(), span.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_traces_are_checked() {
        assert_ne!(fresh_id(), fresh_id());
        let (first, then) = (request_id(), request_id());
        assert_eq!(first.len(), 27);
        assert!(first[..11] <= then[..11] && first != then);
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert!(trace_of(trace).is_some());
        assert_eq!(trace_of("00-xyz-1-01"), None);
    }
}
