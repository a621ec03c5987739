//! What tokens cost: list prices, and what a policy says over them.

use serde::Serialize;

use super::{Entry, TABLE_DATE};
use crate::cost::cache::{CachePrices, CacheRules};
use crate::read::dialect::Dialect;

/// What the tokens of a model cost, in US dollars per million.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prices {
    /// Input that is neither written to a cache nor read from one.
    pub input_usd: f64,
    /// Input that is written to the cache.
    pub cache_write_usd: f64,
    /// Input that is read from the cache.
    pub cache_read_usd: f64,
    /// Output.
    pub output_usd: f64,
}

impl Prices {
    /// The list prices of a model. Without a price of its own, a cached token costs what input costs.
    #[must_use]
    pub fn of(entry: &Entry) -> Self {
        Self {
            input_usd: entry.input_usd,
            cache_write_usd: entry.cache_write_usd.unwrap_or(entry.input_usd),
            cache_read_usd: entry.cache_read_usd.unwrap_or(entry.input_usd),
            output_usd: entry.output_usd,
        }
    }

    /// Cached tokens in the price of input; `None` where input is free.
    #[must_use]
    pub fn cache(&self) -> Option<CachePrices> {
        (self.input_usd > 0.0).then(|| CachePrices {
            write: self.cache_write_usd / self.input_usd,
            read: self.cache_read_usd / self.input_usd,
        })
    }
}

/// Where prices come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriceSource {
    /// The built-in table.
    Table,
    /// The policy, at least in part.
    Policy,
    /// No price is known: costs are reckoned in tokens alone.
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
    /// The built-in table's terms for a model. Where the model is not named, the wire format tells whose it is.
    #[must_use]
    pub fn of(model: Option<&str>, dialect: Option<Dialect>) -> Self {
        let entry = model.and_then(super::find);
        let rules = entry.map_or_else(|| CacheRules::guess(model, dialect), CacheRules::of);
        let prices = entry.map(Prices::of);
        Self {
            prices,
            cache: prices
                .and_then(|prices| prices.cache())
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
