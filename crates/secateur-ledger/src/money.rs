//! What *billed*, *saved*, *spent* and *net* mean. Every table, page, metric and export that uses one of these words takes
//! its figure from here; the glossary has the same definitions.

use serde::{Deserialize, Serialize};

use crate::query::Totals;
use crate::row::{ReceiptRow, Row};

/// Dollars at list prices, of one request or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Money {
    /// The provider's own counts of input and output tokens, at list prices.
    pub billed_usd: f64,
    /// What the same requests would have been billed unchanged, less what they were billed. Negative where a change cost
    /// more than it saved, for example because it broke the cache.
    pub saved_usd: f64,
    /// What Secateur's own calls cost: shadow calls of the canary and summaries.
    pub spent_usd: f64,
    /// Answers whose cost is unknown. They are in none of the sums.
    pub unpriced: u64,
}

impl Money {
    /// Of one request; `None`: its cost is unknown, or it has none.
    #[must_use]
    pub fn of_receipt(receipt: &ReceiptRow) -> Option<Self> {
        receipt.billed_usd.map(|billed_usd| Self {
            billed_usd,
            saved_usd: receipt.saved_usd.unwrap_or(0.0),
            ..Self::default()
        })
    }

    /// Saved, less everything that Secateur spent.
    #[must_use]
    pub fn net_usd(&self) -> f64 {
        self.saved_usd - self.spent_usd
    }

    /// What the requests would have been billed without Secateur.
    #[must_use]
    pub fn without_usd(&self) -> f64 {
        self.billed_usd + self.saved_usd
    }

    /// Net, as a share of what would have been billed without Secateur; `None` where that is nothing.
    #[must_use]
    pub fn net_share(&self) -> Option<f64> {
        let without = self.without_usd();
        (without > 0.0).then(|| self.net_usd() / without)
    }
}

impl std::ops::AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        self.billed_usd += other.billed_usd;
        self.saved_usd += other.saved_usd;
        self.spent_usd += other.spent_usd;
        self.unpriced += other.unpriced;
    }
}

impl Row {
    /// `None`: its cost is unknown, or it has none.
    #[must_use]
    pub fn money(&self) -> Option<Money> {
        Money::of_receipt(&self.receipt)
    }
}

impl Totals {
    /// The dollars of these requests.
    #[must_use]
    pub fn money(&self) -> Money {
        Money {
            billed_usd: self.billed_usd,
            saved_usd: self.saved_usd,
            spent_usd: self.spent_usd,
            unpriced: self.unpriced,
        }
    }

    /// Characters before compress (M3), divided by characters after it, of the requests that it changed: 1.07 means that
    /// it took 7 % off what remains. `None` where it changed none.
    #[must_use]
    pub fn compress_ratio(&self) -> Option<f64> {
        ratio(self.compress_chars_before, self.compress_chars_after)
    }
}

/// How many times larger `before` is than `after`; `None` where there is nothing to compare.
#[must_use]
pub fn ratio(before: u64, after: u64) -> Option<f64> {
    (before > 0 && after > 0).then(|| before as f64 / after as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn net_takes_off_what_was_spent_and_unknown_is_not_nothing() {
        let totals = Totals {
            billed_usd: 6.0,
            saved_usd: 4.0,
            spent_usd: 1.0,
            unpriced: 2,
            ..Totals::default()
        };
        let money = totals.money();
        assert_eq!((money.net_usd(), money.without_usd()), (3.0, 10.0));
        assert_eq!(money.net_share(), Some(0.3));
        assert_eq!(Money::default().net_share(), None);
        assert_eq!(Row::default().money(), None);
    }

    #[test]
    fn a_ratio_of_one_means_that_nothing_was_saved() {
        assert_eq!(ratio(107, 100), Some(1.07));
        assert_eq!(ratio(100, 100), Some(1.0));
        assert_eq!((ratio(0, 0), ratio(5, 0)), (None, None));
    }
}
