//! What a run cost.

use std::sync::{Mutex, PoisonError};

use secateur_ledger::{Money, Spending, Totals};
use secateur_proxy::audit::{AuditEvent, AuditSink};

use crate::table::{counted, green, usd};

/// Adds up the requests of the proxy that this run started.
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
        cost.money.unpriced += u64::from(event.is_unpriced());
        cost.money += event.money().unwrap_or_default();
    }

    fn record_spending(&self, spending: Spending) {
        let mut cost = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cost.money.spent_usd += spending.usd.unwrap_or(0.0);
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
    money: Money,
}

impl From<&Totals> for Cost {
    fn from(totals: &Totals) -> Self {
        Self {
            requests: totals.requests,
            changed: totals.changed,
            errors: totals.errors,
            money: totals.money(),
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
        if let Some(share) = self.money.net_share() {
            let (net, percent) = (self.money.net_usd(), share.abs() * 100.0);
            words += &format!(
                ". Billed {} at list prices; without Secateur it would have been {}",
                usd(self.money.billed_usd),
                usd(self.money.without_usd())
            );
            if self.money.spent_usd > 0.0 {
                words += &format!("; Secateur's own calls cost {}", usd(self.money.spent_usd));
            }
            let saved = format!("{} ({percent:.0} %)", usd(net.abs()));
            if net < 0.0 {
                words += &format!(": {saved} more than without");
            } else {
                words += &format!(": {} saved", green(&saved));
            }
        }
        if self.money.unpriced > 0 {
            words += &format!(
                ". Without a known price: {}",
                counted(self.money.unpriced, "request")
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
            money: Money {
                billed_usd: 1.5,
                saved_usd: 0.5,
                ..Money::default()
            },
            ..Cost::default()
        };
        let words = anstream::adapter::strip_str(&cost.describe("Look.")).to_string();
        assert_eq!(
            words,
            "secateur: 12 requests, 4 changed. Billed $1.50 at list prices; without Secateur it would have been $2.00: $0.5000 (25 %) saved.\nLook."
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
