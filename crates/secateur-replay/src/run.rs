//! All sessions on all cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::score::{Policy, SessionScore, Totals, replay_session};
use crate::session::Session;

/// Called after each session with how many of how many are done, from any thread.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// Replays all sessions under one policy on `threads` threads (0: as many as the machine has). The order
/// of the scores is that of the sessions, whatever the number of threads.
pub fn replay(sessions: &[Session], policy: &dyn Policy, threads: usize, progress: Progress<'_>) -> Totals {
    let threads = if threads == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { threads };
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let scores = Mutex::new(vec![SessionScore::default(); sessions.len()]);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(sessions.len()) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(session) = sessions.get(number) else { break };
                    let score = replay_session(session, policy);
                    if let Ok(mut scores) = scores.lock() {
                        scores[number] = score;
                    }
                    progress(done.fetch_add(1, Ordering::Relaxed) + 1, sessions.len());
                }
            });
        }
    });
    Totals { sessions: scores.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) }
}
