//! Signs of harm that need no second call: bodies that the provider rejects, calls that the model makes
//! again after their result was cut, a cache that is read less than before.

mod repeated_calls;
mod rolling;
mod sessions;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) use repeated_calls::{Calls, calls_of};
use rolling::Rolling;
use secateur_core::mechanic::Mechanic;
use sessions::Sessions;

use crate::finished::Finished;
use crate::options::CanaryOptions;

/// Changed requests that are looked back on.
const LOOK_BACK: usize = 200;

/// Rejected requests that are worth a warning, however many requests there were.
const WARN_REJECTIONS: usize = 3;

/// Repeated calls that are worth a warning, and their least share of the changed requests.
const WARN_REPEATS: usize = 5;
const WARN_REPEAT_SHARE: f64 = 0.05;

/// Requests that it takes to say that the cache is read less, and how much less.
const MIN_CACHE_SAMPLES: usize = 20;
const WARN_CACHE_SHARE: f64 = 0.5;
const MIN_EARLIER_SHARE: f64 = 0.2;

/// A sign is reported again after this time at the earliest.
const QUIET: Duration = Duration::from_secs(3600);

/// Which sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Signal {
    Rejections,
    RepeatedCalls,
    CacheShare,
}

impl Signal {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rejections => "strikes",
            Self::RepeatedCalls => "repeated-calls",
            Self::CacheShare => "cache-share",
        }
    }
}

/// What is to be done about a sign.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Finding {
    /// Tell people.
    Warn(Signal, String),
    /// Switch the stack off.
    Retire(String),
}

/// What is known of one stack of one workload.
#[derive(Debug)]
struct Watched {
    rejections: Rolling<bool>,
    repeats: Rolling<bool>,
    /// Share of the input read from the cache: before in the session, now, and as the cache rules
    /// predict it.
    cache: Rolling<[f64; 3]>,
    told: HashMap<Signal, Instant>,
}

impl Default for Watched {
    fn default() -> Self {
        Self {
            rejections: Rolling::new(LOOK_BACK),
            repeats: Rolling::new(LOOK_BACK),
            cache: Rolling::new(LOOK_BACK / 4),
            told: HashMap::new(),
        }
    }
}

impl Watched {
    /// The warning, unless it was told lately.
    fn tell(&mut self, signal: Signal, now: Instant, reason: String) -> Option<Finding> {
        let is_fresh = |at: &Instant| now.saturating_duration_since(*at) < QUIET;
        if self.told.get(&signal).is_some_and(is_fresh) {
            return None;
        }
        self.told.insert(signal, now);
        Some(Finding::Warn(signal, reason))
    }
}

#[derive(Debug, Default)]
struct State {
    stacks: HashMap<(Arc<str>, String), Watched>,
    sessions: Sessions,
}

/// What is known of the stacks and sessions of this process.
#[derive(Debug, Default)]
pub(crate) struct Signals(Mutex<State>);

impl Signals {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what was held against a stack, once it is off.
    pub(crate) fn forget(&self, workload: &str, stack: &str) {
        self.state()
            .stacks
            .retain(|(of, name), _| &**of != workload || name != stack);
    }

    /// A request is over: whether it was rejected, and what it read from the cache.
    pub(crate) fn request(&self, finished: &Finished<'_>, now: Instant) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut state = self.state();
        let state = &mut *state;
        // A provider that rejects the original too does not hold the change against it.
        let is_rejected = !finished.rejected_stack.is_empty() && finished.status < 400;
        let stack = if is_rejected {
            finished.rejected_stack
        } else {
            finished.stack
        };
        let watched = (!stack.is_empty()).then(|| {
            let key = (Arc::clone(&finished.workload.name), stack.join("+"));
            state.stacks.entry(key).or_default()
        });
        let cache = state.sessions.cache(finished);
        let Some(watched) = watched else {
            return findings;
        };
        watched.rejections.push(is_rejected);
        if is_rejected {
            findings.extend(of_rejections(watched, &finished.workload.options, now));
        }
        let is_pruned = finished.stack.contains(&Mechanic::M7.name());
        if let Some(cache) = cache.filter(|_| is_pruned) {
            watched.cache.push(cache);
            findings.extend(of_cache(watched, now));
        }
        findings
    }

    /// The calls of a request that was pruned, against what was cut from the session's last one.
    pub(crate) fn calls(
        &self,
        workload: &Arc<str>,
        stack: &str,
        session: &str,
        calls: Calls,
        now: Instant,
    ) -> Option<Finding> {
        let mut state = self.state();
        let is_repeated = state.sessions.repeats(session, calls)?;
        let watched = state
            .stacks
            .entry((Arc::clone(workload), stack.to_owned()))
            .or_default();
        watched.repeats.push(is_repeated);
        let (repeats, all) = (watched.repeats.count(|is| *is), watched.repeats.len());
        if !is_repeated
            || repeats < WARN_REPEATS
            || (repeats as f64) < WARN_REPEAT_SHARE * all as f64
        {
            return None;
        }
        let reason = format!(
            "{repeats} of the last {all} pruned requests repeat a tool call whose result had been cut"
        );
        watched.tell(Signal::RepeatedCalls, now, reason)
    }
}

fn of_rejections(watched: &mut Watched, options: &CanaryOptions, now: Instant) -> Option<Finding> {
    let (rejected, all) = (watched.rejections.count(|is| *is), watched.rejections.len());
    let reason = format!(
        "the provider rejected {rejected} of the last {all} changed requests and took the originals"
    );
    let share = rejected as f64 * 100.0 / all as f64;
    if rejected >= options.min_strikes as usize && share > options.max_strike_pct {
        return Some(Finding::Retire(reason));
    }
    if rejected < WARN_REJECTIONS {
        return None;
    }
    watched.tell(Signal::Rejections, now, reason)
}

fn of_cache(watched: &mut Watched, now: Instant) -> Option<Finding> {
    let samples = watched.cache.len();
    let mean = |at: usize| watched.cache.sum(|shares| shares[at]) / samples as f64;
    let [earlier, share, predicted] = [0, 1, 2].map(mean);
    if samples < MIN_CACHE_SAMPLES
        || earlier < MIN_EARLIER_SHARE
        || share >= WARN_CACHE_SHARE * earlier
    {
        return None;
    }
    let pct = |share: f64| (share * 100.0).round();
    let reason = format!(
        "{} % of the input is read from the cache, {} % before pruning in the same sessions; {} % are predicted",
        pct(share),
        pct(earlier),
        pct(predicted)
    );
    watched.tell(Signal::CacheShare, now, reason)
}

#[cfg(test)]
mod tests;
