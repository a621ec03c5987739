//! A simulated prompt cache: the longest prefix that was seen before is read, the rest is written.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use secateur_core::models::chars_per_token;
use serde_json::Value;

use crate::request::Api;

/// Characters of one cache block.
const BLOCK_CHARS: usize = 256;

/// Blocks kept at most; then the cache starts over, as if everything had expired.
const MAX_BLOCKS: usize = 1 << 20;

/// Tokens of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// All input, cached or not.
    pub input_tokens: usize,
    /// Of it, read from the cache.
    pub cache_read_tokens: usize,
    /// Of it, written to the cache.
    pub cache_write_tokens: usize,
    /// Output.
    pub output_tokens: usize,
}

/// See the module.
#[derive(Debug, Default)]
pub struct PrefixCache {
    seen: HashSet<u64>,
}

impl PrefixCache {
    /// Counts a request and remembers its prefixes.
    pub fn count(&mut self, api: Api, model: &str, body: &Value) -> Usage {
        let prompt = render(api, model, body);
        let chars: Vec<char> = prompt.chars().collect();
        if self.seen.len() > MAX_BLOCKS {
            self.seen.clear();
        }
        let mut hasher = DefaultHasher::new();
        let mut cached_blocks = 0;
        let mut is_prefix = true;
        for block in chars.chunks_exact(BLOCK_CHARS) {
            block.hash(&mut hasher);
            let is_new = self.seen.insert(hasher.finish());
            is_prefix &= !is_new;
            cached_blocks += usize::from(is_prefix);
        }
        let whole_blocks = chars.len() / BLOCK_CHARS * BLOCK_CHARS;
        let cache_read_tokens = tokens_of(model, cached_blocks * BLOCK_CHARS);
        Usage {
            input_tokens: tokens_of(model, chars.len()),
            cache_read_tokens,
            cache_write_tokens: tokens_of(model, whole_blocks) - cache_read_tokens,
            output_tokens: 0,
        }
    }
}

/// The prompt as a model would see it: model, tools, instructions, turns, in that order, whatever
/// the order in the body.
fn render(api: Api, model: &str, body: &Value) -> String {
    let keys: &[&str] = match api {
        Api::Chat => &["tools", "messages"],
        Api::Responses => &["tools", "instructions", "input"],
        Api::Messages => &["tools", "system", "messages"],
        Api::Gemini => &["tools", "systemInstruction", "contents"],
    };
    let mut prompt = format!("{model}\n");
    for key in keys {
        match body.get(*key) {
            Some(Value::Array(items)) => {
                for item in items {
                    prompt.push_str(&item.to_string());
                    prompt.push('\n');
                }
            }
            Some(value) => prompt.push_str(&value.to_string()),
            None => {}
        }
    }
    prompt
}

/// Tokens of a text, as this provider counts them.
pub(crate) fn tokens(model: &str, text: &str) -> usize {
    tokens_of(model, text.chars().count())
}

/// By the ratio of the model's vocabulary on real requests: a bill that estimates can be held against.
fn tokens_of(model: &str, chars: usize) -> usize {
    (chars as f64 / chars_per_token(Some(model))).ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_the_shared_prefix_and_writes_the_rest() {
        let mut cache = PrefixCache::default();
        let long = "word ".repeat(400);
        let one = json!({"messages":[{"role":"user","content":long}]});
        let first = cache.count(Api::Chat, "m", &one);
        assert_eq!(first.cache_read_tokens, 0);
        let two =
            json!({"messages":[{"role":"user","content":long},{"role":"user","content":long}]});
        let second = cache.count(Api::Chat, "m", &two);
        assert!(
            second.cache_read_tokens > 400 && second.cache_write_tokens > 400,
            "{second:?}"
        );
        assert_eq!(cache.count(Api::Chat, "other", &two).cache_read_tokens, 0);
    }

    #[test]
    fn a_change_early_in_the_prompt_loses_everything_behind_it() {
        let mut cache = PrefixCache::default();
        let turns = |first: &str| json!({"messages":[{"role":"user","content":first},{"role":"user","content":"x".repeat(4000)}]});
        cache.count(Api::Chat, "m", &turns("a"));
        assert_eq!(
            cache.count(Api::Chat, "m", &turns("b")).cache_read_tokens,
            0
        );
        assert!(cache.count(Api::Chat, "m", &turns("a")).cache_read_tokens > 900);
    }
}
