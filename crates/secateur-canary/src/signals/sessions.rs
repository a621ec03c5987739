//! What is remembered of the conversations that go through this process: no text, only hashes of calls
//! and counts. Bounded: what was not seen for long is forgotten.

use std::collections::{HashMap, HashSet};

use secateur_core::report::CacheHit;

use super::Calls;
use crate::finished::Finished;

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

/// The sessions that were seen lately.
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
    pub(super) fn cache(&mut self, finished: &Finished<'_>) -> Option<[f64; 3]> {
        let session = self.of(finished.session?);
        let input = finished.input.filter(|input| input.all > 0)?;
        let share_of = |tokens: u64| tokens as f64 / input.all as f64;
        let share = share_of(input.cache_read);
        let before = session.best_share;
        session.best_share = before.max(share);
        let showed_cache = session.shows_cache;
        session.shows_cache |= input.cache_read + input.cache_written > 0;
        let predicted = finished.predicted_read.filter(|_| showed_cache)?;
        let is_readable = match predicted.hit {
            CacheHit::FirstRequest | CacheHit::NoCache | CacheHit::NoMarker => false,
            CacheHit::Prefix { .. }
            | CacheHit::Marker { .. }
            | CacheHit::Anchor { .. }
            | CacheHit::OutOfReach => true,
        };
        (is_readable && !predicted.is_explained)
            .then(|| [before, share, share_of(predicted.tokens)])
    }
}
