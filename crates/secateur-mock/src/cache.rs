//! The simulated prompt cache: what each request reads, writes and pays in full, by the rules of
//! [`secateur_core::cost::cache`].

use std::time::{Duration, Instant};

use secateur_core::Dialect;
use secateur_core::cost::Terms;
use secateur_core::cost::cache::{BlockList, CacheKind, SimulatedCache};
use secateur_core::models::chars_per_token;
use serde_json::Value;

use crate::request::Api;

/// Tokens of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// All input, cached or not.
    pub input_tokens: usize,
    /// Of it, read from the cache.
    pub cache_read_tokens: usize,
    /// Of it, written to the cache, with any lifetime. Where writing is free, nobody counts it.
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
        let Terms { cache, rules, .. } = terms(api, model);
        let long_write = rules.long_write.unwrap_or(cache.write);
        let short_writes = self.cache_write_tokens - self.long_write_tokens;
        let plain = self.input_tokens - self.cache_read_tokens - self.cache_write_tokens;
        plain as f64
            + self.cache_read_tokens as f64 * cache.read
            + short_writes as f64 * cache.write
            + self.long_write_tokens as f64 * long_write
    }
}

/// The caches of all models.
#[derive(Debug)]
pub struct PromptCache {
    started: Instant,
    cache: SimulatedCache,
}

impl Default for PromptCache {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            cache: SimulatedCache::default(),
        }
    }
}

impl PromptCache {
    /// Counts a request and remembers what the provider would cache of it.
    pub fn count(&mut self, api: Api, model: &str, body: &Value) -> Usage {
        self.count_at(api, model, body, self.started.elapsed())
    }

    fn count_at(&mut self, api: Api, model: &str, body: &Value, now: Duration) -> Usage {
        let Terms { rules, cache, .. } = terms(api, model);
        let prompt = blocks(api, rules.kind, body);
        let seconds = now.as_secs_f64();
        let count = |bytes: usize| tokens_of(model, bytes) as f64;
        let billed = self.cache.request(&rules, model, &prompt, seconds, count);
        let whole = |tokens: f64| tokens as usize;
        let writes_cost = cache.write > 1.0;
        Usage {
            input_tokens: input_tokens(api, model, body),
            cache_read_tokens: whole(billed.bill.read),
            cache_write_tokens: if writes_cost {
                whole(billed.bill.written)
            } else {
                0
            },
            long_write_tokens: whole(billed.long_written),
            output_tokens: 0,
        }
    }
}

/// The terms of a model. Whatever its name, a model behind Anthropic's API is cached as Anthropic's are.
fn terms(api: Api, model: &str) -> Terms {
    let dialect = Some(dialect(api));
    let named = Terms::of(Some(model), dialect);
    if api == Api::Messages && named.rules.kind != CacheKind::Marked {
        return Terms::of(None, dialect);
    }
    named
}

fn dialect(api: Api) -> Dialect {
    match api {
        Api::Chat => Dialect::OpenaiChat,
        Api::Responses => Dialect::OpenaiResponses,
        Api::Messages => Dialect::AnthropicMessages,
        Api::Gemini => Dialect::GeminiGenerateContent,
    }
}

fn blocks(api: Api, kind: CacheKind, body: &Value) -> BlockList {
    let text = body.to_string();
    // The text is JSON, and its shape was checked before.
    BlockList::of(text.as_bytes(), dialect(api), kind).unwrap_or_default()
}

/// How many markers a request may carry.
pub(crate) fn max_markers() -> usize {
    Terms::of(None, Some(Dialect::AnthropicMessages))
        .rules
        .max_markers
}

/// Whether it is a model that writes entries at breakpoints, its own and the request's.
pub(crate) fn knows_breakpoints(api: Api, model: &str) -> bool {
    terms(api, model).rules.kind == CacheKind::Breakpoints
}

/// The input tokens of a request, without any effect on the cache.
pub(crate) fn input_tokens(api: Api, model: &str, body: &Value) -> usize {
    let prompt = blocks(api, terms(api, model).rules.kind, body);
    tokens_of(model, prompt.blocks.iter().map(|block| block.bytes).sum())
}

/// Tokens of a text, as this provider counts them.
pub(crate) fn tokens(model: &str, text: &str) -> usize {
    tokens_of(model, text.len())
}

/// By the ratio of the model's vocabulary on real requests: a bill that estimates can be compared with.
fn tokens_of(model: &str, bytes: usize) -> usize {
    (bytes as f64 / chars_per_token(Some(model))).ceil() as usize
}

#[cfg(test)]
mod tests;
