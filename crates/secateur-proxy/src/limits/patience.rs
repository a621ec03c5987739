//! One timer for all that a connection waits for.
//!
//! Nearly nothing ever runs out, and arming a timer and taking it back costs more than most of what is done to a
//! request. So a connection's timer is armed once: whoever wants a later end leaves it as it is, and looks at the
//! clock when it rings.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use tokio::task::unconstrained;

/// See the module. All clones are the same timer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patience(Arc<Mutex<Bell>>);

#[derive(Debug, Default)]
struct Bell {
    timer: Option<Pin<Box<tokio::time::Sleep>>>,
    /// When it rings and for whom.
    rings: Option<(Instant, Waker)>,
}

impl Bell {
    /// Sees to it that the task wakes by `end`; `false`: it rings for another task.
    fn ring_by(&mut self, end: Instant, now: Instant, context: &mut Context<'_>) -> bool {
        if let Some((at, waker)) = &self.rings
            && *at > now
        {
            let is_ours = waker.will_wake(context.waker());
            if !is_ours || *at <= end {
                return is_ours;
            }
        }
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end.into())));
        timer.as_mut().reset(end.into());
        arm(timer, context);
        self.rings = Some((end, context.waker().clone()));
        true
    }
}

/// A task that used up its share is told to come back before the timer is armed, and might not: so shares do not count.
fn arm(timer: &mut Pin<Box<tokio::time::Sleep>>, context: &mut Context<'_>) {
    if Pin::new(&mut unconstrained(timer.as_mut()))
        .poll(context)
        .is_ready()
    {
        context.waker().wake_by_ref();
    }
}

impl Patience {
    /// Runs out at a moment.
    fn until(&self, end: Instant) -> Wait {
        Wait {
            end,
            patience: self.clone(),
            own: None,
        }
    }

    /// What the future gives; `None`: it took too long.
    pub(crate) fn within<F: Future + Unpin>(&self, time: Duration, future: F) -> Within<F> {
        let wait = self.until(Instant::now() + time);
        Within { future, wait }
    }
}

impl Timer for Patience {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(self.until(Instant::now() + duration))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(self.until(deadline))
    }
}

/// Ready at its end.
#[derive(Debug)]
struct Wait {
    end: Instant,
    patience: Patience,
    /// For a task that the connection's timer does not ring for: HTTP/2 has one for each request.
    own: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl Future for Wait {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let (now, end) = (Instant::now(), self.end);
        if now >= end {
            return Poll::Ready(());
        }
        if let Some(own) = &mut self.own {
            arm(own, context);
            return Poll::Pending;
        }
        let rings = {
            let bell = &self.patience.0;
            let mut bell = bell.lock().unwrap_or_else(PoisonError::into_inner);
            bell.ring_by(end, now, context)
        };
        if !rings {
            let own = self
                .own
                .insert(Box::pin(tokio::time::sleep_until(end.into())));
            arm(own, context);
        }
        Poll::Pending
    }
}

impl Sleep for Wait {}

/// See [`Patience::within`].
#[derive(Debug)]
pub(crate) struct Within<F> {
    future: F,
    wait: Wait,
}

impl<F: Future + Unpin> Future for Within<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<F::Output>> {
        if let Poll::Ready(output) = Pin::new(&mut self.future).poll(context) {
            return Poll::Ready(Some(output));
        }
        Pin::new(&mut self.wait).poll(context).map(|()| None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};
    use std::pin::pin;

    const SOON: Duration = Duration::from_millis(60);
    const LATE: Duration = Duration::from_secs(600);

    async fn runs_out(patience: &Patience, time: Duration) -> Duration {
        let began = Instant::now();
        assert_eq!(patience.within(time, pending::<()>()).await, None);
        began.elapsed()
    }

    #[tokio::test]
    async fn what_comes_in_time_is_given_and_what_does_not_runs_out_when_it_should() {
        let patience = Patience::default();
        assert_eq!(patience.within(LATE, ready(1)).await, Some(1));
        // A late end first, then an earlier one, then one after a ring that was meant for nobody.
        let mut never = pin!(patience.within(LATE, pending::<()>()));
        let is_waiting =
            |context: &mut Context<'_>| Poll::Ready(never.as_mut().poll(context).is_pending());
        assert!(std::future::poll_fn(is_waiting).await);
        for time in [SOON, SOON * 3, SOON / 2] {
            let took = runs_out(&patience, time).await;
            assert!(
                took >= time && took < time + Duration::from_secs(5),
                "{took:?}"
            );
        }
        // One that was given up leaves its ring behind, which the next one sleeps through.
        drop(tokio::time::timeout(SOON / 2, runs_out(&patience, SOON)).await);
        let took = runs_out(&patience, SOON * 4).await;
        assert!(took >= SOON * 4, "{took:?}");
    }

    #[tokio::test]
    async fn tasks_that_share_it_all_wake() {
        let patience = Patience::default();
        let tasks: Vec<_> = (1..=4)
            .map(|times| {
                let patience = patience.clone();
                tokio::spawn(async move { runs_out(&patience, SOON * times).await >= SOON * times })
            })
            .collect();
        for task in tasks {
            let woke = tokio::time::timeout(Duration::from_secs(10), task).await;
            assert!(woke.unwrap().unwrap());
        }
    }
}
