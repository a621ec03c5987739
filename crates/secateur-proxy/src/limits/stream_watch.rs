//! HTTP/2 streams whose client takes nothing more.
//!
//! A client can leave one stream's window closed while its socket is read: then no write ever waits, and the
//! response's body is just not asked for any more, with the upstream's call behind it. So the task of each stream
//! looks whether its body gave something that the client has not taken.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;

use hyper::rt::Executor;

use super::stall_timer::{Pace, StallTimer};

tokio::task_local! {
    static CURRENT: Arc<StreamWatch>;
}

/// What the body of a stream tells its task.
#[derive(Debug, Default)]
pub(crate) struct StreamWatch {
    /// The last frame was given, and no other was asked for.
    is_waiting: AtomicBool,
    bytes: AtomicU64,
}

impl StreamWatch {
    /// The watch of the stream whose task this is; `None` in HTTP/1.
    pub(crate) fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// A frame is asked for.
    pub(crate) fn asked(&self) {
        self.is_waiting.store(false, Ordering::Relaxed);
    }

    /// A frame of so many bytes was given.
    pub(crate) fn gave(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.is_waiting.store(true, Ordering::Relaxed);
    }
}

/// Spawns the streams of a connection, each with its watch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamExecutor(pub(crate) Pace);

impl<F> Executor<F> for StreamExecutor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, stream: F) {
        let watch = Arc::<StreamWatch>::default();
        tokio::spawn(CURRENT.scope(Arc::clone(&watch), watched(stream, watch, self.0)));
    }
}

/// Drops the stream, and so resets it, when its client is too slow.
async fn watched(stream: impl Future, watch: Arc<StreamWatch>, pace: Pace) {
    let (mut stream, mut timer) = (pin!(stream), StallTimer::new(pace));
    let mut seen = 0;
    poll_fn(|context| {
        if stream.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let (is_waiting, bytes) = (
            watch.is_waiting.load(Ordering::Relaxed),
            watch.bytes.load(Ordering::Relaxed),
        );
        if bytes > seen || !is_waiting {
            timer.moved(bytes - seen);
            seen = bytes;
        }
        if is_waiting {
            timer.poll_stalled(context)
        } else {
            Poll::Pending
        }
    })
    .await;
}
