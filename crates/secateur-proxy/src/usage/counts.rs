//! Token counts, in one shape for all providers.

use serde::Serialize;
use serde_json::Value;

/// What a provider reported for one request. `None`: it said nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// The model that answered.
    pub model: Option<String>,
    /// All input tokens, cached or not.
    pub input_tokens: Option<u64>,
    /// Of the input, read from the cache.
    pub cache_read_tokens: Option<u64>,
    /// Of the input, written to the cache.
    pub cache_write_tokens: Option<u64>,
    /// All output tokens, reasoning included.
    pub output_tokens: Option<u64>,
    /// Of the output, reasoning.
    pub reasoning_tokens: Option<u64>,
    /// Of the input, neither read nor written, where the provider counts it apart.
    pub uncached_tokens: Option<u64>,
}

impl Usage {
    /// Whether nothing was reported.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Takes over what a usage object says. Later events of a stream refine earlier ones.
    pub(super) fn merge(&mut self, json: &[u8]) {
        let Ok(usage) = serde_json::from_slice::<Value>(json) else {
            return;
        };
        // `Value::pointer` undoes escapes that no key here has, at several times the cost.
        let number = |path: &str| {
            let mut keys = path.split('/').skip(1);
            keys.try_fold(&usage, |value, key| value.get(key))?.as_u64()
        };
        let set = |slot: &mut Option<u64>, value: Option<u64>| {
            if value.is_some() {
                *slot = value;
            }
        };
        // OpenAI chat; OpenAI Responses; Gemini.
        set(&mut self.input_tokens, number("/prompt_tokens"));
        set(&mut self.output_tokens, number("/completion_tokens"));
        set(
            &mut self.cache_read_tokens,
            number("/prompt_tokens_details/cached_tokens"),
        );
        set(
            &mut self.cache_write_tokens,
            number("/prompt_tokens_details/cache_write_tokens"),
        );
        set(
            &mut self.reasoning_tokens,
            number("/completion_tokens_details/reasoning_tokens"),
        );
        set(
            &mut self.cache_read_tokens,
            number("/input_tokens_details/cached_tokens"),
        );
        set(
            &mut self.cache_write_tokens,
            number("/input_tokens_details/cache_write_tokens"),
        );
        set(
            &mut self.reasoning_tokens,
            number("/output_tokens_details/reasoning_tokens"),
        );
        set(&mut self.input_tokens, number("/promptTokenCount"));
        set(
            &mut self.cache_read_tokens,
            number("/cachedContentTokenCount"),
        );
        let (said, thought) = (
            number("/candidatesTokenCount"),
            number("/thoughtsTokenCount"),
        );
        set(&mut self.reasoning_tokens, thought);
        if said.is_some() || thought.is_some() {
            self.output_tokens = Some(said.unwrap_or(0) + thought.unwrap_or(0));
        }
        // DeepSeek, on top of the chat fields.
        set(
            &mut self.cache_read_tokens,
            number("/prompt_cache_hit_tokens"),
        );
        set(&mut self.output_tokens, number("/output_tokens"));
        // Anthropic counts cached tokens apart from the input; the others count them in it.
        let (read, written) = (
            number("/cache_read_input_tokens"),
            number("/cache_creation_input_tokens"),
        );
        set(&mut self.cache_read_tokens, read);
        set(&mut self.cache_write_tokens, written);
        if let Some(input) = number("/input_tokens") {
            if read.is_some() || written.is_some() || self.uncached_tokens.is_some() {
                self.uncached_tokens = Some(input);
            } else {
                self.input_tokens = Some(input);
            }
        }
        if let Some(uncached) = self.uncached_tokens {
            let cached = self.cache_read_tokens.unwrap_or(0) + self.cache_write_tokens.unwrap_or(0);
            self.input_tokens = Some(uncached + cached);
        }
    }
}
