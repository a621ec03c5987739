//! What became of a request to the upstream.

use std::time::Duration;

/// What became of a request to the upstream.
#[derive(Default)]
pub(crate) struct Sent {
    /// The response's status; `None`: there was no response.
    pub(crate) status: Option<u16>,
    /// From sending the request to the response's head.
    pub(crate) head_after: Option<Duration>,
    /// Why there was no response.
    pub(crate) error: Option<String>,
}

impl Sent {
    pub(crate) fn answered(status: u16, head_after: Duration) -> Self {
        Self {
            status: Some(status),
            head_after: Some(head_after),
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
