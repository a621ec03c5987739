//! What is remembered of the conversations that go through this process: no text, only hashes of calls
//! and counts. Bounded: what was not seen for long is forgotten.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use super::Calls;
use crate::audit::AuditEvent;

/// Conversations in one generation; two are kept.
const GENERATION: usize = 4096;

/// How long a provider may keep a cached prefix.
const CACHE_LIFE: Duration = Duration::from_secs(3600);

/// Shorter inputs are not cached by any provider, in tokens.
const MIN_CACHED_TOKENS: u64 = 1024;

#[derive(Debug, Default)]
struct Session {
    /// Calls whose results were not in the last request that was sent.
    cut_calls: HashSet<u64>,
    turns: usize,
    /// The largest share of the input that was read from the cache.
    best_share: f64,
    /// When the last request that was answered ended.
    last: Option<Instant>,
    /// When the last one ended, once the provider showed a cache.
    cached: Option<Instant>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    young: HashMap<String, Session>,
    old: HashMap<String, Session>,
}

impl Sessions {
    fn of(&mut self, key: &str) -> &mut Session {
        if !self.young.contains_key(key) && self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        let known = self.old.remove(key);
        let young = self.young.entry(key.to_owned());
        young.or_insert_with(|| known.unwrap_or_default())
    }

    /// Whether the model repeats a call whose result was cut from the session's last request. `None`
    /// where nothing was cut before, or nothing was said since.
    pub(super) fn repeats(&mut self, key: &str, calls: Calls) -> Option<bool> {
        let session = self.of(key);
        let grew = calls.turns > session.turns;
        let could = grew && !session.cut_calls.is_empty();
        let is_repeated = calls
            .last
            .iter()
            .any(|call| session.cut_calls.contains(call));
        session.cut_calls = calls.cut;
        session.turns = calls.turns;
        could.then_some(is_repeated)
    }

    /// The shares of the input that were read from the cache: before, now, and up to the first edit.
    /// Also tells the event how long the session was idle.
    pub(super) fn cache(&mut self, event: &mut AuditEvent, now: Instant) -> Option<[f64; 3]> {
        let key = event.session.clone()?;
        let session = self.of(&key);
        let since = |at: Instant| now.saturating_duration_since(at);
        event.idle = session.last.map(since);
        if event.status < 400 {
            session.last = Some(now);
        }
        let usage = event.usage.as_ref()?;
        let input = usage.input_tokens.filter(|&input| input > 0)?;
        let read = usage.cache_read_tokens.unwrap_or(0);
        let written = usage.cache_write_tokens.unwrap_or(0);
        let share = read as f64 / input as f64;
        let before = session.best_share;
        let earlier = session.cached.filter(|&at| since(at) < CACHE_LIFE);
        session.best_share = before.max(share);
        if read + written > 0 || session.cached.is_some() {
            session.cached = Some(now);
        }
        if earlier.is_none() || input < MIN_CACHED_TOKENS {
            return None;
        }
        let first_edit = event
            .report
            .as_ref()
            .and_then(|report| report.first_edit_at);
        let predicted = first_edit.map_or(1.0, |at| at as f64 / event.bytes_after.max(1) as f64);
        Some([before, share, predicted.min(1.0)])
    }
}
