//! Bodies to and from an upstream.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::http1::Driven;
use crate::wire::request_body::{Fate, Guarded, RequestBodyError};

/// A body on its way to an upstream.
#[derive(Debug)]
pub(crate) enum OutBody {
    /// A body that is there.
    Full(Full<Bytes>),
    /// A body that is still coming in.
    Streamed(Box<Guarded>),
}

impl OutBody {
    /// What will become of it, where that is not clear already.
    pub(super) fn fate(&self) -> Option<Arc<Fate>> {
        match self {
            Self::Full(_) => None,
            Self::Streamed(body) => Some(body.fate()),
        }
    }
}

impl Body for OutBody {
    type Data = Bytes;
    type Error = RequestBodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RequestBodyError>>> {
        match self.get_mut() {
            Self::Full(body) => Pin::new(body)
                .poll_frame(context)
                .map_err(|never| match never {}),
            Self::Streamed(body) => Pin::new(body.as_mut()).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(body) => body.is_end_stream(),
            Self::Streamed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(body) => body.size_hint(),
            Self::Streamed(body) => body.size_hint(),
        }
    }
}

/// The body of an upstream's response.
#[derive(Debug)]
pub(crate) enum UpstreamBody {
    /// Whoever asks for it drives its connection.
    Driven(Driven),
    /// Its connection has a task.
    Shared(Incoming),
}

impl Body for UpstreamBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Self::Driven(body) => body.poll_frame(context),
            Self::Shared(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Driven(body) => body.incoming().is_end_stream(),
            Self::Shared(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Driven(body) => body.incoming().size_hint(),
            Self::Shared(body) => body.size_hint(),
        }
    }
}
