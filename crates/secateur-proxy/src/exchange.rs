//! One request from its first byte to its last. Leaves its audit event behind however it ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use secateur_canary::{Answer, Sampled};

use crate::audit::{AuditEvent, Ended};
use crate::canary::finished;
use crate::config::Workload;
use crate::conversations::PendingBlocks;
use crate::shared::Held;
use crate::wire::request_body::Fate;

/// See the module.
pub(crate) struct Exchange {
    event: Option<Box<AuditEvent>>,
    shared: Held,
    /// By whose rules the event is looked at.
    workload: Arc<Workload>,
    started: Instant,
    /// The body that is still coming in, where it is passed on as it comes.
    pub(crate) streamed: Option<Arc<Fate>>,
    /// The original, where it is to be sent too.
    pub(crate) sampled: Option<Box<Sampled>>,
    /// The answer of a sampled request, as far as it passed.
    pub(crate) answer: Option<Box<Answer>>,
    /// The blocks of the incoming body, where the chain ran over it.
    pub(crate) blocks: Option<PendingBlocks>,
}

impl Exchange {
    pub(crate) fn start(
        event: AuditEvent,
        shared: Held,
        workload: Arc<Workload>,
        started: Instant,
    ) -> Self {
        shared.surfaces.metrics.request_started();
        Self {
            event: Some(Box::new(event)),
            shared,
            workload,
            started,
            streamed: None,
            sampled: None,
            answer: None,
            blocks: None,
        }
    }

    /// The request's id.
    pub(crate) fn id(&self) -> &str {
        self.event.as_ref().map_or("", |event| &event.id)
    }

    /// The event, to be filled in.
    #[expect(clippy::expect_used, reason = "the event is taken only by drop")]
    pub(crate) fn event(&mut self) -> &mut AuditEvent {
        self.event
            .as_mut()
            .expect("an exchange has its event until it is dropped")
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let Some(mut event) = self.event.take() else {
            return;
        };
        event.total = self.started.elapsed();
        if event.ended == Ended::ClientGone && self.shared.is_cutting_off.load(Ordering::Relaxed) {
            event.ended = Ended::CutOff;
        }
        if let Some(fate) = &self.streamed {
            event.bytes_before = fate.bytes();
            event.bytes_after = fate.bytes();
        }
        let blocks = self.blocks.as_ref().and_then(PendingBlocks::get);
        let conversations = &self.shared.conversations;
        conversations.observe(&mut event, blocks, self.started);
        event.settle();
        let is_complete = event.ended == Ended::Complete;
        let sampled = self
            .sampled
            .take()
            .filter(|_| is_complete && !event.stack.is_empty());
        let sampled = sampled.zip(self.answer.take());
        self.shared.canary.finished(
            &finished(&event, &self.workload.canary),
            sampled.map(|(sampled, answer)| (*sampled, *answer)),
        );
        self.shared.surfaces.record(&mut event);
    }
}
