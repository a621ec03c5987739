//! What the tokens of a model cost.

use serde::Serialize;

use super::Entry;

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
}
