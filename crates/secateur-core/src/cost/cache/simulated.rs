//! A provider's cache, for replays and for the provider that tests and the demo talk to.

use std::collections::HashMap;

use super::{Bill, BlockList, CacheKind, CacheRules, Life, deepest_hit};

/// Entries kept at most; then the cache is emptied, as if everything had expired.
const MAX_ENTRIES: usize = 1 << 20;

/// When an entry ends, and how long a read extends it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    until_seconds: f64,
    life_seconds: f64,
}

/// Entries by the content that they cover.
#[derive(Clone, Debug, Default)]
pub struct SimulatedCache {
    entries: HashMap<u64, Entry>,
}

/// What a request was billed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Billed {
    /// How its tokens divide by price.
    pub bill: Bill,
    /// Of the written tokens, those with the longer lifetime.
    pub long_written: f64,
    /// The last block that was read.
    pub hit: Option<usize>,
}

impl SimulatedCache {
    /// Forgets everything, as after a long pause.
    pub fn expire(&mut self) {
        self.entries.clear();
    }

    /// Bills a request that arrives at this time. `tokens` counts those of so many bytes.
    pub fn request(
        &mut self,
        rules: &CacheRules,
        model: &str,
        prompt: &BlockList,
        seconds: f64,
        tokens: impl Fn(usize) -> f64,
    ) -> Billed {
        if self.entries.len() > MAX_ENTRIES {
            self.entries.clear();
        }
        let keys = prompt.prefix_keys(model);
        let mut bytes = 0;
        let up_to: Vec<f64> = prompt
            .blocks
            .iter()
            .map(|block| {
                bytes += block.bytes;
                tokens(bytes)
            })
            .collect();
        let all = up_to.last().copied().unwrap_or(0.0);
        let is_cacheable = |at: usize| rules.is_cacheable(up_to[at] as usize);
        let is_live = |key: &u64| {
            let entry = self.entries.get(key);
            entry.is_some_and(|entry| entry.until_seconds >= seconds)
        };
        let marked = prompt.marked(rules);
        let (hit, written_at): (Option<usize>, Vec<(usize, Life)>) = match rules.kind {
            CacheKind::None => (None, Vec::new()),
            CacheKind::Automatic => {
                let held = keys.iter().take_while(|key| is_live(key)).count();
                let everywhere = (0..keys.len()).map(|at| (at, Life::Usual));
                (held.checked_sub(1), everywhere.collect())
            }
            CacheKind::Marked | CacheKind::Breakpoints => {
                let live: Vec<u32> = (0..)
                    .zip(&keys)
                    .filter_map(|(at, key)| is_live(key).then_some(at))
                    .collect();
                let markers: Vec<u32> = marked.iter().map(|&(at, _)| at).collect();
                let hit = deepest_hit(rules.look_back_blocks, &markers, &live);
                let written = marked.iter().map(|&(at, life)| (at as usize, life));
                (hit.map(|at| at as usize), written.collect())
            }
        };
        let hit = hit.filter(|&at| is_cacheable(at));
        let read = hit.map_or(0.0, |at| rules.readable(up_to[at] as usize) as f64);
        let end = written_at.iter().rev().find(|(at, _)| is_cacheable(*at));
        let (marked_tokens, life) = end.map_or((0.0, Life::Usual), |&(at, life)| (up_to[at], life));
        let bill = Bill::of(read, marked_tokens, all);
        if let Some(entry) = hit.and_then(|at| self.entries.get_mut(&keys[at])) {
            entry.until_seconds = seconds + entry.life_seconds;
        }
        for (at, life) in written_at {
            if is_cacheable(at) {
                let life_seconds = life_seconds(rules, life);
                self.entries.insert(
                    keys[at],
                    Entry {
                        until_seconds: seconds + life_seconds,
                        life_seconds,
                    },
                );
            }
        }
        Billed {
            bill,
            long_written: if life == Life::Long {
                bill.written
            } else {
                0.0
            },
            hit,
        }
    }
}

fn life_seconds(rules: &CacheRules, life: Life) -> f64 {
    let seconds = match life {
        Life::Long => rules.long_ttl_seconds,
        Life::Usual | Life::Unknown => rules.ttl_seconds,
    };
    seconds.map_or(f64::INFINITY, f64::from)
}
