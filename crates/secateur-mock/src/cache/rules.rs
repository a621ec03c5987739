//! The providers' cache rules, in one place. Checked November 2026 against their documentation.

use secateur_core::models::cache_rules;

use crate::request::Api;

/// Anthropic checks each marker backwards, block by block, itself included, so many times.
/// (Prompt caching documentation, "automatic prefix checking".)
pub(crate) const LOOKBACK_BLOCKS: usize = 20;

/// Anthropic rejects a request with more markers.
pub(crate) const MAX_MARKERS: usize = 4;

/// Smallest cached prefix of models that the table does not have, in tokens.
const DEFAULT_MIN_TOKENS: usize = 1024;

/// OpenAI models before GPT-5.6 count hits in steps of so many tokens.
const OPENAI_STEP_TOKENS: usize = 128;

/// What OpenAI charges for a write from GPT-5.6 on, in the price of input.
pub(crate) const OPENAI_WRITE_PRICE: f64 = 1.25;

/// What Anthropic charges for a write with the lifetime of an hour, in the price of input.
const LONG_WRITE_PRICE: f64 = 2.0;

/// The first OpenAI version with entries at breakpoints.
const FIRST_WITH_BREAKPOINTS: (u32, u32) = (5, 6);

/// How a model caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Entries at marked blocks only.
    Marked { min_tokens: usize },
    /// Any prefix that was sent before, rounded down to a step where there is one.
    Prefix {
        min_tokens: usize,
        step_tokens: Option<usize>,
    },
}

pub(crate) fn method(api: Api, model: &str) -> Method {
    let known = cache_rules(Some(model));
    let min_tokens = known.min_tokens.unwrap_or(DEFAULT_MIN_TOKENS);
    match api {
        Api::Messages => Method::Marked { min_tokens },
        Api::Chat | Api::Responses if knows_breakpoints(api, model) => {
            Method::Marked { min_tokens }
        }
        Api::Chat | Api::Responses => Method::Prefix {
            min_tokens,
            step_tokens: Some(known.step_tokens.unwrap_or(OPENAI_STEP_TOKENS)),
        },
        Api::Gemini => Method::Prefix {
            min_tokens,
            step_tokens: None,
        },
    }
}

/// Whether it is an OpenAI model that writes entries at breakpoints, its own and the request's.
pub(crate) fn knows_breakpoints(api: Api, model: &str) -> bool {
    matches!(api, Api::Chat | Api::Responses)
        && openai_version(model).is_some_and(|version| version >= FIRST_WITH_BREAKPOINTS)
}

pub(crate) fn long_write_price(model: &str) -> f64 {
    cache_rules(Some(model))
        .long_write
        .unwrap_or(LONG_WRITE_PRICE)
}

/// The version in `gpt-5.6`, `openai/gpt-6.1-sol`, `gpt-5`.
fn openai_version(model: &str) -> Option<(u32, u32)> {
    let bare = model.rsplit('/').next().unwrap_or(model);
    let version = bare.strip_prefix("gpt-")?.split('-').next()?;
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openai_models_have_breakpoints_from_5_6_on() {
        for (model, expected) in [
            ("gpt-5.6", true),
            ("openai/gpt-6.1-sol", true),
            ("gpt-6", true),
            ("gpt-5.5", false),
            ("gpt-5", false),
            ("gpt-4.1-mini", false),
            ("o3", false),
        ] {
            assert_eq!(
                knows_breakpoints(Api::Responses, model),
                expected,
                "{model}"
            );
        }
        assert!(!knows_breakpoints(Api::Messages, "gpt-5.6"));
    }
}
