//! How providers cache the start of a prompt: what is cached, for how long, and what that costs.
//!
//! Facts checked November 2026 against the providers' own pages, and against two independent gateways'
//! pages where the provider's could not be read. What no page says is `None`.
//!
//! | provider | asked for by | smallest prefix | hits in steps of | kept for | write | read |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | Anthropic | `cache_control` | 512 to 4,096 tokens by model | block | 5 min, or 1 h on request | 1.25, or 2.0 | 0.1 |
//! | OpenAI before GPT-5.6 | nothing | 1,024 tokens | 128 tokens | 5 to 10 min | 1.0 | 0.1 to 0.5 by model |
//! | OpenAI from GPT-5.6 | nothing, or breakpoints | 1,024 tokens | not said | 30 min at least | 1.25 | 0.1 |
//! | Gemini from 2.5, implicit | nothing | 1,024 to 4,096 tokens by model | not said | not said | 1.0 | 0.1 to 0.25 by model |
//!
//! Writes and reads are shares of the price of input. They come from the list of prices, not from here;
//! only the longer lifetime's write has no column there.

use serde::Serialize;

use super::{Entry, Provider};

/// How a cache is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheKind {
    /// The client marks where the cached prefix ends (`cache_control`).
    Marked,
    /// The provider caches on its own.
    Automatic,
    /// Nothing is cached, or nothing is known.
    Unknown,
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CacheRules {
    /// How it is asked for.
    pub kind: CacheKind,
    /// The smallest prefix that is cached, in tokens; a shorter request is billed as plain input.
    pub min_tokens: Option<usize>,
    /// A hit is a multiple of this many tokens.
    pub step_tokens: Option<usize>,
    /// How long a prefix is kept after its last use, in seconds.
    pub ttl_seconds: Option<u32>,
    /// How long it is kept where the client asks for the longer lifetime, in seconds.
    pub long_ttl_seconds: Option<u32>,
    /// What writing with the longer lifetime costs, in the price of input.
    pub long_write: Option<f64>,
}

impl CacheRules {
    /// Nothing is known.
    pub(super) const UNKNOWN: Self = Self {
        kind: CacheKind::Unknown,
        min_tokens: None,
        step_tokens: None,
        ttl_seconds: None,
        long_ttl_seconds: None,
        long_write: None,
    };

    /// The rules for a model of the table.
    pub(super) fn of(entry: &Entry) -> Self {
        if entry.cache_read_usd.is_none() {
            return Self::UNKNOWN;
        }
        let minimum = |table: &[(&str, usize)]| {
            let fits = |(name, _): &&(&str, usize)| {
                starts_with_words(entry.name, name) && !entry.name.contains("-lite")
            };
            table.iter().find(fits).map(|&(_, tokens)| tokens)
        };
        match entry.provider {
            Provider::Anthropic => Self {
                kind: CacheKind::Marked,
                min_tokens: minimum(ANTHROPIC_MIN_TOKENS),
                ttl_seconds: Some(5 * 60),
                long_ttl_seconds: Some(60 * 60),
                long_write: Some(2.0),
                ..Self::UNKNOWN
            },
            Provider::Openai => {
                let charges_for_writes = entry.cache_write_usd.is_some();
                Self {
                    kind: CacheKind::Automatic,
                    min_tokens: Some(1024),
                    step_tokens: (!charges_for_writes).then_some(128),
                    // Before GPT-5.6: cleared after 5 to 10 idle minutes, an hour at most.
                    ttl_seconds: Some(if charges_for_writes { 30 * 60 } else { 5 * 60 }),
                    ..Self::UNKNOWN
                }
            }
            Provider::Gemini => Self {
                kind: CacheKind::Automatic,
                min_tokens: minimum(GEMINI_MIN_TOKENS),
                ..Self::UNKNOWN
            },
        }
    }
}

/// Whether a model's name is this name, or goes on behind it with another word.
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
    use crate::models::{all, cache_rules};

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
        assert_eq!((old.step_tokens, old.ttl_seconds), (Some(128), Some(300)));
        assert_eq!((new.step_tokens, new.ttl_seconds), (None, Some(1800)));
    }

    #[test]
    fn a_model_without_a_cache_price_has_no_rules() {
        assert_eq!(cache_rules(Some("gpt-4")), CacheRules::UNKNOWN);
        assert_eq!(cache_rules(None), CacheRules::UNKNOWN);
    }
}
