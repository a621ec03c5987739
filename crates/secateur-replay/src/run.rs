//! All sessions on all cores. A thread holds one session's index at a time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::price::Pricing;
use crate::score::{Policy, SessionScore, Totals, replay_session};
use crate::session::Session;

/// Called after each session with how many of how many are done, from any thread.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// Replays all sessions under each policy on `threads` threads (0: as many as the machine has). The order
/// of the scores is that of the sessions, whatever the number of threads.
pub fn replay(
    sessions: &[Session],
    policies: &[&dyn Policy],
    pricing: Pricing,
    threads: usize,
    progress: Progress<'_>,
) -> Vec<Totals> {
    let threads = if threads == 0 {
        std::thread::available_parallelism().map_or(1, usize::from)
    } else {
        threads
    };
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let scores = Mutex::new(vec![
        Totals {
            sessions: vec![SessionScore::default(); sessions.len()]
        };
        policies.len()
    ]);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(sessions.len()) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(session) = sessions.get(number) else {
                        break;
                    };
                    let of_session = replay_session(session, policies, pricing);
                    if let Ok(mut totals) = scores.lock() {
                        for (total, score) in totals.iter_mut().zip(of_session) {
                            total.sessions[number] = score;
                        }
                    }
                    progress(done.fetch_add(1, Ordering::Relaxed) + 1, sessions.len());
                }
            });
        }
    });
    scores
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
