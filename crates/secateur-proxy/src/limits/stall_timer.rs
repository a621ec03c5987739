//! How long the other side of a connection may keep the proxy waiting.
//!
//! Two bounds: nothing moves for [`Pace::idle`], or all waits together are longer than `idle` plus the time that
//! the bytes take at the slowest rate. The second one ends a peer that moves a byte now and then.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// The slowest that a peer may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    /// The longest pause.
    pub(crate) idle: Duration,
    /// The slowest rate, once `idle` is used up by waiting; 0: any.
    pub(crate) min_bytes_per_s: u64,
}

impl Pace {
    /// How long all waits together may be, after so many bytes.
    fn may_wait(&self, bytes: u64) -> Duration {
        if self.min_bytes_per_s == 0 {
            return Duration::MAX;
        }
        let share = Duration::try_from_secs_f64(bytes as f64 / self.min_bytes_per_s as f64);
        self.idle.saturating_add(share.unwrap_or(Duration::MAX))
    }
}

/// Measures how long a peer keeps the proxy waiting, and says when that is too long.
#[derive(Debug)]
pub(crate) struct StallTimer {
    pace: Pace,
    waiting_since: Option<Instant>,
    /// All waits that are over.
    waited: Duration,
    bytes: u64,
    timer: Option<Pin<Box<Sleep>>>,
}

impl StallTimer {
    pub(crate) fn new(pace: Pace) -> Self {
        Self {
            pace,
            waiting_since: None,
            waited: Duration::ZERO,
            bytes: 0,
            timer: None,
        }
    }

    /// So many bytes moved.
    pub(crate) fn moved(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some(since) = self.waiting_since.take() {
            self.waited = self.waited.saturating_add(since.elapsed());
        }
    }

    /// Ready once the peer was too slow. To be called whenever it keeps the caller waiting.
    pub(crate) fn poll_stalled(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        let left = self.pace.may_wait(self.bytes).saturating_sub(self.waited);
        let end = since + left.min(self.pace.idle);
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        // An end never moves closer, so a timer that is armed wakes early enough.
        while timer.as_mut().poll(context).is_ready() {
            if Instant::now() >= end {
                return Poll::Ready(());
            }
            timer.as_mut().reset(end);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Duration = Duration::from_millis(300);

    fn timer(min_bytes_per_s: u64) -> StallTimer {
        StallTimer::new(Pace {
            idle: IDLE,
            min_bytes_per_s,
        })
    }

    async fn stalled(timer: &mut StallTimer, within: Duration) -> bool {
        let stalled = std::future::poll_fn(|context| timer.poll_stalled(context));
        tokio::time::timeout(within, stalled).await.is_ok()
    }

    /// Waits in steps, with so many bytes after each, and says how long it was until it stalled.
    async fn steps(timer: &mut StallTimer, step: Duration, bytes: u64) -> Option<Duration> {
        let started = Instant::now();
        while started.elapsed() < IDLE * 5 {
            if stalled(timer, step).await {
                return Some(started.elapsed());
            }
            timer.moved(bytes);
        }
        None
    }

    #[tokio::test]
    async fn a_pause_ends_at_the_idle_limit_however_much_came_before() {
        let mut timer = timer(100);
        timer.moved(1_000_000);
        let started = Instant::now();
        assert!(stalled(&mut timer, Duration::from_secs(20)).await);
        assert!(started.elapsed() >= IDLE);
    }

    #[tokio::test]
    async fn a_byte_now_and_then_is_too_slow() {
        let took = steps(&mut timer(1_000), IDLE / 10, 1).await.unwrap();
        assert!(took >= IDLE, "{took:?}");
    }

    #[tokio::test]
    async fn what_keeps_the_rate_goes_on() {
        assert_eq!(steps(&mut timer(1_000), IDLE / 10, 100_000).await, None);
    }
}
