//! What a run cost.

use std::sync::{Mutex, PoisonError};

use secateur_ledger::Totals;
use secateur_proxy::audit::{AuditEvent, AuditSink};

use crate::audit::stats::usd;
use crate::table::{counted, green};

/// Adds up the requests of a proxy of our own.
#[derive(Debug, Default)]
pub(super) struct Sums(Mutex<Cost>);

impl AuditSink for Sums {
    fn record(&self, event: &AuditEvent) {
        // Lists of models and the like cost nothing.
        if event.dialect.is_none() {
            return;
        }
        let mut cost = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cost.requests += 1;
        cost.changed += u64::from(!event.stack.is_empty());
        cost.errors += u64::from(event.status >= 400);
        cost.unpriced += u64::from(event.status < 400 && event.receipt.billed_usd.is_none());
        cost.paid_usd += event.receipt.billed_usd.unwrap_or_default();
        cost.saved_usd += event.receipt.saved_usd.unwrap_or_default();
    }
}

impl Sums {
    pub(super) fn cost(&self) -> Cost {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Requests and dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cost {
    requests: u64,
    changed: u64,
    errors: u64,
    /// Answered, and without a price: the model or the provider's counts are not known.
    unpriced: u64,
    paid_usd: f64,
    saved_usd: f64,
}

impl From<&Totals> for Cost {
    fn from(totals: &Totals) -> Self {
        Self {
            requests: totals.requests,
            changed: totals.changed,
            errors: totals.errors,
            unpriced: totals.unpriced,
            paid_usd: totals.billed_usd,
            saved_usd: totals.saved_usd,
        }
    }
}

impl Cost {
    /// One or two lines for the end of a run; `look` says where there is more.
    pub(super) fn describe(&self, look: &str) -> String {
        if self.requests == 0 {
            return format!(
                "secateur: no request came through the proxy. If the agent did ask a model, it went another way: `secateur doctor` says how each agent is set up. {look}"
            );
        }
        let requests = counted(self.requests, "request");
        let mut words = format!("secateur: {requests}, {} changed", self.changed);
        if self.errors > 0 {
            words += &format!(", {} failed", self.errors);
        }
        if self.paid_usd > 0.0 {
            let without = self.paid_usd + self.saved_usd;
            words += &format!(
                ". Cost {} at list prices; unpruned it would have been {}",
                usd(self.paid_usd),
                usd(without)
            );
            let percent = self.saved_usd / without * 100.0;
            let saved = format!("{} ({percent:.0} %)", usd(self.saved_usd.abs()));
            if self.saved_usd < 0.0 {
                words += &format!(": {saved} more than without");
            } else {
                words += &format!(": {} saved", green(&saved));
            }
        }
        if self.unpriced > 0 {
            words += &format!(
                ". Without a known price: {}",
                counted(self.unpriced, "request")
            );
        }
        format!("{words}.\n{look}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_have_what_it_cost_and_would_have_cost() {
        let cost = Cost {
            requests: 12,
            changed: 4,
            paid_usd: 1.5,
            saved_usd: 0.5,
            ..Cost::default()
        };
        let words = anstream::adapter::strip_str(&cost.describe("Look.")).to_string();
        assert_eq!(
            words,
            "secateur: 12 requests, 4 changed. Cost $1.50 at list prices; unpruned it would have been $2.00: $0.5000 (25 %) saved.\nLook."
        );
        let none = Cost::default().describe("Look.");
        assert!(none.contains("no request came through"), "{none}");
        let failed = Cost {
            requests: 1,
            errors: 1,
            ..Cost::default()
        };
        assert_eq!(
            failed.describe("Look."),
            "secateur: 1 request, 0 changed, 1 failed.\nLook."
        );
    }
}
