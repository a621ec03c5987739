//! What a change really saved, by the provider's own counts: the bill as it came against the bill that would
//! have come had nothing been changed. Each request stands for itself, so savings are counted once.
//!
//! The bill without the change has `before` tokens, at the ratio of the provider's count to the predicted one.
//! Of these, what the provider would have had in its cache costs the price of a cache read; the rest
//! costs what this request really paid for input that was not read from the cache. What would have been
//! in the cache ([`UncutCache`]) follows from the request itself: the body shows the turns that the request
//! before had, and the provider says what it read. What is remembered of the conversation only takes away from
//! that: an entry that expired or that the client's own change made useless would not have been read either.
//! So after a restart, or on another replica, less is claimed, never more.
//!
//! **Invariant:** in doubt the cache counts as warm, which is the worst case for a cut: no saving is claimed
//! that a broken cache may have consumed.

use secateur_core::cost::cache::{CacheKind, CacheRules};
use secateur_core::models::Prices;

/// What the provider's cache would have held of the request, had nothing ever been changed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum UncutCache {
    /// What was read of it. So with the first request of a conversation, with a cache that nobody asks for or
    /// that expired, with a change by the client before all cuts, and where our change leaves cached text alone.
    #[default]
    AsRead,
    /// The turns that the request before had.
    Earlier {
        /// Their tokens, as predicted.
        tokens: f64,
        /// How the model's cache works.
        rules: CacheRules,
    },
}

/// What was known before sending.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Predicted {
    /// Input tokens of the body as it came.
    pub tokens_before: f64,
    /// Input tokens of the body as sent.
    pub tokens_after: f64,
    /// Of the body as sent, input tokens before the first edit; all of them where nothing was edited.
    pub tokens_before_edit: f64,
    /// What a cache would have held of the body as it came.
    pub cache: UncutCache,
}

/// What the provider counted. `input` includes what was read from and written to the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Billed {
    /// All input tokens.
    pub input: u64,
    /// Of these, read from the cache.
    pub cache_read: u64,
    /// Of these, written to the cache.
    pub cache_write: u64,
}

/// What the input cost and would have cost; see the module.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reconciled {
    /// Input tokens that were not sent; negative where some were added.
    pub tokens_saved: i64,
    /// What the input cost.
    pub billed_input_usd: f64,
    /// What it would have cost unchanged.
    pub input_usd_without: f64,
    /// The difference; negative where the change cost more than it saved.
    pub saved_usd: f64,
}

/// Hits come in steps of at most this many tokens: a request that is read up to here was sent before.
const LARGEST_STEP: f64 = 128.0;

/// Reconciles one request: `paid` are the prices of the model that answered, `without` those of the model that
/// was asked for. A request of which nothing was predicted saved nothing.
#[must_use]
pub fn reconcile(
    predicted: &Predicted,
    billed: Billed,
    paid: &Prices,
    without: &Prices,
) -> Reconciled {
    let input = billed.input as f64;
    let read = (billed.cache_read as f64).min(input);
    let written = (billed.cache_write as f64).min(input - read);
    let outside = |prices: &Prices| {
        let plain = input - read - written;
        (plain * prices.input_usd + written * prices.cache_write_usd) / 1e6
    };
    let actual = outside(paid) + read * paid.cache_read_usd / 1e6;
    if predicted.tokens_after <= 0.0 || predicted.tokens_before <= 0.0 {
        return Reconciled {
            billed_input_usd: actual,
            input_usd_without: actual,
            ..Reconciled::default()
        };
    }
    // The provider counts in its own way; the ratio carries over.
    let ratio = input / predicted.tokens_after;
    let before = predicted.tokens_before * ratio;
    let before_edit = (predicted.tokens_before_edit * ratio).min(input);
    let sides = Sides {
        before,
        input,
        before_edit,
        read,
        cached: read + written,
    };
    let cached = match predicted.cache {
        UncutCache::AsRead => sides.as_read(),
        UncutCache::Earlier { tokens, rules } => sides.earlier(tokens * ratio, &rules),
    };
    let cached = cached.clamp(0.0, before.max(0.0));
    // What a token outside the cache cost here; a request that read all of it says nothing of that.
    let uncached = input - read;
    let uncached_usd = if uncached > 0.0 {
        outside(without) / uncached
    } else {
        without.input_usd / 1e6
    };
    let usd = cached * without.cache_read_usd / 1e6 + (before - cached) * uncached_usd;
    Reconciled {
        tokens_saved: (before - input).round() as i64,
        billed_input_usd: actual,
        input_usd_without: usd,
        saved_usd: usd - actual,
    }
}

/// A request as it came and as it was billed, in the provider's tokens.
struct Sides {
    before: f64,
    input: f64,
    before_edit: f64,
    read: f64,
    /// Read and written: what the request has in the cache now.
    cached: f64,
}

impl Sides {
    /// What was read, with its share of what was cut from it: behind the first edit cuts are taken to lie
    /// evenly.
    fn as_read(&self) -> f64 {
        let behind_edit = self.read - self.before_edit;
        if behind_edit <= 0.0 {
            return self.read;
        }
        let share = behind_edit / (self.input - self.before_edit);
        self.read + (self.before - self.input) * share
    }

    /// What the request before had. It may have had more than the body shows, if this is the same request
    /// again.
    fn earlier(&self, tokens: f64, rules: &CacheRules) -> f64 {
        if self.input - self.read <= LARGEST_STEP {
            return self.before;
        }
        let held = rules.readable(tokens.min(self.before) as usize) as f64;
        let up_to_edit = self.read.min(self.before_edit);
        held.max(up_to_edit).min(self.asked_for(rules))
    }

    /// The part of the request that goes through the cache at all. Where clients mark its end, what is
    /// behind that is never cached: a cut there saves plain input.
    fn asked_for(&self, rules: &CacheRules) -> f64 {
        let says = rules.kind == CacheKind::Marked && self.cached > 0.0;
        if !says {
            self.before
        } else if self.before_edit >= self.cached {
            self.cached
        } else {
            self.cached + (self.before - self.input).max(0.0)
        }
    }
}

#[cfg(test)]
mod tests;
