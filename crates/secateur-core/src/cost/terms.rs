//! On what terms a model takes input: its prices together with the rules of its cache.

use serde::Serialize;

use super::cache::{CachePrices, CacheRules};
use super::models::{self, Prices, TABLE_DATE};
use crate::read::dialect::Dialect;

/// Where prices come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriceSource {
    /// The built-in table.
    Table,
    /// The policy, at least in part.
    Policy,
    /// No price is known: costs are in tokens alone.
    #[default]
    Unknown,
}

/// On what terms a model takes input: prices, how its cache works, and where that was found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Terms {
    /// Prices, where known.
    pub prices: Option<Prices>,
    /// Cached tokens in the price of input: the model's own, else those of its kind.
    pub cache: CachePrices,
    /// How its cache works.
    pub rules: CacheRules,
    /// Where the prices come from.
    pub source: PriceSource,
    /// The date of the built-in table.
    pub table_date: &'static str,
}

impl Terms {
    /// The built-in table's terms for a model. Where the model is not named, the wire format says whose it is.
    #[must_use]
    pub fn of(model: Option<&str>, dialect: Option<Dialect>) -> Self {
        let entry = model.and_then(models::find);
        let rules = entry.map_or_else(|| CacheRules::guess(model, dialect), CacheRules::of);
        let prices = entry.map(Prices::of);
        Self {
            prices,
            cache: prices
                .and_then(|prices| CachePrices::of(&prices))
                .unwrap_or_else(|| rules.usual_prices()),
            rules,
            source: if prices.is_some() {
                PriceSource::Table
            } else {
                PriceSource::Unknown
            },
            table_date: TABLE_DATE,
        }
    }

    /// Takes over what cached tokens cost at the lifetime that a client asks for.
    pub(crate) fn set_cache_prices(&mut self, cache: CachePrices) {
        self.cache = cache;
        if let Some(prices) = &mut self.prices {
            prices.cache_write_usd = prices.input_usd * cache.write;
        }
    }
}
