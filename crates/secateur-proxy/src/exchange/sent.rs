//! What became of a request to the upstream.

use std::time::{Duration, Instant};

/// What became of a request to the upstream.
#[derive(Default)]
pub(crate) struct Sent {
    /// The response's status; `None`: there was no response.
    pub(crate) status: Option<u16>,
    /// When it was sent; `None`: there was no response.
    pub(crate) at: Option<Instant>,
    /// From sending the request to the response's head.
    pub(crate) head_after: Option<Duration>,
    /// Why there was no response.
    pub(crate) error: Option<String>,
}

impl Sent {
    /// The response's head is there.
    pub(crate) fn answered(status: u16, sent_at: Instant) -> Self {
        Self {
            status: Some(status),
            at: Some(sent_at),
            head_after: Some(sent_at.elapsed()),
            error: None,
        }
    }

    pub(crate) fn failed(error: Option<String>) -> Self {
        Self {
            error,
            ..Self::default()
        }
    }
}
