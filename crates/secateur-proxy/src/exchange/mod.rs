//! One request as a chain of values: `Arrived → Decided → Sent → Heard`. Each is built once, from the one before, and
//! does not change afterwards. However the request ends, [`finish`](finish::finish) makes the audit event of those that
//! there are.

mod arrived;
mod decided;
mod finish;
mod heard;
mod sent;

use http::HeaderMap;

pub(crate) use self::arrived::Arrived;
pub(crate) use self::decided::{BodySize, Decided};
use self::finish::finish;
pub(crate) use self::heard::{Heard, Hearing};
pub(crate) use self::sent::Sent;
use crate::shared::Held;
use crate::surface::{HeadFacts, stamp};
use crate::wire::request_body::Fate;

/// The values of one request, as far as there are any.
struct Stages {
    arrived: Arrived,
    decided: Option<Decided>,
    /// The changed request, where the provider rejected it and the original is sent.
    rejected: Option<Sent>,
    sent: Option<Sent>,
}

impl Stages {
    /// The mechanics that changed what the provider answers.
    fn stack(&self) -> &[&'static str] {
        match &self.decided {
            Some(decided) if self.rejected.is_none() => &decided.stack,
            _ => &[],
        }
    }
}

/// Holds the values of one request until it is over. Finishes it when it is dropped, if nothing did before.
pub(crate) struct Exchange {
    shared: Held,
    stages: Option<Box<Stages>>,
}

impl Exchange {
    pub(crate) fn start(shared: Held, arrived: Arrived) -> Self {
        shared.surfaces.metrics.request_started();
        let stages = Stages {
            arrived,
            decided: None,
            rejected: None,
            sent: None,
        };
        Self {
            shared,
            stages: Some(Box::new(stages)),
        }
    }

    /// The request's id.
    pub(crate) fn id(&self) -> &str {
        self.stages.as_ref().map_or("", |stages| &stages.arrived.id)
    }

    /// It is known what is sent.
    pub(crate) fn decided(&mut self, decided: Decided) {
        if let Some(stages) = &mut self.stages {
            stages.decided = Some(decided);
        }
    }

    /// The provider rejected the changed request, and the original is going to be sent.
    pub(crate) fn rejected(&mut self, sent: Sent) {
        if let Some(stages) = &mut self.stages {
            stages.rejected = Some(sent);
        }
    }

    /// The upstream responded, or did not.
    pub(crate) fn sent(&mut self, sent: Sent) {
        if let Some(stages) = &mut self.stages {
            stages.sent = Some(sent);
        }
    }

    /// The request is over. What was heard of the response is `None` where there was none.
    pub(crate) fn finish(&mut self, heard: Option<Heard>) {
        if let Some(stages) = self.stages.take() {
            finish(&self.shared, *stages, heard);
        }
    }

    /// The body that is still arriving, where it is passed on meanwhile.
    pub(crate) fn streamed(&self) -> Option<&Fate> {
        match &self.stages.as_ref()?.decided.as_ref()?.body {
            BodySize::Streamed(fate) => Some(&**fate),
            BodySize::Read { .. } => None,
        }
    }

    /// Whether the original is going to be sent too, to compare the answers.
    pub(crate) fn is_sampled(&self) -> bool {
        let stages = self.stages.as_ref();
        let stages = stages.filter(|stages| stages.rejected.is_none());
        let decided = stages.and_then(|stages| stages.decided.as_ref());
        decided.is_some_and(|decided| decided.sampled.is_some())
    }

    /// Adds the proxy's own headers to the response.
    pub(crate) fn stamp(&self, headers: &mut HeaderMap) {
        let Some(stages) = &self.stages else {
            return;
        };
        let (arrived, decided) = (&stages.arrived, stages.decided.as_ref());
        let facts = HeadFacts {
            id: &arrived.id,
            workload: &arrived.workload.name,
            untouched: arrived.untouched.as_ref(),
            is_read: decided.is_some_and(Decided::is_read),
            stack: stages.stack(),
            chars: decided.and_then(|decided| decided.chars(stages.rejected.is_some())),
            report: decided.and_then(|decided| decided.report.as_deref()),
        };
        stamp(headers, &facts);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.finish(None);
    }
}
