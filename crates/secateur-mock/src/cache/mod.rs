//! The simulated prompt cache: what each request reads, writes and pays in full.
//!
//! [`PromptCache::count`] is all that the rest of the mock knows of caching. `rules` says which of the
//! two stores a model has: entries at marked blocks (`marked`) or an automatic prefix (`prefix`).

mod blocks;
mod marked;
mod prefix;
mod rules;

use std::time::{Duration, Instant};

use secateur_core::models::{cache_prices, chars_per_token};
use serde_json::Value;

use crate::request::Api;
use blocks::Block;
use marked::MarkedEntries;
use prefix::SeenPrefixes;
pub(crate) use rules::{MAX_MARKERS, knows_breakpoints};
use rules::{Method, OPENAI_WRITE_PRICE};

/// Tokens of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// All input, cached or not.
    pub input_tokens: usize,
    /// Of it, read from the cache.
    pub cache_read_tokens: usize,
    /// Of it, written to the cache, with any lifetime.
    pub cache_write_tokens: usize,
    /// Of what was written, with the longer lifetime.
    pub long_write_tokens: usize,
    /// Output.
    pub output_tokens: usize,
}

impl Usage {
    /// What the input costs, in tokens at the price of plain input.
    #[must_use]
    pub fn input_cost(&self, api: Api, model: &str) -> f64 {
        let mut prices = cache_prices(Some(model));
        if knows_breakpoints(api, model) {
            // Models that the price list does not have yet.
            prices.write = prices.write.max(OPENAI_WRITE_PRICE);
        }
        let long_write = rules::long_write_price(model);
        let short_writes = self.cache_write_tokens - self.long_write_tokens;
        let plain = self.input_tokens - self.cache_read_tokens - self.cache_write_tokens;
        plain as f64
            + self.cache_read_tokens as f64 * prices.read
            + short_writes as f64 * prices.write
            + self.long_write_tokens as f64 * long_write
    }
}

/// The caches of all models.
#[derive(Debug)]
pub struct PromptCache {
    started: Instant,
    marked: MarkedEntries,
    prefixes: SeenPrefixes,
}

impl Default for PromptCache {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            marked: MarkedEntries::default(),
            prefixes: SeenPrefixes::default(),
        }
    }
}

impl PromptCache {
    /// Counts a request and remembers what the provider would cache of it.
    pub fn count(&mut self, api: Api, model: &str, body: &Value) -> Usage {
        self.count_at(api, model, body, self.started.elapsed())
    }

    fn count_at(&mut self, api: Api, model: &str, body: &Value, now: Duration) -> Usage {
        let blocks = blocks::read(api, model, body);
        match rules::method(api, model) {
            Method::Marked { min_tokens } => self.marked.count(model, &blocks, min_tokens, now),
            Method::Prefix {
                min_tokens,
                step_tokens,
            } => self
                .prefixes
                .count(model, &blocks, min_tokens, step_tokens, now),
        }
    }
}

/// The input tokens of a request, without any effect on the cache.
pub(crate) fn input_tokens(api: Api, model: &str, body: &Value) -> usize {
    let blocks = blocks::read(api, model, body);
    tokens_of(model, blocks.iter().map(Block::chars).sum())
}

/// Tokens of a text, as this provider counts them.
pub(crate) fn tokens(model: &str, text: &str) -> usize {
    tokens_of(model, text.chars().count())
}

/// By the ratio of the model's vocabulary on real requests: a bill that estimates can be compared with.
fn tokens_of(model: &str, chars: usize) -> usize {
    (chars as f64 / chars_per_token(Some(model))).ceil() as usize
}

#[cfg(test)]
mod tests;
