//! Ids for requests and spans.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
static COUNTER: AtomicU64 = AtomicU64::new(0);

const TIME_DIGITS: usize = 11;
const FRESH_DIGITS: usize = 16;

/// A number that no other request has: a counter, keyed with a random seed of the process.
fn fresh_number() -> u64 {
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    // Zero is not a valid span id.
    SEED.hash_one(number).max(1)
}

/// Sixteen hexadecimal digits that no other request has.
pub(crate) fn fresh_id() -> String {
    spelled(&hex::<FRESH_DIGITS>(fresh_number()))
}

/// A request's id: the time in milliseconds, then a fresh id. Ids that grow with time keep a ledger's index
/// growing at one end.
pub(crate) fn request_id(at: SystemTime) -> String {
    let since = at.duration_since(SystemTime::UNIX_EPOCH);
    let millis = since.map_or(0, |since| {
        since.as_secs() * 1000 + u64::from(since.subsec_millis())
    });
    let mut id = [0; TIME_DIGITS + FRESH_DIGITS];
    let (time, fresh) = id.split_at_mut(TIME_DIGITS);
    time.copy_from_slice(&hex::<TIME_DIGITS>(millis));
    fresh.copy_from_slice(&hex::<FRESH_DIGITS>(fresh_number()));
    spelled(&id)
}

/// The last hexadecimal digits of a number.
fn hex<const DIGITS: usize>(number: u64) -> [u8; DIGITS] {
    std::array::from_fn(|at| {
        let digit = (number >> (4 * (DIGITS - 1 - at))) as u8 & 0xf;
        let letter = if digit < 10 { b'0' } else { b'a' - 10 };
        letter + digit
    })
}

fn spelled(digits: &[u8]) -> String {
    // Digits are text.
    std::str::from_utf8(digits).unwrap_or_default().to_owned()
}

/// When a request came, by its id, in milliseconds since 1970.
pub(crate) fn time_of(id: &str) -> Option<i64> {
    i64::from_str_radix(id.get(..TIME_DIGITS)?, 16).ok()
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
        let now = SystemTime::now();
        let (first, then) = (request_id(now), request_id(SystemTime::now()));
        assert_eq!(first.len(), 27);
        assert!(first[..11] <= then[..11] && first != then);
        let millis = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_millis();
        assert_eq!(first[..11], format!("{:011x}", millis));
        assert_eq!(time_of(&first), Some(millis as i64));
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert!(trace_of(trace).is_some());
        assert_eq!(trace_of("00-xyz-1-01"), None);
    }
}
