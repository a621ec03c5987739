//! Token counts, in one shape for all providers.

use secateur_core::json::{Cursor, JsonError, Kind};
use serde::Serialize;

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
        let Some(said) = Said::read(json) else {
            return;
        };
        let set = |slot: &mut Option<u64>, value: Option<u64>| {
            if value.is_some() {
                *slot = value;
            }
        };
        set(&mut self.input_tokens, said.input);
        set(&mut self.output_tokens, said.output);
        set(&mut self.cache_read_tokens, said.cache_read);
        set(&mut self.cache_write_tokens, said.cache_write);
        set(&mut self.reasoning_tokens, said.reasoning);
        if said.candidates.is_some() || said.thoughts.is_some() {
            let (said, thought) = (said.candidates.unwrap_or(0), said.thoughts.unwrap_or(0));
            self.output_tokens = Some(said + thought);
        }
        set(&mut self.cache_read_tokens, said.read_apart);
        set(&mut self.cache_write_tokens, said.written_apart);
        if let Some(input) = said.plain_input {
            let counts_apart = said.read_apart.is_some() || said.written_apart.is_some();
            if counts_apart || self.uncached_tokens.is_some() {
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

/// The counts of one usage object, by what they mean.
#[derive(Debug, Default)]
struct Said {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    reasoning: Option<u64>,
    /// Gemini counts what it says and what it thinks apart.
    candidates: Option<u64>,
    thoughts: Option<u64>,
    /// Anthropic counts cached tokens apart from `input_tokens`; the others count them in it.
    plain_input: Option<u64>,
    read_apart: Option<u64>,
    written_apart: Option<u64>,
}

/// Usage is flat but for details; what is deeper is not ours.
const MAX_DEPTH: usize = 32;

impl Said {
    /// `None` if it is no object, or no JSON.
    fn read(json: &[u8]) -> Option<Self> {
        let mut said = Self::default();
        let mut cursor = Cursor::over(std::str::from_utf8(json).ok()?, MAX_DEPTH);
        cursor
            .object(|cursor, key| said.member(cursor, key.raw(cursor.body())))
            .ok()?;
        Some(said)
    }

    fn member(&mut self, cursor: &mut Cursor<'_>, key: &str) -> Result<(), JsonError> {
        let is_details = matches!(
            key,
            "prompt_tokens_details"
                | "completion_tokens_details"
                | "input_tokens_details"
                | "output_tokens_details"
        );
        if is_details && cursor.peek()? == Kind::Object {
            cursor.object(|cursor, key| self.detail(cursor, key.raw(cursor.body())))?;
            return Ok(());
        }
        let Some(count) = count(cursor)? else {
            return Ok(());
        };
        let slot = match key {
            // OpenAI chat; Gemini.
            "prompt_tokens" | "promptTokenCount" => &mut self.input,
            // OpenAI chat; OpenAI Responses and Anthropic.
            "completion_tokens" | "output_tokens" => &mut self.output,
            // Gemini; DeepSeek, on top of the chat fields.
            "cachedContentTokenCount" | "prompt_cache_hit_tokens" => &mut self.cache_read,
            "candidatesTokenCount" => &mut self.candidates,
            "thoughtsTokenCount" => {
                self.reasoning = Some(count);
                &mut self.thoughts
            }
            // OpenAI Responses and Anthropic.
            "input_tokens" => &mut self.plain_input,
            "cache_read_input_tokens" => &mut self.read_apart,
            "cache_creation_input_tokens" => &mut self.written_apart,
            _ => return Ok(()),
        };
        *slot = Some(count);
        Ok(())
    }

    fn detail(&mut self, cursor: &mut Cursor<'_>, key: &str) -> Result<(), JsonError> {
        let count = count(cursor)?;
        let slot = match key {
            "cached_tokens" => &mut self.cache_read,
            "cache_write_tokens" => &mut self.cache_write,
            "reasoning_tokens" => &mut self.reasoning,
            _ => return Ok(()),
        };
        *slot = count.or(*slot);
        Ok(())
    }
}

/// The next value, if it is a count.
fn count(cursor: &mut Cursor<'_>) -> Result<Option<u64>, JsonError> {
    Ok(cursor.skip()?.of(cursor.body()).parse().ok())
}
