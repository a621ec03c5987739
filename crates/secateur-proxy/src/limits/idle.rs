//! How long a body may stand still.
//!
//! A timer is armed once and looked at when it fires: what moved in the meantime only notes the time.
//! Arming it anew for every chunk costs more than the rest of what is done to a chunk.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// See the module.
#[derive(Debug)]
pub(crate) struct IdleTimer {
    idle: Duration,
    moved: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl IdleTimer {
    pub(crate) fn new(idle: Duration) -> Self {
        Self {
            idle,
            moved: None,
            timer: None,
        }
    }

    /// Something moved.
    pub(crate) fn moved(&mut self) {
        if self.timer.is_some() {
            self.moved = Some(Instant::now());
        }
    }

    /// Ready once nothing moved for too long. To be called whenever nothing is there to be passed on.
    pub(crate) fn poll_stalled(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let idle = self.idle;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(idle)));
        while timer.as_mut().poll(context).is_ready() {
            let Some(moved) = self.moved.take() else {
                return Poll::Ready(());
            };
            timer.as_mut().reset(moved + idle);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn stalled(timer: &mut IdleTimer) {
        std::future::poll_fn(|context| timer.poll_stalled(context)).await;
    }

    #[tokio::test]
    async fn what_moves_in_time_does_not_stall() {
        const IDLE: Duration = Duration::from_millis(200);
        let (started, mut timer) = (Instant::now(), IdleTimer::new(IDLE));
        for _ in 0..4 {
            let moves = tokio::time::timeout(IDLE / 2, stalled(&mut timer)).await;
            if moves.is_ok() {
                // A machine that sleeps through the pauses proves nothing.
                assert!(started.elapsed() >= IDLE);
                return;
            }
            timer.moved();
        }
        let last = Instant::now();
        stalled(&mut timer).await;
        assert!(last.elapsed() >= IDLE - Duration::from_millis(5));
        assert!(started.elapsed() >= IDLE * 2);
    }
}
