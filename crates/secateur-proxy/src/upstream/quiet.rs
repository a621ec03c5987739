//! Wakes that a task causes itself while it is at work.
//!
//! A connection and the body that comes from it talk through a channel, and each wakes the other. Where one task
//! drives both, it would wake itself for every frame that it just took, and be polled once more for nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Passes wakes on to a task, unless the task is taking something off its own connection.
#[derive(Debug, Default)]
pub(super) struct Wakes {
    task: Mutex<Option<Waker>>,
    is_quiet: AtomicBool,
    /// Whether there was a wake since the quiet began.
    was_woken: AtomicBool,
}

impl Wakes {
    /// From now on this task is woken.
    pub(super) fn wake_up(&self, waker: &Waker) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *task {
            Some(task) => task.clone_from(waker),
            None => *task = Some(waker.clone()),
        }
    }

    /// Does something that wakes nobody, and says whether it would have.
    pub(super) fn quietly<T>(&self, action: impl FnOnce() -> T) -> (T, bool) {
        self.was_woken.store(false, Ordering::SeqCst);
        self.is_quiet.store(true, Ordering::SeqCst);
        let done = action();
        // In this order: a wake that still finds quiet is seen by the next line.
        self.is_quiet.store(false, Ordering::SeqCst);
        (done, self.was_woken.swap(false, Ordering::SeqCst))
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // In this order: see `quietly`.
        self.was_woken.store(true, Ordering::SeqCst);
        if self.is_quiet.load(Ordering::SeqCst) {
            return;
        }
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = &*task {
            task.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn wakes_reach_the_task_and_those_of_its_own_are_told_apart() {
        let (wakes, first, second) = (Arc::<Wakes>::default(), Arc::default(), Arc::default());
        let waker = Waker::from(Arc::clone(&wakes));
        waker.wake_by_ref();
        let count = |count: &Arc<Count>| count.0.load(Ordering::SeqCst);
        wakes.wake_up(&Waker::from(Arc::clone(&first)));
        waker.wake_by_ref();
        assert_eq!(count(&first), 1);
        assert_eq!(wakes.quietly(|| waker.wake_by_ref()), ((), true));
        assert_eq!(wakes.quietly(|| 7), (7, false));
        assert_eq!(count(&first), 1);
        wakes.wake_up(&Waker::from(Arc::clone(&second)));
        waker.wake_by_ref();
        assert_eq!((count(&first), count(&second)), (1, 1));
    }

    /// One thread takes quietly, another one wakes: each wake is either passed on or reported.
    #[test]
    fn no_wake_is_lost() {
        let (wakes, count) = (Arc::<Wakes>::default(), Arc::<Count>::default());
        wakes.wake_up(&Waker::from(Arc::clone(&count)));
        let waker = Waker::from(Arc::clone(&wakes));
        for _ in 0..5_000 {
            let before = count.0.load(Ordering::SeqCst);
            let (heard, ()) = std::thread::scope(|scope| {
                let other = scope.spawn(|| waker.wake_by_ref());
                let (_, heard) = wakes.quietly(std::hint::spin_loop);
                let joined = other.join();
                (heard, joined.unwrap())
            });
            let passed_on = count.0.load(Ordering::SeqCst) > before;
            assert!(heard || passed_on);
        }
    }
}
