//! What a policy says of single models, over the built-in table: `[models."own-model"]`.

use serde::{Deserialize, Serialize};

use super::Policy;
use crate::cost::cache::{CacheKind, CachePrices};
use crate::cost::models::{self, Prices};
use crate::cost::{PriceSource, Terms};
use crate::read::dialect::Dialect;

/// What a policy says of one model. Prices in US dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelOverride {
    /// Its context window in tokens; 0 takes the built-in table's.
    pub window_tokens: usize,
    /// Input that was not cached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_usd: Option<f64>,
    /// Input that is written to the cache, at the usual lifetime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_usd: Option<f64>,
    /// Input that is read from the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_usd: Option<f64>,
    /// Output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_usd: Option<f64>,
    /// The smallest prefix that is cached, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_cache_tokens: Option<usize>,
    /// How long an entry is kept after its last use, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_ttl_seconds: Option<u32>,
    /// Where the cache has entries: `marked`, `breakpoints`, `automatic` or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_kind: Option<CacheKind>,
    /// How many blocks a marker looks at for an entry, its own included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub look_back_blocks: Option<usize>,
    /// How many markers a request may carry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cache_markers: Option<usize>,
    /// A hit is a multiple of this many tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_step_tokens: Option<usize>,
}

impl ModelOverride {
    /// The first price that is not one.
    pub(super) fn wrong_price(&self) -> Option<(&'static str, f64)> {
        let prices = [
            ("input_usd", self.input_usd),
            ("cache_write_usd", self.cache_write_usd),
            ("cache_read_usd", self.cache_read_usd),
            ("output_usd", self.output_usd),
        ];
        prices
            .into_iter()
            .filter_map(|(key, price)| Some((key, price?)))
            .find(|(_, price)| !price.is_finite() || *price < 0.0)
    }

    fn has_price(&self) -> bool {
        self.input_usd
            .or(self.cache_write_usd)
            .or(self.cache_read_usd)
            .or(self.output_usd)
            .is_some()
    }

    fn over(&self, terms: Terms) -> Terms {
        let mut rules = terms.rules;
        rules.kind = self.cache_kind.unwrap_or(rules.kind);
        rules.min_tokens = self.min_cache_tokens.or(rules.min_tokens);
        rules.step_tokens = self.cache_step_tokens.or(rules.step_tokens);
        rules.look_back_blocks = self.look_back_blocks.unwrap_or(rules.look_back_blocks);
        rules.max_markers = self.max_cache_markers.unwrap_or(rules.max_markers);
        rules.ttl_seconds = self.cache_ttl_seconds.or(rules.ttl_seconds);
        let terms = Terms { rules, ..terms };
        if !self.has_price() {
            return terms;
        }
        let Some(input_usd) = self
            .input_usd
            .or(terms.prices.map(|prices| prices.input_usd))
        else {
            // A cache price alone says nothing without the price of input.
            return terms;
        };
        // A new price of input moves the cache prices that are not given with it.
        let prices = Prices {
            input_usd,
            cache_write_usd: self
                .cache_write_usd
                .unwrap_or(input_usd * terms.cache.write),
            cache_read_usd: self.cache_read_usd.unwrap_or(input_usd * terms.cache.read),
            output_usd: self
                .output_usd
                .or(terms.prices.map(|prices| prices.output_usd))
                .unwrap_or(0.0),
        };
        Terms {
            prices: Some(prices),
            cache: CachePrices::of(&prices).unwrap_or(terms.cache),
            source: PriceSource::Policy,
            ..terms
        }
    }
}

impl Policy {
    /// What the policy says of a model: by its name on the wire, else without a routing prefix.
    fn model_override(&self, model: &str) -> Option<&ModelOverride> {
        let bare = || {
            model
                .rsplit('/')
                .next()
                .and_then(|name| self.models.get(name))
        };
        self.models.get(model).or_else(bare)
    }

    /// The context window of a model, in tokens: the policy's entry for it, else the built-in table,
    /// else `context_tokens`, else 200,000.
    #[must_use]
    pub fn window_tokens(&self, model: Option<&str>) -> usize {
        let known = |tokens: &usize| *tokens > 0;
        let entry = |name| self.model_override(name).map(|entry| entry.window_tokens);
        let table = |name| models::find(name).map(|found| found.window_tokens);
        model
            .and_then(entry)
            .filter(known)
            .or_else(|| model.and_then(table).filter(known))
            .or(Some(self.context_tokens).filter(known))
            .unwrap_or(models::DEFAULT_WINDOW_TOKENS)
    }

    /// Prices and cache rules of a model: the policy's, over the built-in table's.
    #[must_use]
    pub fn terms(&self, model: Option<&str>, dialect: Option<Dialect>) -> Terms {
        let terms = Terms::of(model, dialect);
        match model.and_then(|name| self.model_override(name)) {
            Some(over) => over.over(terms),
            None => terms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(text: &str) -> Policy {
        Policy::resolve(None, Some(text), &[]).unwrap()
    }

    #[test]
    fn prices_and_cache_rules_are_the_policys_over_the_tables() {
        let policy = policy(
            "[models.\"claude-opus-4-6\"]\ncache_write_usd = 10\nmin_cache_tokens = 2048\n\
             cache_ttl_seconds = 3600\n[models.own]\ninput_usd = 2.0\ncache_read_usd = 0.5\n",
        );
        let claude = policy.terms(Some("anthropic/claude-opus-4-6"), None);
        assert_eq!((claude.cache.write, claude.cache.read), (2.0, 0.1));
        assert_eq!(claude.rules.min_tokens, Some(2048));
        assert_eq!(claude.rules.ttl_seconds, Some(3600));
        assert_eq!(claude.source, PriceSource::Policy);
        let own = policy.terms(Some("own"), None);
        assert_eq!((own.cache.write, own.cache.read), (1.0, 0.25));
        let listed = policy.terms(Some("gpt-4o"), None);
        assert_eq!((listed.cache.write, listed.cache.read), (1.0, 0.5));
        assert_eq!(listed.source, PriceSource::Table);
        assert_eq!(
            policy.terms(Some("unheard"), None).source,
            PriceSource::Unknown
        );
    }

    #[test]
    fn a_price_that_is_none_is_an_error() {
        for wrong in ["input_usd = -1", "output_usd = nan", "cache_read_usd = inf"] {
            let text = format!("[models.own]\n{wrong}\n");
            let error = Policy::resolve(None, Some(&text), &[]).unwrap_err();
            assert!(error.to_string().contains("models.own"), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_window_comes_from_the_policy_then_the_table_then_the_fallback() {
        let text = "context_tokens = 64000\n[models.\"gpt-5\"]\nwindow_tokens = 9000\n\
                    [models.own-model]\nwindow_tokens = 32000\n";
        let policy = Policy::resolve(None, Some(text), &[]).unwrap();
        let window = |model| policy.window_tokens(Some(model));
        assert_eq!(window("gpt-5"), 9000);
        assert_eq!(window("openai/gpt-5"), 9000, "without its routing prefix");
        assert_eq!(window("own-model"), 32_000);
        assert_eq!(window("claude-opus-4-5"), 200_000, "by the table");
        assert_eq!(window("claude-opus-4-6"), 1_000_000, "by the table");
        assert_eq!(window("never-heard-of"), 64_000);
        assert_eq!(policy.window_tokens(None), 64_000);
        assert_eq!(
            Policy::default().window_tokens(Some("never-heard-of")),
            200_000
        );
    }

    #[test]
    fn a_models_entry_knows_its_keys() {
        let text = "[models.\"gpt-5\"]\nwindow = 9000\n";
        let error = Policy::resolve(None, Some(text), &[]).unwrap_err();
        assert!(error.to_string().contains("window_tokens"), "{error}");
    }
}
