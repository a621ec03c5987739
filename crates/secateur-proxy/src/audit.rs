//! One value per request: what came in, what was done to it, what came back. Holds no prompt text
//! and no credential.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use secateur_core::dialect::DialectId;
pub use secateur_core::mechanic::Mechanic;
use secateur_core::models::{self, Prices};
use secateur_core::receipt::{Cache, Counts, Receipt as Predicted};
use secateur_core::report::Report;

use crate::config::Provider;
use crate::reconcile::{self, Billed, InputPrices, Reconciled};
use crate::summary::SummaryOutcome;
use crate::usage::Usage;

/// What one link of the chain decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which link.
    pub mechanic: Mechanic,
    /// Why it did nothing; `None`: it fired.
    pub skipped: Option<Cow<'static, str>>,
}

/// Why the original went out although a mechanic was on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailOpen {
    /// The mechanics took longer than their budget.
    OverBudget,
    /// The mechanics panicked.
    Panicked,
    /// The engine gave up on the body.
    Engine,
    /// The body is compressed in a way that cannot be undone here.
    Encoding(&'static str),
    /// The body is signed by the client, so that it must not change.
    SignedBody,
}

impl FailOpen {
    /// Its name in logs and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OverBudget => "over-budget",
            Self::Panicked => "panicked",
            Self::Engine => "engine",
            Self::Encoding(reason) => reason,
            Self::SignedBody => "signed-body",
        }
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ended {
    /// The whole response went out.
    Complete,
    /// The proxy answered itself, for this reason.
    Refused(&'static str),
    /// The client went away first.
    ClientGone,
    /// The response broke off.
    UpstreamBroke,
    /// The response stood still for too long.
    UpstreamStalled,
}

impl Ended {
    /// Its name in logs and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Refused(reason) => reason,
            Self::ClientGone => "client-gone",
            Self::UpstreamBroke => "upstream-broke",
            Self::UpstreamStalled => "upstream-stalled",
        }
    }
}

/// What a request cost, in US dollars at list prices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Receipt {
    /// Before it was sent: tokens and costs of its input with the cut and without. `None` where the body
    /// was not looked at, or the original went out after all. Tokens are an estimate by characters: exact
    /// counts would cost the request time.
    pub predicted: Option<Predicted>,
    /// By the provider's own counts.
    pub actual_usd: Option<f64>,
    /// The input tokens that were not sent, at this request's own ratio of tokens to characters.
    pub tokens_saved: Option<u64>,
    /// The input alone, by the provider's own counts.
    pub actual_input_usd: Option<f64>,
    /// What the cut saved by these counts, net of the cache that it broke; negative where it cost more.
    pub saved_usd: Option<f64>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct AuditEvent {
    /// The request's id, as in `x-secateur-request-id`.
    pub id: String,
    /// When it came in.
    pub at: SystemTime,
    /// The workload.
    pub workload: Arc<str>,
    /// The client key's name.
    pub key: Option<Arc<str>>,
    /// A stable hash of what identifies the conversation, where its body was looked at.
    pub session: Option<String>,
    /// Whether its session goes unchanged for comparison.
    pub held_out: bool,
    /// Input tokens that the provider may still have had in its cache had nothing ever been cut: those of
    /// the session's last request. `None`: nothing is known of it.
    pub warm_tokens: Option<u64>,
    /// Whose API.
    pub provider: Provider,
    /// The wire format; `None` for paths that are only passed through.
    pub dialect: Option<DialectId>,
    /// The model that was asked for, where it was looked at, else the one that answered.
    pub model: Option<String>,
    /// The model that M1 chose instead.
    pub routed_to: Option<String>,
    /// The mechanics that fired, sorted.
    pub stack: Vec<&'static str>,
    /// The chain, link by link.
    pub steps: Vec<Step>,
    /// What the engine did.
    pub report: Option<Arc<Report>>,
    /// Why the original went out although a mechanic was on.
    pub failed_open: Option<FailOpen>,
    /// Whether the provider rejected the mutated body and the original was sent: a strike against
    /// `struck_stack`.
    pub retried_original: bool,
    /// The stack that was rejected.
    pub struck_stack: Vec<&'static str>,
    /// What became of the summary that it wanted, where one was missing.
    pub summary: Option<SummaryOutcome>,
    /// Whether `x-secateur-bypass` was set.
    pub bypassed: bool,
    /// The workload that it named and that the configuration does not have, so that it went the default way; empty where
    /// that is not written like the name of one.
    pub unknown_workload: Option<String>,
    /// Bytes of the body that came in.
    pub bytes_before: u64,
    /// Bytes of the body that went out.
    pub bytes_after: u64,
    /// Characters of the body that came in, where it was counted.
    pub chars_before: Option<u64>,
    /// Characters of the body that went out, where it was counted.
    pub chars_after: Option<u64>,
    /// The upstream's status; `None`: there was no response.
    pub upstream_status: Option<u16>,
    /// The status that the client got.
    pub status: u16,
    /// Whether the response was a stream of events.
    pub is_stream: bool,
    /// Bytes of the response.
    pub response_bytes: u64,
    /// Time spent in the proxy before the request went out, without waiting for the client.
    pub added: Duration,
    /// From sending the request to the response's head.
    pub upstream_head: Option<Duration>,
    /// From the first byte in to the last byte out.
    pub total: Duration,
    /// What the provider counted.
    pub usage: Option<Usage>,
    /// What it cost.
    pub receipt: Receipt,
    /// How it ended.
    pub ended: Ended,
    /// The caller's trace, from `traceparent`: trace id and parent span.
    pub trace: Option<(String, String)>,
}

impl AuditEvent {
    /// An event for a request that just came in.
    #[must_use]
    pub fn new(
        id: String,
        workload: Arc<str>,
        provider: Provider,
        dialect: Option<DialectId>,
    ) -> Self {
        Self::at(SystemTime::now(), id, workload, provider, dialect)
    }

    /// An event for a request that came in at a moment.
    pub(crate) fn at(
        at: SystemTime,
        id: String,
        workload: Arc<str>,
        provider: Provider,
        dialect: Option<DialectId>,
    ) -> Self {
        Self {
            id,
            at,
            workload,
            key: None,
            session: None,
            held_out: false,
            warm_tokens: None,
            provider,
            dialect,
            model: None,
            routed_to: None,
            stack: Vec::new(),
            steps: Vec::new(),
            report: None,
            failed_open: None,
            retried_original: false,
            struck_stack: Vec::new(),
            summary: None,
            bypassed: false,
            unknown_workload: None,
            bytes_before: 0,
            bytes_after: 0,
            chars_before: None,
            chars_after: None,
            upstream_status: None,
            status: 0,
            is_stream: false,
            response_bytes: 0,
            added: Duration::ZERO,
            upstream_head: None,
            total: Duration::ZERO,
            usage: None,
            receipt: Receipt::default(),
            ended: Ended::ClientGone,
            trace: None,
        }
    }

    /// Whether a mechanic fired.
    #[must_use]
    pub fn fired(&self, mechanic: Mechanic) -> bool {
        self.stack.contains(&mechanic.name())
    }

    /// The stack as one word.
    #[must_use]
    pub fn stack_name(&self) -> String {
        if self.stack.is_empty() {
            "none".to_owned()
        } else {
            self.stack.join("+")
        }
    }

    /// Fills in the receipt from sizes, prices and counts.
    pub(crate) fn settle(&mut self) {
        let usage = self.usage.as_ref();
        if self.model.is_none() {
            self.model = usage.and_then(|usage| usage.model.clone());
        }
        let billed = self.routed_to.as_deref().or(self.model.as_deref());
        let report = self.report.as_deref();
        let went_out = self.failed_open.is_none() && !self.retried_original;
        self.receipt.predicted = report
            .filter(|report| went_out && report.before.chars > 0)
            .map(|report| {
                let counts = Counts::by_ratio(report, models::chars_per_token(billed));
                Predicted::of(report, &counts, Cache::of(report))
            });
        // The workload's policy may have prices of its own for the model that was asked for.
        let prices = report
            .filter(|_| self.routed_to.is_none())
            .and_then(|report| report.terms.prices)
            .or_else(|| models::prices(billed));
        let Some(usage) = usage else {
            return;
        };
        let Some(input) = usage.input_tokens else {
            return;
        };
        if let (Some(before), Some(after)) = (self.chars_before, self.chars_after)
            && after > 0
        {
            let saved = before.saturating_sub(after) as f64 * input as f64 / after as f64;
            self.receipt.tokens_saved = Some(saved as u64);
        }
        if let Some(prices) = prices {
            let read = usage.cache_read_tokens.unwrap_or(0);
            let written = usage.cache_write_tokens.unwrap_or(0);
            self.receipt.actual_usd = usage.usd(&prices);
            let reconciled = self.reconciled(input, read, written, &prices);
            self.receipt.actual_input_usd = Some(reconciled.actual_input_usd);
            self.receipt.saved_usd = Some(reconciled.saved_usd);
        }
    }
}

impl AuditEvent {
    /// The bill as it came against the bill without the cut.
    fn reconciled(&self, input: u64, read: u64, written: u64, prices: &Prices) -> Reconciled {
        let changed = self
            .receipt
            .predicted
            .as_ref()
            .filter(|_| !self.stack.is_empty());
        let known = changed.map_or_else(reconcile::Predicted::default, |predicted| {
            let after = predicted.predicted_input_tokens_after as f64;
            let first_edit_at = predicted.first_edit_at.map(|at| at as u64);
            reconcile::Predicted {
                tokens_before: predicted.predicted_input_tokens_before as f64,
                tokens_after: after,
                tokens_before_edit: reconcile::Predicted::tokens_up_to(
                    after,
                    first_edit_at,
                    self.bytes_after,
                ),
                warm_tokens: self.warm_tokens,
            }
        });
        let billed = Billed {
            input,
            cache_read: read,
            cache_write: written,
        };
        let prices = InputPrices {
            input_usd: prices.input_usd,
            cache_read_usd: prices.cache_read_usd,
            cache_write_usd: prices.cache_write_usd,
        };
        reconcile::reconcile(&known, billed, &prices)
    }
}

/// Takes one event per request. Must not block: it is called on the request's own task.
pub trait AuditSink: Send + Sync + std::fmt::Debug {
    /// Takes an event.
    fn record(&self, event: &AuditEvent);
}

/// Hands every event to both.
#[derive(Clone, Debug)]
pub struct Both(pub Arc<dyn AuditSink>, pub Arc<dyn AuditSink>);

impl AuditSink for Both {
    fn record(&self, event: &AuditEvent) {
        self.0.record(event);
        self.1.record(event);
    }
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSink;

impl AuditSink for NoSink {
    fn record(&self, _: &AuditEvent) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_bills_each_kind_of_token_at_its_own_price() {
        let mut event = AuditEvent::new("r".into(), "w".into(), Provider::Anthropic, None);
        event.model = Some("claude-haiku-4-5".into());
        (event.chars_before, event.chars_after) = (Some(3_000_000), Some(1_500_000));
        event.usage = Some(Usage {
            input_tokens: Some(1_000_000),
            cache_read_tokens: Some(500_000),
            cache_write_tokens: Some(400_000),
            output_tokens: Some(10_000),
            ..Usage::default()
        });
        event.settle();
        // 0.1 M at 1.00, 0.5 M at 0.10, 0.4 M at 1.25, 0.01 M at 5.00.
        let usd = event.receipt.actual_usd.unwrap();
        assert!((usd - (0.1 + 0.05 + 0.5 + 0.05)).abs() < 1e-9, "{usd}");
        assert_eq!(event.receipt.tokens_saved, Some(1_000_000));
    }

    /// A long chat, pruned by a preset that drops its middle.
    fn pruned(settings: &[String]) -> Report {
        use secateur_core::{Request, policy::Policy, prune};
        let turn = |n: usize| {
            let role = if n.is_multiple_of(2) {
                "user"
            } else {
                "assistant"
            };
            serde_json::json!({ "role": role, "content": format!("turn {n} ").repeat(400) })
        };
        let messages: Vec<_> = (0..41).map(turn).collect();
        let body = serde_json::json!({ "model": "claude-haiku-4-5", "messages": messages });
        let policy = Policy::resolve(Some("tessera"), None, settings).unwrap();
        prune(body.to_string().as_bytes(), &Request::default(), &policy).report
    }

    #[test]
    fn a_receipt_predicts_the_cost_with_the_cut_and_without() {
        let mut event = AuditEvent::new("r".into(), "w".into(), Provider::Anthropic, None);
        event.report = Some(Arc::new(pruned(&[])));
        event.settle();
        let predicted = event.receipt.predicted.unwrap();
        assert!(
            predicted.predicted_input_tokens_after < predicted.predicted_input_tokens_before / 2
        );
        assert!(predicted.predicted_usd_with.unwrap() > 0.0);
        assert!(predicted.break_even_turns.unwrap() > 0.0);
        assert!(predicted.first_edit_at.is_some());
        event.retried_original = true;
        event.settle();
        assert_eq!(event.receipt.predicted, None, "the original went out");
    }

    #[test]
    fn the_policys_prices_count_on_both_sides_of_a_receipt() {
        let settings = ["models.claude-haiku-4-5.input_usd=10".to_owned()];
        let mut event = AuditEvent::new("r".into(), "w".into(), Provider::Anthropic, None);
        event.report = Some(Arc::new(pruned(&settings)));
        event.usage = Some(Usage {
            input_tokens: Some(1_000_000),
            ..Usage::default()
        });
        event.settle();
        assert!((event.receipt.actual_usd.unwrap() - 10.0).abs() < 1e-9);
        let predicted = event.receipt.predicted.unwrap();
        assert_eq!(predicted.prices, secateur_core::models::PriceSource::Policy);
    }
}
