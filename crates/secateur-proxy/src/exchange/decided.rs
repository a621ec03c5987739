//! What is sent in the place of a request's body, and why.

use std::sync::Arc;
use std::time::Duration;

use secateur_canary::Sampled;
use secateur_core::cost::Terms;
use secateur_core::report::Report;

use crate::audit::{ChainTime, FailOpen, Step, SummaryOutcome};
use crate::conversations::PendingBlocks;
use crate::wire::request_body::Fate;

/// The bytes of a request's body.
pub(crate) enum BodySize {
    /// It is passed on while it arrives.
    Streamed(Arc<Fate>),
    /// It was read whole.
    Read {
        /// As it arrived.
        before: u64,
        /// As it is sent.
        after: u64,
    },
}

/// What is sent in the place of a request's body, and why.
pub(crate) struct Decided {
    pub(crate) body: BodySize,
    /// Time spent in the proxy until now, without waiting for the client.
    pub(crate) added: Duration,
    /// The model that was asked for, where the body was read.
    pub(crate) model: Option<String>,
    /// The conversation's key.
    pub(crate) session: Option<String>,
    pub(crate) is_held_out: bool,
    /// The model that M1 chose, and its terms.
    pub(crate) routed_to: Option<String>,
    pub(crate) routed_terms: Option<Terms>,
    /// The mechanics that fired, sorted.
    pub(crate) stack: Vec<&'static str>,
    pub(crate) steps: Vec<Step>,
    pub(crate) report: Option<Arc<Report>>,
    pub(crate) failed_open: Option<FailOpen>,
    pub(crate) chain_time: Option<ChainTime>,
    pub(crate) summary: Option<SummaryOutcome>,
    /// Characters of the body as it arrived and as it is sent, where they were counted.
    pub(crate) char_counts: Option<(u64, u64)>,
    /// The blocks of the incoming body, where the mechanics read it.
    pub(crate) blocks: Option<PendingBlocks>,
    /// The original, where it is to be sent too.
    pub(crate) sampled: Option<Box<Sampled>>,
}

impl Decided {
    /// The body goes out as it arrived.
    pub(crate) fn unchanged(body: BodySize, added: Duration) -> Self {
        Self {
            body,
            added,
            model: None,
            session: None,
            is_held_out: false,
            routed_to: None,
            routed_terms: None,
            stack: Vec::new(),
            steps: Vec::new(),
            report: None,
            failed_open: None,
            chain_time: None,
            summary: None,
            char_counts: None,
            blocks: None,
            sampled: None,
        }
    }

    /// Nothing was decided: the request ended before.
    pub(super) fn none() -> Self {
        let nothing = BodySize::Read {
            before: 0,
            after: 0,
        };
        Self::unchanged(nothing, Duration::ZERO)
    }

    /// Whether the mechanics were to read the body.
    pub(super) fn is_read(&self) -> bool {
        !self.steps.is_empty() || self.failed_open.is_some()
    }

    /// Bytes of the body as it arrived and as it went out.
    pub(super) fn bytes(&self, is_rejected: bool) -> (u64, u64) {
        match &self.body {
            BodySize::Streamed(fate) => (fate.bytes(), fate.bytes()),
            BodySize::Read { before, .. } if is_rejected => (*before, *before),
            BodySize::Read { before, after } => (*before, *after),
        }
    }

    /// Characters of the body as it arrived and as it went out.
    pub(super) fn chars(&self, is_rejected: bool) -> Option<(u64, u64)> {
        let (before, after) = self.char_counts?;
        Some((before, if is_rejected { before } else { after }))
    }
}
