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
                let everywhere = (0..keys.len()).map(|at| (at, Life::Usual));
                (keys.iter().rposition(is_live), everywhere.collect())
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
        let read = hit.map_or(0.0, |at| in_steps(rules, up_to[at]));
        let end = written_at.iter().rev().find(|(at, _)| is_cacheable(*at));
        let (marked_tokens, life) = end.map_or((0.0, Life::Usual), |&(at, life)| (up_to[at], life));
        let bill = Bill::of(read, marked_tokens, all);
        self.renew(&keys[..hit.map_or(0, |at| at + 1)], seconds);
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

    /// Keeps these entries for another lifetime. Reading an entry uses what it covers, so the shorter ones in it are
    /// renewed too. No page says otherwise.
    fn renew(&mut self, keys: &[u64], seconds: f64) {
        for key in keys {
            if let Some(entry) = self.entries.get_mut(key)
                && entry.until_seconds >= seconds
            {
                entry.until_seconds = seconds + entry.life_seconds;
            }
        }
    }
}

/// What is read of so many tokens that are cached.
fn in_steps(rules: &CacheRules, tokens: f64) -> f64 {
    match rules.step_tokens {
        Some(step) if step > 1 => rules.readable(tokens as usize) as f64,
        _ => tokens,
    }
}

fn life_seconds(rules: &CacheRules, life: Life) -> f64 {
    let seconds = match life {
        Life::Long => rules.long_ttl_seconds,
        Life::Usual | Life::Unknown => rules.ttl_seconds,
    };
    seconds.map_or(f64::INFINITY, f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Terms;
    use crate::read::dialect::Dialect;
    use serde_json::{Value, json};

    /// A conversation of an agent after `steps` calls, marked on its instructions and on its last block.
    fn body(steps: usize, cleared: usize) -> Value {
        let marker = json!({"type": "ephemeral"});
        let mut messages =
            vec![json!({"role": "user", "content": [{"type": "text", "text": "go"}]})];
        for step in 0..steps {
            let id = format!("t{step}");
            let text = if step < cleared {
                "gone".to_owned()
            } else {
                format!("{step} ").repeat(4000)
            };
            messages.push(json!({"role": "assistant", "content": [
                {"type": "tool_use", "id": id, "name": "Read", "input": {}}]}));
            messages.push(json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": text}]}));
        }
        let last = messages.last_mut().unwrap();
        last["content"][0]["cache_control"] = marker.clone();
        json!({"model": "claude-opus-4-6", "messages": messages,
            "system": [{"type": "text", "text": "rule ".repeat(5000), "cache_control": marker}]})
    }

    fn mark(body: &mut Value, message: usize) {
        body["messages"][message]["content"][0]["cache_control"] = json!({"type": "ephemeral"});
    }

    struct Provider {
        cache: SimulatedCache,
        rules: CacheRules,
        seconds: f64,
    }

    impl Provider {
        fn new() -> Self {
            Self {
                cache: SimulatedCache::default(),
                rules: Terms::of(Some("claude-opus-4-6"), None).rules,
                seconds: 0.0,
            }
        }

        fn send(&mut self, body: &Value) -> Billed {
            let text = body.to_string();
            let dialect = Dialect::AnthropicMessages;
            let prompt = BlockList::of(text.as_bytes(), dialect, self.rules.kind).unwrap();
            self.seconds += 10.0;
            let tokens = |bytes: usize| bytes as f64;
            let cache = &mut self.cache;
            cache.request(
                &self.rules,
                "claude-opus-4-6",
                &prompt,
                self.seconds,
                tokens,
            )
        }
    }

    #[test]
    fn a_growing_conversation_reads_what_the_request_before_wrote() {
        let mut provider = Provider::new();
        let first = provider.send(&body(3, 0));
        assert_eq!(first.bill.read, 0.0);
        let second = provider.send(&body(4, 0));
        assert!((second.bill.read - first.bill.written).abs() < 1e-9);
        assert_eq!(second.bill.plain, 0.0);
    }

    #[test]
    fn a_cut_more_than_twenty_blocks_back_writes_everything_after_the_instructions_again() {
        let mut provider = Provider::new();
        for steps in 0..=12 {
            provider.send(&body(steps, 0));
        }
        // The first result is the third block of 26.
        let cut = provider.send(&body(13, 1));
        assert_eq!(cut.hit, Some(0), "the instructions alone");
        // A marker of its own on the last block before the cut that has an entry finds it.
        let mut anchored = body(14, 2);
        mark(&mut anchored, 0);
        let found = provider.send(&anchored);
        assert_eq!(found.hit, Some(1));
    }

    #[test]
    fn an_entry_ends_five_minutes_after_it_was_last_read() {
        let mut provider = Provider::new();
        provider.send(&body(3, 0));
        provider.seconds += 280.0;
        assert!(provider.send(&body(4, 0)).bill.read > 0.0, "read, and kept");
        provider.seconds += 301.0;
        assert_eq!(provider.send(&body(5, 0)).bill.read, 0.0);
    }

    #[test]
    fn nothing_is_cached_without_a_marker_or_below_the_smallest_prefix() {
        let mut provider = Provider::new();
        let mut unmarked = body(3, 0);
        unmarked["system"] = "rule ".repeat(5000).into();
        unmarked["messages"][6]["content"][0]["cache_control"] = Value::Null;
        for _ in 0..2 {
            let bill = provider.send(&unmarked).bill;
            assert_eq!((bill.read, bill.written), (0.0, 0.0));
        }
        let mut short = body(0, 0);
        short["system"][0]["text"] = "be good".into();
        for _ in 0..2 {
            let bill = provider.send(&short).bill;
            assert_eq!((bill.read, bill.written), (0.0, 0.0));
        }
    }

    #[test]
    fn a_marker_at_the_top_level_stands_for_the_last_block() {
        let mut provider = Provider::new();
        let automatic = |steps: usize| {
            let mut body = body(steps, 0);
            body["messages"][2 * steps]["content"][0]["cache_control"] = Value::Null;
            body["cache_control"] = json!({"type": "ephemeral"});
            body
        };
        let first = provider.send(&automatic(3)).bill;
        assert_eq!(first.plain, 0.0);
        let second = provider.send(&automatic(4)).bill;
        assert!((second.read - first.written).abs() < 1e-9);
    }
}
