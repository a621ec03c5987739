//! All sessions on all cores. A thread holds one session's index at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::price::Pricing;
use crate::score::{Policy, Totals, replay_session};
use crate::session::Session;

/// Called after each session with how many of how many are done, from any thread.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// Works through all items on `threads` threads (0: as many as the machine has). Items are taken one at a time, and
/// the results are in the order of the items, whatever the number of threads.
pub fn map_in_order<T: Send, R: Send>(
    items: impl Iterator<Item = T> + Send,
    threads: usize,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let threads = match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let items = Mutex::new(items.enumerate());
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let item = lock(&items).next();
                    let Some((number, item)) = item else { break };
                    let result = work(item);
                    lock(&results).push((number, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_unstable_by_key(|&(number, _)| number);
    results.into_iter().map(|(_, result)| result).collect()
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
    let scores = map_in_order(sessions.iter(), threads, |session| {
        let scores = replay_session(session, policies, pricing);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, sessions.len());
        scores
    });
    let mut totals = vec![Totals::default(); policies.len()];
    for of_session in scores {
        for (total, score) in totals.iter_mut().zip(of_session) {
            total.sessions.push(score);
        }
    }
    totals
}
