//! What was done under one policy, counted from all threads.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use secateur_core::internal::edit::SkipReason;
use secateur_core::models;
use secateur_core::receipt::{Cache, Counts, Receipt};
use secateur_core::report::{Report, Verdict};
use serde_json::{Value, json};

/// Counts of one unit of work.
#[derive(Default)]
pub(super) struct Tally(Mutex<Counted>);

#[derive(Clone, Default)]
pub(super) struct Counted {
    pub(super) pruned: usize,
    pub(super) unchanged: usize,
    pub(super) failed_open: usize,
    /// Places that were left alone, by strategy (`engine` for none) and reason.
    pub(super) skips: BTreeMap<(&'static str, SkipReason), usize>,
    receipts: Receipts,
}

/// Predicted receipts in sum.
#[derive(Clone, Copy, Default)]
struct Receipts {
    requests: usize,
    tokens_before: usize,
    tokens_after: usize,
    cached_before: usize,
    cached_after: usize,
    usd_without: Option<f64>,
    usd_with: Option<f64>,
}

impl Tally {
    pub(super) fn count(&self, report: &Report, model: Option<&str>) {
        let tokens = Counts::by_ratio(report, models::chars_per_token(model));
        let receipt = Receipt::of(report, &tokens, Cache::of(report));
        let mut counted = self.lock();
        match report.verdict {
            Verdict::Pruned => counted.pruned += 1,
            Verdict::Unchanged | Verdict::Marked => counted.unchanged += 1,
            _ => counted.failed_open += 1,
        }
        for left in &report.left {
            let strategy = left.strategy.map_or("engine", |strategy| strategy.0);
            *counted.skips.entry((strategy, left.reason)).or_default() += 1;
        }
        counted.receipts.add(&receipt);
    }

    pub(super) fn get(&self) -> Counted {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counted {
    /// Adds the counts of another unit. Units are added in their order, so that sums are the same on any
    /// number of threads.
    pub(super) fn add(&mut self, other: &Self) {
        self.pruned += other.pruned;
        self.unchanged += other.unchanged;
        self.failed_open += other.failed_open;
        for (&key, &count) in &other.skips {
            *self.skips.entry(key).or_default() += count;
        }
        self.receipts.add_all(&other.receipts);
    }

    /// All places that were left alone.
    pub(super) fn skipped(&self) -> usize {
        self.skips.values().sum()
    }

    pub(super) fn skips_json(&self) -> Value {
        let row = |(&(strategy, reason), &count): (&(&str, SkipReason), &usize)| json!({ "strategy": strategy, "reason": reason, "count": count });
        self.skips.iter().map(row).collect()
    }

    /// The receipts in sum; messages alone, since sessions are recorded without their fixed prompt.
    pub(super) fn receipts_json(&self) -> Value {
        let sum = &self.receipts;
        json!({
            "requests": sum.requests,
            "basis": "estimate",
            "predicted_input_tokens_before": sum.tokens_before,
            "predicted_input_tokens_after": sum.tokens_after,
            "predicted_cached_tokens_before": sum.cached_before,
            "predicted_cached_tokens_after": sum.cached_after,
            "predicted_usd_without": sum.usd_without,
            "predicted_usd_with": sum.usd_with,
            "price_date": models::TABLE_DATE,
        })
    }
}

impl Receipts {
    fn add_all(&mut self, other: &Self) {
        self.requests += other.requests;
        self.tokens_before += other.tokens_before;
        self.tokens_after += other.tokens_after;
        self.cached_before += other.cached_before;
        self.cached_after += other.cached_after;
        let add = |sum: Option<f64>, usd: Option<f64>| match (sum, usd) {
            (Some(sum), Some(usd)) => Some(sum + usd),
            (sum, usd) => sum.or(usd),
        };
        self.usd_without = add(self.usd_without, other.usd_without);
        self.usd_with = add(self.usd_with, other.usd_with);
    }

    fn add(&mut self, receipt: &Receipt) {
        self.requests += 1;
        self.tokens_before += receipt.predicted_input_tokens_before;
        self.tokens_after += receipt.predicted_input_tokens_after;
        self.cached_before += receipt.predicted_cached_tokens_before;
        self.cached_after += receipt.predicted_cached_tokens_after;
        // A request without a price does not undo the sum of those before.
        let add = |sum: Option<f64>, usd: Option<f64>| match usd {
            Some(usd) => Some(sum.unwrap_or(0.0) + usd),
            None => sum,
        };
        self.usd_without = add(self.usd_without, receipt.predicted_usd_without);
        self.usd_with = add(self.usd_with, receipt.predicted_usd_with);
    }
}
