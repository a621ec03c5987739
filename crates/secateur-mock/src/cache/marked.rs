//! Entries at marked blocks only, found by a bounded look-back from each marker.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use super::blocks::{Block, Lifetime};
use super::rules::LOOKBACK_BLOCKS;
use super::{Usage, tokens_of};

/// Entries kept at most; then the store starts over, as if everything had expired.
const MAX_ENTRIES: usize = 1 << 16;

#[derive(Debug)]
struct Entry {
    lifetime: Lifetime,
    expires: Duration,
}

#[derive(Debug, Default)]
pub(super) struct MarkedEntries {
    entries: HashMap<u64, Entry>,
}

impl Lifetime {
    fn duration(self) -> Duration {
        match self {
            Self::Short => Duration::from_secs(5 * 60),
            Self::Long => Duration::from_secs(60 * 60),
        }
    }
}

impl MarkedEntries {
    /// `now` is the time since the store began.
    pub(super) fn count(
        &mut self,
        model: &str,
        blocks: &[Block],
        min_tokens: usize,
        now: Duration,
    ) -> Usage {
        if self.entries.len() > MAX_ENTRIES {
            self.entries.clear();
        }
        let prefixes = prefixes(model, blocks);
        let tokens = |at: usize| tokens_of(model, prefixes[at].chars);
        let total = prefixes.len().checked_sub(1).map_or(0, tokens);
        let markers: Vec<(usize, Lifetime)> = blocks
            .iter()
            .enumerate()
            .filter_map(|(at, block)| Some((at, block.marker?)))
            .collect();
        let hit = markers
            .iter()
            .filter_map(|&(at, _)| self.look_back(&prefixes, at, now))
            .max();
        let mut usage = Usage {
            input_tokens: total,
            cache_read_tokens: hit.map_or(0, tokens),
            ..Usage::default()
        };
        if let Some(entry) = hit.and_then(|at| self.entries.get_mut(&prefixes[at].hash)) {
            entry.expires = now + entry.lifetime.duration();
        }
        let mut covered = usage.cache_read_tokens;
        for (at, lifetime) in markers {
            let here = tokens(at);
            if here < min_tokens {
                continue;
            }
            let expires = now + lifetime.duration();
            self.entries
                .insert(prefixes[at].hash, Entry { lifetime, expires });
            let written = here.saturating_sub(covered);
            covered = covered.max(here);
            usage.cache_write_tokens += written;
            if lifetime == Lifetime::Long {
                usage.long_write_tokens += written;
            }
        }
        usage
    }

    /// The newest living entry at the marker or before it, within reach.
    fn look_back(&self, prefixes: &[Prefix], marker: usize, now: Duration) -> Option<usize> {
        let is_alive = |at: &usize| {
            self.entries
                .get(&prefixes[*at].hash)
                .is_some_and(|entry| entry.expires > now)
        };
        (0..=marker).rev().take(LOOKBACK_BLOCKS).find(is_alive)
    }
}

/// Everything up to a block, the block included.
struct Prefix {
    hash: u64,
    chars: usize,
}

fn prefixes(model: &str, blocks: &[Block]) -> Vec<Prefix> {
    let mut hasher = DefaultHasher::new();
    model.hash(&mut hasher);
    let mut chars = 0;
    let extend = |block: &Block| {
        block.text.hash(&mut hasher);
        chars += block.chars();
        Prefix {
            hash: hasher.finish(),
            chars,
        }
    };
    blocks.iter().map(extend).collect()
}
