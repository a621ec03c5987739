//! All sessions on all cores. A thread holds one session's index at a time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::policy::Policy;
use crate::price::Pricing;
use crate::score::Totals;
use crate::session::Session;
use crate::session_replay::replay_session;

/// Called after each session with how many of how many are done, from any thread.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// Works through all items on `threads` threads (0: as many as the machine has). Items are taken one at a time, and the
/// results are handed to `fold` in the order of the items, whatever the number of threads.
pub fn fold_in_order<T: Send, R: Send>(
    items: impl Iterator<Item = T> + Send,
    threads: usize,
    work: impl Fn(T) -> R + Sync,
    fold: impl FnMut(R) + Send,
) {
    let threads = match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let items = Mutex::new(items.enumerate());
    let results = Mutex::new(InOrder {
        next: 0,
        early: BTreeMap::new(),
        fold,
    });
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let item = lock(&items).next();
                    let Some((number, item)) = item else { break };
                    let result = work(item);
                    lock(&results).take(number, result);
                }
            });
        }
    });
}

/// Results that arrive in any order.
struct InOrder<R, F> {
    /// The number of the next result to be folded.
    next: usize,
    /// Results that wait for an earlier one.
    early: BTreeMap<usize, R>,
    fold: F,
}

impl<R, F: FnMut(R)> InOrder<R, F> {
    fn take(&mut self, number: usize, result: R) {
        self.early.insert(number, result);
        while let Some(result) = self.early.remove(&self.next) {
            (self.fold)(result);
            self.next += 1;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Replays all sessions under each policy on `threads` threads (0: as many as the machine has). The order
/// of the scores is that of the sessions, whatever the number of threads.
pub fn replay(
    sessions: &[Session],
    policies: &[&dyn Policy],
    pricing: Pricing,
    threads: usize,
    progress: Progress<'_>,
) -> Vec<Totals> {
    let done = AtomicUsize::new(0);
    let work = |session: &Session| {
        let scores = replay_session(session, policies, pricing);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, sessions.len());
        scores
    };
    let mut totals = vec![Totals::default(); policies.len()];
    fold_in_order(sessions.iter(), threads, work, |scores| {
        for (total, score) in totals.iter_mut().zip(scores) {
            total.sessions.push(score);
        }
    });
    totals
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn results_are_folded_in_the_order_of_the_items() {
        // The first item ends after the second one.
        let (ended, wait) = mpsc::channel();
        let (ended, wait) = (Mutex::new(ended), Mutex::new(wait));
        let mut folded = Vec::new();
        let work = |item: usize| {
            match item {
                0 => lock(&wait).recv().unwrap(),
                1 => lock(&ended).send(()).unwrap(),
                _ => {}
            }
            item
        };
        fold_in_order(0..9, 2, work, |item| folded.push(item));
        assert_eq!(folded, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
