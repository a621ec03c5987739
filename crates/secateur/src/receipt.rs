//! The receipt of a request: tokens counted with the model's vocabulary, costs at cache tiers.

use secateur_core::Outcome;
use secateur_core::cost::PriceSource;
use secateur_core::dialect::{self, Dialect};
use secateur_core::receipt::{Basis, Cache, Counts, Receipt};
use secateur_tokens::{Basis as CountedBy, Counter};

use crate::args::{CacheArg, InputArgs};
use crate::table::{table, thousands};

/// A receipt, and what its tokens were counted with.
#[derive(Debug)]
pub(crate) struct Bill {
    pub(crate) receipt: Receipt,
    /// For people; an estimate says so.
    pub(crate) counter: String,
}

/// The counter for a model; without a name, the dialect says whose it is.
pub(crate) fn counter(model: Option<&str>, dialect: Dialect) -> Counter {
    let fallback = match dialect {
        Dialect::AnthropicMessages => Some("claude"),
        Dialect::GeminiGenerateContent => Some("gemini"),
        _ => None,
    };
    Counter::for_model(model.or(fallback))
}

impl Bill {
    /// `None` where the body could not be read.
    pub(crate) fn of(
        body: &[u8],
        outcome: &Outcome<'_>,
        input: &InputArgs,
        cache: CacheArg,
    ) -> Option<Self> {
        let report = &outcome.report;
        let dialect = report.dialect?;
        let limits = input.request().limits;
        let before = dialect::read(body, dialect, &limits).ok()?;
        let after = if outcome.body.as_ref() == body {
            None
        } else {
            Some(dialect::read(&outcome.body, dialect, &limits).ok()?)
        };
        let counter = counter(input.model.as_deref().or(report.model.as_deref()), dialect);
        let basis = match counter.basis() {
            CountedBy::Exact => Basis::Exact,
            CountedBy::Estimate => Basis::Estimate,
        };
        let counts = Counts::of(&before, after.as_ref(), &report.cached, basis, |texts| {
            counter.count_all(texts)
        });
        let cache = match cache {
            CacheArg::Warm => Cache::of(report),
            CacheArg::Cold => Cache::Cold,
        };
        Some(Self {
            receipt: Receipt::of(report, &counts, cache),
            counter: counter.name(),
        })
    }

    pub(crate) fn tokens_json(&self) -> serde_json::Value {
        serde_json::json!({
            "before": self.receipt.predicted_input_tokens_before,
            "after": self.receipt.predicted_input_tokens_after,
            "counter": self.counter,
            "estimate": self.receipt.basis == Basis::Estimate,
        })
    }

    /// Two rows: without the cut and with it.
    pub(crate) fn table(&self) -> String {
        let receipt = &self.receipt;
        let mut rows = table(&[
            "receipt",
            "input tokens",
            "from the cache",
            "this request",
            "each next request",
        ]);
        let mut row = |name: &str, tokens, cached, this, next| {
            rows.add_row([
                name.to_owned(),
                thousands(tokens),
                thousands(cached),
                usd(this),
                usd(next),
            ]);
        };
        row(
            "without the cut",
            receipt.predicted_input_tokens_before,
            receipt.predicted_cached_tokens_before,
            receipt.predicted_usd_without,
            receipt.predicted_next_usd_without,
        );
        row(
            "with it",
            receipt.predicted_input_tokens_after,
            receipt.predicted_cached_tokens_after,
            receipt.predicted_usd_with,
            receipt.predicted_next_usd_with,
        );
        format!("{rows}\n{}", self.footnote())
    }

    fn footnote(&self) -> String {
        let receipt = &self.receipt;
        let pays = match receipt.break_even_turns {
            None if receipt.first_edit_at.is_none() => "nothing is cut".to_owned(),
            None => "it does not pay by tokens".to_owned(),
            Some(turns) if turns <= 0.0 => "pays at once".to_owned(),
            Some(turns) => format!("pays after {turns:.1} further requests"),
        };
        let cache = match receipt.cache {
            Cache::Warm => format!("warm cache: {}", receipt.hit.describe()),
            Cache::Cold => "cold cache".to_owned(),
            Cache::Unused => receipt.hit.describe(),
        };
        let prices = match receipt.prices {
            PriceSource::Table => format!("list prices of {}", receipt.price_date),
            PriceSource::Policy => {
                format!("the policy's prices over those of {}", receipt.price_date)
            }
            PriceSource::Unknown => "no price known for the model".to_owned(),
        };
        format!("{pays}; {cache}, {prices}, tokens by {}", self.counter)
    }
}

fn usd(amount: Option<f64>) -> String {
    amount.map_or_else(|| "–".to_owned(), |usd| format!("${usd:.4}"))
}
