//! How many streams of an HTTP/2 connection are open, and how many its peer allows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// The count of one connection.
#[derive(Debug)]
pub(super) struct StreamCount {
    state: Mutex<State>,
    /// Wakes requests that wait for a stream on any connection to the same server.
    changed: Arc<Notify>,
}

#[derive(Debug)]
struct State {
    open: usize,
    /// What the peer's settings allow; 1 until they arrive.
    limit: usize,
    last_used: Instant,
}

impl StreamCount {
    /// The count of a new connection, and its first stream.
    pub(super) fn new(changed: Arc<Notify>) -> (Arc<Self>, OpenStream) {
        let state = State {
            open: 1,
            limit: 1,
            last_used: Instant::now(),
        };
        let count = Arc::new(Self {
            state: Mutex::new(state),
            changed,
        });
        (Arc::clone(&count), OpenStream(count))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the peer's settings allow now; 0 counts as 1, for they may not have arrived yet.
    pub(super) fn set_limit(&self, limit: usize) {
        let limit = limit.max(1);
        let before = std::mem::replace(&mut self.state().limit, limit);
        if before < limit {
            self.changed.notify_waiters();
        }
    }

    /// A stream, unless as many are open as the peer allows.
    pub(super) fn try_open(self: &Arc<Self>) -> Option<OpenStream> {
        let mut state = self.state();
        if state.open >= state.limit {
            return None;
        }
        state.open += 1;
        Some(OpenStream(Arc::clone(self)))
    }

    /// Whether no stream was open for this long.
    pub(super) fn is_idle_for(&self, time: Duration) -> bool {
        let state = self.state();
        state.open == 0 && state.last_used.elapsed() >= time
    }
}

/// A stream that counts until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenStream(Arc<StreamCount>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.open -= 1;
        state.last_used = Instant::now();
        drop(state);
        self.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_streams_are_open_as_the_peer_allows() {
        let (count, first) = StreamCount::new(Arc::default());
        assert!(count.try_open().is_none(), "no settings arrived");
        count.set_limit(2);
        let second = count.try_open().unwrap();
        assert!(count.try_open().is_none());
        drop(first);
        let third = count.try_open().unwrap();
        // A peer may lower its limit below what is open.
        count.set_limit(1);
        drop(second);
        assert!(count.try_open().is_none());
        assert!(!count.is_idle_for(Duration::ZERO));
        drop(third);
        assert!(count.is_idle_for(Duration::ZERO));
        assert!(count.try_open().is_some());
    }
}
