//! Token counts, in one shape for all providers.

use secateur_core::internal::json::{Cursor, JsonError, Kind};
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
    /// Whether the counts cannot all be true. What is beyond any model is left out, and what is more than the whole
    /// that it is a part of is cut to the whole.
    pub is_implausible: bool,
}

/// No request has more tokens: the largest windows of models are 10 million (checked November 2026).
const MAX_PLAUSIBLE_TOKENS: u64 = 100_000_000;

impl Usage {
    /// Whether nothing was reported.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What can be true of the counts, so that one response cannot spoil the sums over all.
    pub(super) fn plausible(mut self) -> Self {
        let mut is_implausible = false;
        for count in [
            &mut self.input_tokens,
            &mut self.cache_read_tokens,
            &mut self.cache_write_tokens,
            &mut self.output_tokens,
            &mut self.reasoning_tokens,
            &mut self.uncached_tokens,
        ] {
            let absurd = count.take_if(|count| *count > MAX_PLAUSIBLE_TOKENS);
            is_implausible |= absurd.is_some();
        }
        let mut cut = |part: &mut Option<u64>, whole: Option<u64>| {
            if let (Some(part), Some(whole)) = (part, whole)
                && *part > whole
            {
                *part = whole;
                is_implausible = true;
            }
        };
        let input = self.input_tokens;
        cut(&mut self.cache_read_tokens, input);
        let rest = input.map(|input| input - self.cache_read_tokens.unwrap_or(0).min(input));
        cut(&mut self.cache_write_tokens, rest);
        cut(&mut self.uncached_tokens, input);
        cut(&mut self.reasoning_tokens, self.output_tokens);
        self.is_implausible |= is_implausible;
        self
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
            self.output_tokens = Some(said.saturating_add(thought));
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
            let (read, written) = (self.cache_read_tokens, self.cache_write_tokens);
            let cached = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
            self.input_tokens = Some(uncached.saturating_add(cached));
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
        if let Some(said) = Self::read_flat(json) {
            return Some(said);
        }
        let mut said = Self::default();
        let mut cursor = Cursor::over(std::str::from_utf8(json).ok()?, MAX_DEPTH);
        cursor
            .object(|cursor, key| said.member(cursor, key.raw(cursor.body())))
            .ok()?;
        Some(said)
    }

    /// The short way through an object of plain counts, as small responses have it. `None`: it is not that plain.
    fn read_flat(json: &[u8]) -> Option<Self> {
        let mut said = Self::default();
        let mut rest = json.strip_prefix(b"{")?;
        loop {
            rest = after_spaces(rest).strip_prefix(b"\"")?;
            let end = rest.iter().position(|&byte| byte == b'"')?;
            let (key, value) = rest.split_at(end);
            let value = after_spaces(value.get(1..)?).strip_prefix(b":")?;
            let value = after_spaces(value);
            let digits = value
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            let (count, behind) = value.split_at(digits);
            // A number with a leading zero is no JSON, and one of twenty digits may be too large.
            if matches!(count, [] | [b'0', _, ..]) || count.len() > 19 {
                return None;
            }
            let add = |sum: u64, digit: &u8| sum * 10 + u64::from(digit - b'0');
            said.note(key, count.iter().fold(0, add));
            rest = after_spaces(behind);
            match rest.split_first()? {
                (b',', more) => rest = more,
                (b'}', more) => return after_spaces(more).is_empty().then_some(said),
                _ => return None,
            }
        }
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
        if let Some(count) = count(cursor)? {
            self.note(key.as_bytes(), count);
        }
        Ok(())
    }

    /// Takes over a count that stands directly in the object.
    fn note(&mut self, key: &[u8], count: u64) {
        let slot = match key {
            // OpenAI chat; Gemini.
            b"prompt_tokens" | b"promptTokenCount" => &mut self.input,
            // OpenAI chat; OpenAI Responses and Anthropic.
            b"completion_tokens" | b"output_tokens" => &mut self.output,
            // Gemini; DeepSeek, on top of the chat fields.
            b"cachedContentTokenCount" | b"prompt_cache_hit_tokens" => &mut self.cache_read,
            b"candidatesTokenCount" => &mut self.candidates,
            b"thoughtsTokenCount" => {
                self.reasoning = Some(count);
                &mut self.thoughts
            }
            // OpenAI Responses and Anthropic.
            b"input_tokens" => &mut self.plain_input,
            b"cache_read_input_tokens" => &mut self.read_apart,
            b"cache_creation_input_tokens" => &mut self.written_apart,
            _ => return,
        };
        *slot = Some(count);
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

fn after_spaces(text: &[u8]) -> &[u8] {
    let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    text.get(text.iter().take_while(is_space).count()..)
        .unwrap_or_default()
}

/// The next value, if it is a count.
fn count(cursor: &mut Cursor<'_>) -> Result<Option<u64>, JsonError> {
    Ok(cursor.skip()?.of(cursor.body()).parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the long way through says.
    fn read_long(json: &str) -> Option<Usage> {
        let mut said = Said::default();
        let mut cursor = Cursor::over(json, MAX_DEPTH);
        cursor
            .object(|cursor, key| said.member(cursor, key.raw(cursor.body())))
            .ok()?;
        Some(usage(&said))
    }

    fn usage(said: &Said) -> Usage {
        Usage {
            input_tokens: said.input.or(said.plain_input),
            output_tokens: said.output,
            ..Usage::default()
        }
    }

    #[test]
    fn the_short_way_says_what_the_long_way_says_or_nothing() {
        let plain = [
            r#"{"prompt_tokens":100,"completion_tokens":180,"total_tokens":280}"#,
            "{ \"input_tokens\" : 7 ,\n\t\"output_tokens\": 0 }",
            r#"{"prompt_tokens":9999999999999999999}"#,
        ];
        for json in plain {
            let short = Said::read_flat(json.as_bytes()).as_ref().map(usage);
            assert_eq!(short, read_long(json), "{json}");
            assert!(short.is_some_and(|usage| !usage.is_empty()), "{json}");
        }
        let others = [
            "",
            "{}",
            "[1]",
            r#"{"prompt_tokens":01}"#,
            r#"{"prompt_tokens":1.5}"#,
            r#"{"prompt_tokens":-1}"#,
            r#"{"prompt_tokens":1e3}"#,
            r#"{"prompt_tokens":null}"#,
            r#"{"prompt_tokens":1,}"#,
            r#"{"prompt_tokens":1} x"#,
            r#"{"prompt_tokens" 1}"#,
            r#"{"prompt_tokens":1"#,
            r#"{"prompt_tokens":100,"details":{"cached_tokens":3}}"#,
            r#"{"prompt_tokens":99999999999999999999}"#,
        ];
        for json in others {
            assert!(Said::read_flat(json.as_bytes()).is_none(), "{json}");
        }
    }
}
