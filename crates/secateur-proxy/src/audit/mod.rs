//! One value per request: what came in, what was done to it, what came back. Holds no prompt text
//! and no credential.

mod cache_read;
mod miss;
mod recalled;
pub mod reconcile;
mod settle;
mod summary_outcome;
mod untouched;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use secateur_core::Dialect;
use secateur_core::cost::Terms;
use secateur_core::internal::edit::SkipReason;
pub use secateur_core::mechanic::Mechanic;
use secateur_core::receipt::Receipt as Predicted;
use secateur_core::report::Report;
use secateur_ledger::{Money, Spending};

pub use self::cache_read::{CacheRead, ChangedPlace, MissCause};
pub use self::recalled::{ClientChange, Recalled};
pub use self::summary_outcome::SummaryOutcome;
pub use self::untouched::{Untouched, UntouchedCount, UntouchedRequests};
use crate::config::Provider;
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

/// What the chain's run over a body took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainTime {
    /// Waiting for a slot.
    pub waited: Duration,
    /// Decoding the body and running the mechanics.
    pub ran: Duration,
    /// How long each of the two may take for this body.
    pub budget: Duration,
    /// Bytes of the body, as far as it was decoded.
    pub body_bytes: usize,
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
    /// The proxy stopped before it was over.
    CutOff,
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
            Self::CutOff => "cut-off",
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
    /// What was read from the cache and by which rule, or why not. `None` where nothing was predicted or the
    /// provider counts no reads.
    pub cache_read: Option<CacheRead>,
    /// By the provider's own counts.
    pub billed_usd: Option<f64>,
    /// The input tokens that were not sent, at this request's own ratio of tokens to characters; negative
    /// where some were added.
    pub tokens_saved: Option<i64>,
    /// The input alone, by the provider's own counts.
    pub billed_input_usd: Option<f64>,
    /// What the change saved by these counts, net of the cache that it broke; negative where it cost more.
    /// Where another model answered: what the same tokens, output included, would have cost with the one that
    /// was asked for, less what they did.
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
    /// What this process remembers of the conversation.
    pub recalled: Recalled,
    /// Whose API.
    pub provider: Provider,
    /// The wire format; `None` for paths that are only passed through.
    pub dialect: Option<Dialect>,
    /// The model that was asked for, where it was looked at, else the one that answered.
    pub model: Option<String>,
    /// The model that M1 chose instead.
    pub routed_to: Option<String>,
    /// On what terms, where the policy or the table knows.
    pub routed_terms: Option<Terms>,
    /// The mechanics that fired, sorted.
    pub stack: Vec<&'static str>,
    /// The chain, link by link.
    pub steps: Vec<Step>,
    /// What the engine did.
    pub report: Option<Arc<Report>>,
    /// Why the original went out although a mechanic was on.
    pub failed_open: Option<FailOpen>,
    /// What the chain took, where it ran.
    pub chain_time: Option<ChainTime>,
    /// Whether the provider rejected the mutated body and the original was sent: a strike against
    /// `struck_stack`.
    pub retried_original: bool,
    /// The stack that was rejected.
    pub struck_stack: Vec<&'static str>,
    /// What became of the summary that it wanted, where one was missing.
    pub summary: Option<SummaryOutcome>,
    /// Whether `x-secateur-bypass` was set.
    pub bypassed: bool,
    /// Why it passed untouched, where its address is the reason.
    pub untouched: Option<Untouched>,
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
    /// Why there was no response, with the upstream's host; no text of the request or the response.
    pub upstream_error: Option<String>,
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
    /// From sending the request to the response's last byte.
    pub upstream_total: Option<Duration>,
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
        dialect: Option<Dialect>,
    ) -> Self {
        Self {
            id,
            at: SystemTime::now(),
            workload,
            key: None,
            session: None,
            held_out: false,
            recalled: Recalled::default(),
            provider,
            dialect,
            model: None,
            routed_to: None,
            routed_terms: None,
            stack: Vec::new(),
            steps: Vec::new(),
            report: None,
            failed_open: None,
            chain_time: None,
            retried_original: false,
            struck_stack: Vec::new(),
            summary: None,
            bypassed: false,
            untouched: None,
            bytes_before: 0,
            bytes_after: 0,
            chars_before: None,
            chars_after: None,
            upstream_status: None,
            upstream_error: None,
            status: 0,
            is_stream: false,
            response_bytes: 0,
            added: Duration::ZERO,
            upstream_head: None,
            upstream_total: None,
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

    /// Its dollars; `None`: its cost is unknown, or it has none.
    #[must_use]
    pub fn money(&self) -> Option<Money> {
        self.receipt.billed_usd.map(|billed_usd| Money {
            billed_usd,
            saved_usd: self.receipt.saved_usd.unwrap_or(0.0),
            ..Money::default()
        })
    }

    /// Whether a model answered and the cost is unknown.
    #[must_use]
    pub fn is_unpriced(&self) -> bool {
        let is_answered = self.dialect.is_some() && (1..400).contains(&self.status);
        is_answered && self.receipt.billed_usd.is_none()
    }

    /// The stack as one word.
    #[must_use]
    pub fn stack_name(&self) -> String {
        stack_name(&self.stack)
    }
}

/// A stack as one word.
pub(crate) fn stack_name(stack: &[&'static str]) -> String {
    if stack.is_empty() {
        "none".to_owned()
    } else {
        stack.join("+")
    }
}

/// Takes one event per request. Must not block: it is called on the request's own task.
pub trait AuditSink: Send + Sync + std::fmt::Debug {
    /// Takes an event.
    fn record(&self, event: &AuditEvent);

    /// Takes what a call of the proxy itself cost.
    fn record_spending(&self, spending: Spending);
}

/// Hands every event to both.
#[derive(Clone, Debug)]
pub struct Both(pub Arc<dyn AuditSink>, pub Arc<dyn AuditSink>);

impl AuditSink for Both {
    fn record(&self, event: &AuditEvent) {
        self.0.record(event);
        self.1.record(event);
    }

    fn record_spending(&self, spending: Spending) {
        self.0.record_spending(spending.clone());
        self.1.record_spending(spending);
    }
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSink;

impl AuditSink for NoSink {
    fn record(&self, _: &AuditEvent) {}

    fn record_spending(&self, _: Spending) {}
}

/// A reason's name, as reports spell it.
pub(crate) fn reason_name(reason: SkipReason) -> String {
    match serde_json::to_value(reason) {
        Ok(serde_json::Value::String(name)) => name,
        _ => "unnamed".to_owned(),
    }
}
