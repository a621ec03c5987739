//! One request from its first byte to its last. Leaves its audit event behind however it ends.

use std::sync::Arc;
use std::time::Instant;

use crate::audit::AuditEvent;
use crate::canary::{Canary, Shadow};
use crate::config::Workload;
use crate::request_body::Fate;
use crate::surface::Surfaces;

/// See the module.
pub(crate) struct Exchange {
    event: Option<Box<AuditEvent>>,
    surfaces: Arc<Surfaces>,
    started: Instant,
    /// The body that is still coming in, where it is passed on as it comes.
    pub(crate) streamed: Option<Arc<Fate>>,
    /// Who looks at the event before it is recorded, and by whose rules.
    pub(crate) watched_by: Option<(Arc<Canary>, Arc<Workload>)>,
    /// The original, where it is to be sent too.
    pub(crate) shadow: Option<Box<Shadow>>,
}

impl Exchange {
    pub(crate) fn start(event: AuditEvent, surfaces: &Arc<Surfaces>, started: Instant) -> Self {
        surfaces.metrics.request_started();
        Self {
            event: Some(Box::new(event)),
            surfaces: Arc::clone(surfaces),
            started,
            streamed: None,
            watched_by: None,
            shadow: None,
        }
    }

    /// The request's id.
    pub(crate) fn id(&self) -> &str {
        self.event.as_ref().map_or("", |event| &event.id)
    }

    /// The response's head is known: from now on the client can post a score.
    pub(crate) fn can_be_scored(&self) {
        if let (Some((canary, _)), Some(event)) = (&self.watched_by, &self.event) {
            canary.remember(event);
        }
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
        if let Some(fate) = &self.streamed {
            event.bytes_before = fate.bytes();
            event.bytes_after = fate.bytes();
        }
        if let Some((canary, workload)) = &self.watched_by {
            canary.observe(workload, &mut event);
        }
        self.surfaces.record(&mut event);
    }
}
