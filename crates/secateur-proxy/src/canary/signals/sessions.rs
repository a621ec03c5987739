//! What is remembered of the conversations that go through this process: no text, only hashes of calls
//! and counts. Bounded: what was not seen for long is forgotten.

use std::collections::{HashMap, HashSet};

use secateur_core::report::CacheHit;

use super::Calls;
use crate::audit::{AuditEvent, MissCause};

/// Conversations in one generation; two are kept.
const GENERATION: usize = 4096;

#[derive(Debug, Default)]
struct Session {
    /// Calls whose results were not in the last request that was sent.
    cut_calls: HashSet<u64>,
    turns: usize,
    /// The largest share of the input that was read from the cache.
    best_share: f64,
    /// Whether the provider billed a read from its cache or a write to it.
    shows_cache: bool,
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

    /// The shares of the input that were read from the cache: the best one before, now, and as the cache rules predicted
    /// it. `None` where these cannot be compared: there was nothing to read, or the client's change or an expired entry
    /// explains that less was read.
    pub(super) fn cache(&mut self, event: &AuditEvent) -> Option<[f64; 3]> {
        let session = self.of(event.session.as_deref()?);
        let usage = event.usage.as_ref()?;
        let input = usage.input_tokens.filter(|&input| input > 0)? as f64;
        let read = usage.cache_read_tokens.unwrap_or(0);
        let written = usage.cache_write_tokens.unwrap_or(0);
        let share = read as f64 / input;
        let before = session.best_share;
        session.best_share = before.max(share);
        let showed_cache = session.shows_cache;
        session.shows_cache |= read + written > 0;
        let billed = event.receipt.cache_read.filter(|_| showed_cache)?;
        let is_readable = match billed.hit {
            CacheHit::FirstRequest | CacheHit::NoCache | CacheHit::NoMarker => false,
            CacheHit::Prefix { .. }
            | CacheHit::Marker { .. }
            | CacheHit::Anchor { .. }
            | CacheHit::OutOfReach => true,
        };
        let is_explained = billed.miss.is_some_and(MissCause::is_not_ours);
        (is_readable && !is_explained).then(|| [before, share, billed.expected as f64 / input])
    }
}
