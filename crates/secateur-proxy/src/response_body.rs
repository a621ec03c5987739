//! A response on its way to the client: every frame passes as it is, and is looked at on the side.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};

use crate::audit::Ended;
use crate::exchange::{Exchange, Hearing};
use crate::limits::IdleTimer;
use crate::limits::StreamWatch;
use crate::upstream::UpstreamBody;
use crate::wire::headers;

/// Why a response broke off. The client sees its connection end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ResponseBodyError {
    /// The upstream's connection broke.
    #[error("the upstream's response broke off")]
    Broke,
    /// The upstream sent nothing for too long.
    #[error("the upstream's response stood still")]
    Stalled,
}

/// A body for the client.
#[derive(Debug)]
pub(crate) enum ClientBody {
    /// A body that is there.
    Full(Full<Bytes>),
    /// A body that comes from an upstream.
    Tapped(Box<Tapped>),
}

impl ClientBody {
    /// A body that is there.
    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        Self::Full(Full::new(bytes.into()))
    }
}

impl Body for ClientBody {
    type Data = Bytes;
    type Error = ResponseBodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ResponseBodyError>>> {
        match self.get_mut() {
            Self::Full(body) => Pin::new(body)
                .poll_frame(context)
                .map_err(|never| match never {}),
            Self::Tapped(body) => Pin::new(body.as_mut()).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(body) => body.is_end_stream(),
            Self::Tapped(body) => body.inner.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(body) => body.size_hint(),
            Self::Tapped(body) => body.inner.size_hint(),
        }
    }
}

/// A body that comes from an upstream, and is read on the side.
pub(crate) struct Tapped {
    inner: UpstreamBody,
    hearing: Hearing,
    exchange: Exchange,
    ended: Option<Ended>,
    idle: IdleTimer,
    /// Of an HTTP/2 stream.
    watch: Option<Arc<StreamWatch>>,
    /// It broke, and the client is not told before it has what came before.
    is_breaking: bool,
}

impl std::fmt::Debug for Tapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tapped")
            .field("bytes", &self.hearing.bytes())
            .finish_non_exhaustive()
    }
}

impl Tapped {
    pub(crate) fn new(
        inner: UpstreamBody,
        hearing: Hearing,
        exchange: Exchange,
        idle: Duration,
    ) -> Self {
        Self {
            inner,
            hearing,
            exchange,
            ended: None,
            idle: IdleTimer::new(idle),
            watch: StreamWatch::current(),
            is_breaking: false,
        }
    }

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ResponseBodyError>>> {
        let this = &mut *self;
        if let Some(watch) = &this.watch {
            watch.asked();
        }
        if this.is_breaking {
            this.ended = Some(Ended::UpstreamBroke);
            return Poll::Ready(Some(Err(ResponseBodyError::Broke)));
        }
        match Pin::new(&mut this.inner).poll_frame(context) {
            Poll::Ready(Some(Ok(mut frame))) => {
                this.idle.moved();
                if let Some(watch) = &this.watch {
                    watch.gave(frame.data_ref().map_or(0, Bytes::len));
                }
                if let Some(data) = frame.data_ref() {
                    this.hearing.add(data);
                }
                if let Some(trailers) = frame.trailers_mut() {
                    headers::to_client(trailers);
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(_))) => {
                // A server drops what it has not written yet when a body fails, and writes when there is no more.
                this.is_breaking = true;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Ready(None) => {
                this.ended = Some(Ended::Complete);
                Poll::Ready(None)
            }
            Poll::Pending => {
                ready!(this.idle.poll_stalled(context));
                this.ended = Some(Ended::UpstreamStalled);
                Poll::Ready(Some(Err(ResponseBodyError::Stalled)))
            }
        }
    }
}

impl Drop for Tapped {
    fn drop(&mut self) {
        // A server that knows the length does not ask for the end.
        let ended = self.ended.unwrap_or(if self.inner.is_end_stream() {
            Ended::Complete
        } else {
            Ended::ClientGone
        });
        let heard = self.hearing.end(ended);
        self.exchange.finish(Some(heard));
    }
}
