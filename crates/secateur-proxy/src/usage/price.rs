//! What a provider's counts come to in money.

use secateur_core::models::Prices;

use super::Usage;

impl Usage {
    /// US dollars, each kind of token at its own price; `None` where the input was not counted.
    pub(crate) fn usd(&self, prices: &Prices) -> Option<f64> {
        let input = self.input_tokens?;
        let read = self.cache_read_tokens.unwrap_or(0);
        let written = self.cache_write_tokens.unwrap_or(0);
        let kinds = [
            (
                input.saturating_sub(read.saturating_add(written)),
                prices.input_usd,
            ),
            (read, prices.cache_read_usd),
            (written, prices.cache_write_usd),
            (self.output_tokens.unwrap_or(0), prices.output_usd),
        ];
        let of_kind = |(tokens, usd_per_million): (u64, f64)| tokens as f64 * usd_per_million / 1e6;
        Some(kinds.map(of_kind).iter().sum())
    }
}
