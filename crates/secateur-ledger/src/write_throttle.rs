//! Breaks in a long piece of work, so that it does not take a core all at once from the threads that answer
//! requests.
//!
//! **Invariant:** there are no breaks while the queue is filling up, and breaks never take so long together that a
//! batch counts as slow.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::queue::{BATCH_RECORDS, Queue};

/// Work between two breaks.
const WORK: Duration = Duration::from_micros(100);
/// One break.
const BREAK: Duration = Duration::from_millis(1);
/// After this long there are no more breaks.
const SPREAD: Duration = Duration::from_millis(150);

/// Paces one piece of work. Made when the work begins.
#[derive(Debug)]
pub(crate) struct WriteThrottle<'q> {
    queue: &'q Queue,
    began: Instant,
    rested: Cell<Instant>,
}

impl<'q> WriteThrottle<'q> {
    pub(crate) fn new(queue: &'q Queue) -> Self {
        let now = Instant::now();
        Self {
            queue,
            began: now,
            rested: Cell::new(now),
        }
    }

    /// To be called between portions, as often as one likes.
    pub(crate) fn pause(&self) {
        if self.rested.get().elapsed() < WORK {
            return;
        }
        if self.began.elapsed() < SPREAD && !self.is_behind() {
            std::thread::sleep(BREAK);
        }
        self.rested.set(Instant::now());
    }

    fn is_behind(&self) -> bool {
        let state = self.queue.lock();
        state.is_closed || state.len() >= BATCH_RECORDS / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Portions of work, each longer than what needs no break; how long all took.
    fn work(queue: &Queue, portions: u32) -> Duration {
        let (began, throttle) = (Instant::now(), WriteThrottle::new(queue));
        for _ in 0..portions {
            let end = Instant::now() + WORK;
            while Instant::now() < end {
                std::hint::spin_loop();
            }
            throttle.pause();
        }
        began.elapsed()
    }

    #[test]
    fn work_is_spread_unless_the_ledger_closes() {
        let queue = Queue::new(10);
        assert!(work(&queue, 20) >= (WORK + BREAK) * 20);
        queue.close();
        // A machine that is busy with other things takes the core away by itself.
        let shortest = (0..20).map(|_| work(&queue, 5)).min().unwrap();
        assert!(shortest < (WORK + BREAK) * 5);
    }
}
