//! Bodies to and from an upstream.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::stream_count::OpenStream;
use crate::wire::request_body::{Guarded, RequestBodyError};

/// A body on its way to an upstream.
#[derive(Debug)]
pub(crate) enum OutBody {
    /// A body that is there.
    Full(Full<Bytes>),
    /// A body that is still coming in.
    Streamed(Box<Guarded>),
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
pub(crate) struct UpstreamBody {
    incoming: Incoming,
    /// Of HTTP/2: held until the body is dropped.
    _stream: Option<OpenStream>,
}

impl UpstreamBody {
    pub(super) fn new(incoming: Incoming) -> Self {
        Self {
            incoming,
            _stream: None,
        }
    }

    pub(super) fn counted(incoming: Incoming, stream: OpenStream) -> Self {
        Self {
            incoming,
            _stream: Some(stream),
        }
    }
}

impl Body for UpstreamBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.incoming).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
