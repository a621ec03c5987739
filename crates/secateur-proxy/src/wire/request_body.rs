//! A request body on its way through: counted, bounded, and not allowed to stand still or to crawl.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::limits::{ByteBudget, OverBudget, Pace, StallTimer, hold};

/// Why a body did not arrive whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RequestBodyError {
    #[error("the request body is too large")]
    TooLarge,
    #[error("the request body did not arrive in time")]
    Stalled,
    #[error("the request body broke off")]
    Broke,
    #[error("there is no memory for the request body")]
    NoRoom,
}

/// What became of a body, seen from the request's own task.
#[derive(Debug, Default)]
pub(crate) struct Fate {
    bytes: AtomicU64,
    error: AtomicU8,
}

impl Fate {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn error(&self) -> Option<RequestBodyError> {
        match self.error.load(Ordering::Relaxed) {
            1 => Some(RequestBodyError::TooLarge),
            2 => Some(RequestBodyError::Stalled),
            3 => Some(RequestBodyError::Broke),
            4 => Some(RequestBodyError::NoRoom),
            _ => None,
        }
    }

    fn fail(&self, error: RequestBodyError) -> RequestBodyError {
        let code = match error {
            RequestBodyError::TooLarge => 1,
            RequestBodyError::Stalled => 2,
            RequestBodyError::Broke => 3,
            RequestBodyError::NoRoom => 4,
        };
        self.error.store(code, Ordering::Relaxed);
        error
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Guarded {
    inner: Incoming,
    left: u64,
    stalls: StallTimer,
    fate: Arc<Fate>,
}

impl Guarded {
    /// A request's body of at most this size, no slower than this pace.
    pub(crate) fn new(inner: Incoming, limit_bytes: usize, pace: Pace) -> Self {
        Self {
            inner,
            left: limit_bytes as u64,
            stalls: StallTimer::new(pace),
            fate: Arc::default(),
        }
    }

    pub(crate) fn fate(&self) -> Arc<Fate> {
        Arc::clone(&self.fate)
    }

    /// The whole body. Its bytes count against the budget from their arrival to the end of their last clone.
    pub(crate) async fn collect(
        mut self,
        budget: &Arc<ByteBudget>,
    ) -> Result<Bytes, RequestBodyError> {
        let expected = usize::try_from(self.inner.size_hint().lower()).unwrap_or(0);
        let mut reservation = budget.reserve();
        let mut arrived = 0;
        let mut first: Option<Bytes> = None;
        let mut joined = BytesMut::new();
        while let Some(frame) = self.frame().await {
            let Ok(data) = frame?.into_data() else {
                continue;
            };
            arrived += data.len();
            reservation
                .grow_to(arrived)
                .map_err(|OverBudget| self.fate.fail(RequestBodyError::NoRoom))?;
            match first.take() {
                None if joined.is_empty() => first = Some(data),
                before => {
                    if let Some(before) = before {
                        joined.reserve(expected.max(before.len() + data.len()));
                        joined.extend_from_slice(&before);
                    }
                    joined.extend_from_slice(&data);
                }
            }
        }
        // A body that came in one piece is not copied.
        let body = first.unwrap_or_else(|| joined.freeze());
        Ok(hold(body, reservation))
    }
}

impl Body for Guarded {
    type Data = Bytes;
    type Error = RequestBodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RequestBodyError>>> {
        let this = &mut *self;
        match Pin::new(&mut this.inner).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                this.stalls
                    .moved(frame.data_ref().map_or(0, Bytes::len) as u64);
                if let Some(data) = frame.data_ref() {
                    let size = data.len() as u64;
                    this.fate.bytes.fetch_add(size, Ordering::Relaxed);
                    let Some(left) = this.left.checked_sub(size) else {
                        return Poll::Ready(Some(Err(this.fate.fail(RequestBodyError::TooLarge))));
                    };
                    this.left = left;
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(_))) => {
                Poll::Ready(Some(Err(this.fate.fail(RequestBodyError::Broke))))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => {
                ready!(this.stalls.poll_stalled(context));
                Poll::Ready(Some(Err(this.fate.fail(RequestBodyError::Stalled))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
