//! How each provider caches the start of a prompt: what is cached, what is found again, and for how long.
//!
//! Checked 2026-11-18 against the providers' own pages, and against their published API schemas and the reports of
//! users where a page could not be read. What no page says is `None`.
//!
//! | provider | an entry is written | found again | smallest | kept for | write | read |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | Anthropic, also on Bedrock and Vertex | at a block with `cache_control`, four at most | from a marked block at most 20 blocks back | 512 to 4,096 tokens by model | 5 min, or 1 h on request | 1.25, or 2.0 | 0.1 |
//! | OpenAI before GPT-5.6 | everywhere | by prefix, in steps of 128 tokens | 1,024 tokens | 5 to 10 min | 1.0 | 0.1 to 0.5 by model |
//! | OpenAI from GPT-5.6 | at the latest user or tool message, and at blocks with `prompt_cache_breakpoint` | at breakpoints only | 1,024 tokens | 30 min at least | 1.25 | 0.1 |
//! | Gemini from 2.5, implicit | everywhere | by prefix | 1,024 to 4,096 tokens by model | not said | 1.0 | 0.1 to 0.25 by model |
//! | others | everywhere | by prefix | not said | not said | 1.0 | 0.1, or the policy's |
//!
//! Anthropic: the page "Prompt caching" of the Claude platform. A marker at the top level of the body stands for the
//! last block that can carry one, and takes one of the four places.
//!
//! OpenAI from GPT-5.6: the schema of `prompt_cache_options` says that the latest 80 breakpoints of a conversation
//! are considered, without a limit in blocks. Users saw a stable prefix in front of a changed end missed in full
//! (openai/codex, issue 35300, July 2026). Until that is settled, a breakpoint is taken to reach no further than
//! Anthropic's marker does: if that is wrong, a cut is not made that would have paid.
//!
//! Reads and writes are shares of the price of input. They come from the list of prices; only the write with the
//! longer lifetime has no column there.

use serde::{Deserialize, Serialize};

use crate::cost::models::{Entry, Prices, Provider};
use crate::read::dialect::Dialect;

/// Where a cache has entries, and how they are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheKind {
    /// Only where the client puts a marker (`cache_control`).
    Marked,
    /// Where the provider puts its own breakpoint, and where the client puts one (`prompt_cache_breakpoint`).
    Breakpoints,
    /// Everywhere: the longest common prefix is found.
    Automatic,
    /// Nothing is cached.
    None,
}

/// What a cached token costs to write and to read, in the price of an input token.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CachePrices {
    /// Writing to the cache.
    pub write: f64,
    /// Reading from the cache.
    pub read: f64,
}

impl CachePrices {
    /// A model's prices as shares of its price of input; `None` where input is free.
    #[must_use]
    pub fn of(prices: &Prices) -> Option<Self> {
        (prices.input_usd > 0.0).then(|| Self {
            write: prices.cache_write_usd / prices.input_usd,
            read: prices.cache_read_usd / prices.input_usd,
        })
    }
}

/// How the cache of a model works.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CacheRules {
    /// Where entries are.
    pub kind: CacheKind,
    /// The smallest prefix that is cached, in tokens; a shorter request is billed as plain input.
    pub min_tokens: Option<usize>,
    /// A hit is a multiple of this many tokens.
    pub step_tokens: Option<usize>,
    /// How many blocks a marker looks at for an entry, its own included.
    pub look_back_blocks: usize,
    /// How many markers a request may carry; one more is an error.
    pub max_markers: usize,
    /// How long an entry is kept after its last use, in seconds.
    pub ttl_seconds: Option<u32>,
    /// How long it is kept where the client asks for the longer lifetime, in seconds.
    pub long_ttl_seconds: Option<u32>,
    /// What writing with the longer lifetime costs, in the price of input.
    pub long_write: Option<f64>,
}

impl CacheRules {
    /// The longest common prefix is found; nothing else is known.
    pub(crate) const PREFIX: Self = Self {
        kind: CacheKind::Automatic,
        min_tokens: None,
        step_tokens: None,
        // For a policy that says that the model's cache has markers.
        look_back_blocks: 20,
        max_markers: 4,
        ttl_seconds: None,
        long_ttl_seconds: None,
        long_write: None,
    };

    /// Nothing is cached.
    pub(crate) const NONE: Self = Self {
        kind: CacheKind::None,
        ..Self::PREFIX
    };

    /// Anthropic's, for a model whose smallest prefix is not known.
    const ANTHROPIC: Self = Self {
        kind: CacheKind::Marked,
        ttl_seconds: Some(5 * 60),
        long_ttl_seconds: Some(60 * 60),
        long_write: Some(2.0),
        ..Self::PREFIX
    };

    /// OpenAI's up to GPT-5.5: cleared after 5 to 10 idle minutes, an hour at most.
    const OPENAI_PREFIX: Self = Self {
        min_tokens: Some(1024),
        step_tokens: Some(128),
        ttl_seconds: Some(5 * 60),
        ..Self::PREFIX
    };

    /// OpenAI's from GPT-5.6 on. Of the four breakpoints that a request writes, one is the provider's own.
    const OPENAI_BREAKPOINTS: Self = Self {
        kind: CacheKind::Breakpoints,
        min_tokens: Some(1024),
        ttl_seconds: Some(30 * 60),
        ..Self::PREFIX
    };

    /// The rules for a model of the table.
    pub(crate) fn of(entry: &Entry) -> Self {
        if entry.cache_read_usd.is_none() {
            return Self::NONE;
        }
        let minimum = |table: &[(&str, usize)]| {
            let fits = |(name, _): &&(&str, usize)| {
                starts_with_words(entry.name, name) && !entry.name.contains("-lite")
            };
            table.iter().find(fits).map(|&(_, tokens)| tokens)
        };
        match entry.provider {
            Provider::Anthropic => Self {
                min_tokens: minimum(ANTHROPIC_MIN_TOKENS),
                ..Self::ANTHROPIC
            },
            Provider::Openai if entry.cache_write_usd.is_some() => Self::OPENAI_BREAKPOINTS,
            Provider::Openai => Self::OPENAI_PREFIX,
            Provider::Gemini => Self {
                min_tokens: minimum(GEMINI_MIN_TOKENS),
                ..Self::PREFIX
            },
        }
    }

    /// The rules for a model outside the table, by its name, else by the wire format. Otherwise, a cache
    /// that finds the longest prefix is assumed: then a cut is made only if it pays with such a cache too.
    pub(crate) fn guess(model: Option<&str>, dialect: Option<Dialect>) -> Self {
        let bare = model.map(|name| name.rsplit('/').next().unwrap_or(name));
        match bare {
            Some(name) if name.contains("claude") => Self::ANTHROPIC,
            Some(name) if is_gpt_with_breakpoints(name) => Self::OPENAI_BREAKPOINTS,
            None if dialect == Some(Dialect::AnthropicMessages) => Self::ANTHROPIC,
            _ => Self::PREFIX,
        }
    }

    /// The prices for a model outside the table: those of its kind.
    pub(crate) fn usual_prices(&self) -> CachePrices {
        let write = match self.kind {
            CacheKind::Marked | CacheKind::Breakpoints => 1.25,
            CacheKind::Automatic | CacheKind::None => 1.0,
        };
        CachePrices { write, read: 0.1 }
    }

    /// Whether a prefix of so many tokens is long enough to be cached.
    #[must_use]
    pub fn is_cacheable(&self, tokens: usize) -> bool {
        self.kind != CacheKind::None && tokens >= self.min_tokens.unwrap_or(0)
    }

    /// What is really read of `tokens` that the cache holds.
    #[must_use]
    pub fn readable(&self, tokens: usize) -> usize {
        if !self.is_cacheable(tokens) {
            return 0;
        }
        let step = self.step_tokens.unwrap_or(1).max(1);
        tokens - tokens % step
    }
}

/// Whether a name is that of a GPT from 5.6 on (`gpt-5.6-sol`, `gpt-6.1`, `gpt-7`).
fn is_gpt_with_breakpoints(name: &str) -> bool {
    let Some(version) = name.strip_prefix("gpt-") else {
        return false;
    };
    let version = version.split('-').next().unwrap_or_default();
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    match (major.parse::<u32>(), minor.parse::<u32>()) {
        (Ok(major), Ok(minor)) => (major, minor) >= (5, 6),
        _ => false,
    }
}

/// Whether a model's name is this name, or goes on after it with another word.
fn starts_with_words(model: &str, name: &str) -> bool {
    model
        .strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Smallest prefix that Anthropic caches. The first name that fits counts.
///
/// Opus 4.7: 2,048 since mid-2026, 4,096 before. Sonnet 4.6 is documented with 1,024; users saw hits from
/// 2,048 on.
const ANTHROPIC_MIN_TOKENS: &[(&str, usize)] = &[
    ("claude-fable-5", 512),
    ("claude-opus-5", 512),
    ("claude-sonnet-5", 1024),
    ("claude-opus-4-8", 1024),
    ("claude-opus-4-7", 2048),
    ("claude-opus-4-6", 4096),
    ("claude-opus-4-5", 4096),
    ("claude-haiku-4-5", 4096),
    ("claude-sonnet-4-6", 1024),
    ("claude-sonnet-4-5", 1024),
    ("claude-opus-4-1", 1024),
    ("claude-opus-4", 1024),
    ("claude-4-opus", 1024),
    ("claude-sonnet-4", 1024),
    ("claude-4-sonnet", 1024),
    ("claude-3-7-sonnet", 1024),
    ("claude-3-opus", 1024),
    ("claude-3-haiku", 2048),
];

/// Smallest prefix that Gemini caches on its own (October 2026; the numbers changed twice in that year).
///
/// `gemini-3-flash-preview` is from the page of May 2026, which later ones do not list. The lite, 2.0 and
/// experimental models are on no page; a name here stands for its dated and preview versions too.
const GEMINI_MIN_TOKENS: &[(&str, usize)] = &[
    ("gemini-2.5-flash", 2048),
    ("gemini-2.5-pro", 2048),
    ("gemini-3-flash-preview", 1024),
    ("gemini-3-pro-preview", 4096),
    ("gemini-3.1-pro-preview", 4096),
    ("gemini-3.5-flash", 4096),
    ("gemini-3.6-flash", 4096),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::models::{all, find};

    fn cache_rules(model: Option<&str>) -> CacheRules {
        model
            .and_then(find)
            .map_or_else(|| CacheRules::guess(model, None), CacheRules::of)
    }

    #[test]
    fn every_claude_of_the_table_has_a_minimum_and_both_lifetimes() {
        for entry in all()
            .iter()
            .filter(|entry| entry.provider == Provider::Anthropic)
        {
            let rules = CacheRules::of(entry);
            assert!(
                matches!(rules.min_tokens, Some(512..=4096)),
                "{}",
                entry.name
            );
            assert_eq!(
                (rules.ttl_seconds, rules.long_ttl_seconds, rules.long_write),
                (Some(300), Some(3600), Some(2.0))
            );
        }
    }

    #[test]
    fn the_most_specific_name_counts() {
        let minimum = |model| cache_rules(Some(model)).min_tokens;
        assert_eq!(minimum("claude-opus-4-20250514"), Some(1024));
        assert_eq!(minimum("claude-opus-4-6-20260205"), Some(4096));
        assert_eq!(minimum("anthropic/claude-opus-4-8"), Some(1024));
        assert_eq!(minimum("claude-opus-5"), Some(512));
        assert_eq!(minimum("gpt-5-mini"), Some(1024));
        assert_eq!(minimum("gemini-2.5-pro"), Some(2048));
        assert_eq!(minimum("gemini-2.0-flash"), None, "no page says it");
        assert_eq!(minimum("gemini-2.5-flash-lite"), None, "no page says it");
        assert_eq!(minimum("gemini-2.5-flash-preview-09-2025"), Some(2048));
        assert_eq!(minimum("never-heard-of"), None);
    }

    #[test]
    fn openai_rules_changed_with_the_write_surcharge() {
        let (old, new) = (cache_rules(Some("gpt-5.5")), cache_rules(Some("gpt-5.6")));
        assert_eq!(
            (old.kind, old.step_tokens, old.ttl_seconds),
            (CacheKind::Automatic, Some(128), Some(300))
        );
        assert_eq!(
            (new.kind, new.step_tokens, new.ttl_seconds),
            (CacheKind::Breakpoints, None, Some(1800))
        );
    }

    #[test]
    fn a_model_without_a_cache_price_has_no_cache() {
        assert_eq!(cache_rules(Some("gpt-4")), CacheRules::NONE);
    }

    #[test]
    fn models_outside_the_table_are_known_by_their_name_or_wire_format() {
        let kind = |model, dialect| CacheRules::guess(model, dialect).kind;
        for claude in [
            "claude-opus-9",
            "us.anthropic.claude-sonnet-4-5-v1:0",
            "claude-next@20260101",
        ] {
            assert_eq!(kind(Some(claude), None), CacheKind::Marked, "{claude}");
        }
        for gpt in ["gpt-5.6-nova", "gpt-6.1-sol", "openai/gpt-7"] {
            assert_eq!(kind(Some(gpt), None), CacheKind::Breakpoints, "{gpt}");
        }
        for other in ["gpt-5.5-x", "gpt-oss-120b", "deepseek-chat", "llama"] {
            assert_eq!(kind(Some(other), None), CacheKind::Automatic, "{other}");
        }
        let anthropic = Some(Dialect::AnthropicMessages);
        assert_eq!(kind(None, anthropic), CacheKind::Marked);
        assert_eq!(
            kind(Some("own-model"), anthropic),
            CacheKind::Automatic,
            "a local model behind Anthropic's wire format"
        );
        assert_eq!(kind(None, None), CacheKind::Automatic);
    }

    #[test]
    fn hits_come_in_steps_from_the_smallest_prefix_on() {
        let rules = cache_rules(Some("gpt-5"));
        assert_eq!(rules.readable(1500), 1408);
        assert_eq!(rules.readable(1023), 0);
        assert_eq!(cache_rules(Some("claude-opus-4-6")).readable(4097), 4097);
        assert_eq!(CacheRules::NONE.readable(100_000), 0);
    }
}
