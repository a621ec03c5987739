//! Runs the chain on a thread of its own, within the workload's time budget.
//!
//! What counts is the chain's own running time, decoding included. Waiting for a slot may take as long again. A
//! chain that stalls keeps its slot, so that stalled ones cannot pile up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::{Decision, Job, run};
use crate::audit::{ChainTime, FailOpen};
use crate::limits::{ByteBudget, OverBudget, Slots, TimeBudget, hold};
use crate::mechanic::Wrapping;
use crate::wire::encoding::{DecodeError, Encoding, decode_watched};
use crate::wire::names::bounded;

/// How a body that is still compressed is to be decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encoded {
    pub(crate) encoding: Encoding,
    /// The most bytes that it may decode to.
    pub(crate) max_bytes: usize,
}

/// The chain's decision, and the body that it was made on.
#[derive(Debug)]
pub(crate) struct ChainRun {
    pub(crate) decision: Decision,
    /// Decoded; `None`: it could not be, or not in time.
    pub(crate) body: Option<Bytes>,
}

/// The time of one run, seen by the chain's thread and by the request's task.
#[derive(Debug)]
struct Clock {
    started: Instant,
    budget: TimeBudget,
    /// Grows while the body is decoded.
    body_bytes: AtomicUsize,
}

impl Clock {
    fn start(budget: TimeBudget, body_bytes: usize) -> Self {
        Self {
            started: Instant::now(),
            budget,
            body_bytes: AtomicUsize::new(body_bytes),
        }
    }

    fn grown_to(&self, body_bytes: usize) {
        self.body_bytes.fetch_max(body_bytes, Ordering::Relaxed);
    }

    fn budget(&self) -> Duration {
        self.budget
            .for_bytes(self.body_bytes.load(Ordering::Relaxed))
    }

    fn is_over(&self) -> bool {
        self.started.elapsed() > self.budget()
    }

    fn time(&self, waited: Duration, ran: Duration) -> ChainTime {
        ChainTime {
            waited,
            ran,
            budget: self.budget(),
            body_bytes: self.body_bytes.load(Ordering::Relaxed),
        }
    }
}

/// Waits for a slot, decodes the body where it is compressed, and runs the chain over it.
///
/// # Errors
/// There is no memory for the decoded body or the changed one.
pub(crate) async fn run_within_budget(
    job: Job,
    encoded: Option<Encoded>,
    slots: &Slots,
    byte_budget: &Arc<ByteBudget>,
) -> Result<ChainRun, OverBudget> {
    let budget = job.workload.budget;
    let plain = encoded.is_none().then(|| job.body.clone());
    let (arrived, may_wait) = (Instant::now(), budget.for_bytes(job.body.len()));
    let slot = slots.acquire(&job.workload.name, may_wait).await;
    let (waited, clock) = (arrived.elapsed(), Clock::start(budget, job.body.len()));
    let Some(slot) = slot else {
        let time = clock.time(waited, Duration::ZERO);
        return Ok(gave_up(FailOpen::OverBudget, time, plain));
    };
    let clock = Arc::new(clock);
    let mut running = {
        let (clock, byte_budget) = (Arc::clone(&clock), Arc::clone(byte_budget));
        tokio::task::spawn_blocking(move || {
            let _slot = slot;
            work(job, encoded, &clock, &byte_budget)
        })
    };
    loop {
        let budget = clock.budget();
        let end = clock.started + budget;
        let done = tokio::time::timeout_at(end.into(), &mut running).await;
        let time = clock.time(waited, clock.started.elapsed());
        let failed = match done {
            Ok(Ok(Ok((mut decision, body)))) => {
                decision.time = Some(time);
                let body = Some(body);
                return Ok(ChainRun { decision, body });
            }
            Ok(Ok(Err(DecodeError::NoRoom))) => return Err(OverBudget),
            Ok(Ok(Err(DecodeError::OverTime))) => FailOpen::OverBudget,
            Ok(Ok(Err(error))) => FailOpen::Encoding(error.reason()),
            Ok(Err(_)) => FailOpen::Panicked,
            // The body grew while it was decoded, and its time with it.
            Err(_) if clock.budget() > budget => continue,
            Err(_) => FailOpen::OverBudget,
        };
        return Ok(gave_up(failed, time, plain));
    }
}

fn gave_up(reason: FailOpen, time: ChainTime, body: Option<Bytes>) -> ChainRun {
    let mut decision = Decision::fail_open(reason);
    decision.time = Some(time);
    ChainRun { decision, body }
}

/// On the chain's thread.
fn work(
    mut job: Job,
    encoded: Option<Encoded>,
    clock: &Clock,
    byte_budget: &Arc<ByteBudget>,
) -> Result<(Decision, Bytes), DecodeError> {
    if let Some(encoded) = encoded {
        job.body = decode_body(&job.body, encoded, clock, byte_budget)?;
    }
    let wrapping = job.is_wrapped.then(|| Wrapping::of(&job.body));
    let wrapping = match wrapping {
        // There is nothing in it that the engine could read.
        Some(None) => return Ok((Decision::fail_open(FailOpen::Engine), job.body)),
        Some(Some(wrapping)) => Some(wrapping),
        None => None,
    };
    if let Some(wrapping) = &wrapping {
        job.body = wrapping.inner();
        job.path_model.clone_from(&wrapping.model);
    }
    let mut decision = run(&job);
    if let Some(wrapping) = &wrapping {
        decision.model = wrapping.model.as_deref().map(bounded).map(str::to_owned);
    }
    if let Some(changed) = decision.body.take() {
        let changed = match &wrapping {
            Some(wrapping) => wrapping.around(&changed),
            None => changed,
        };
        let mut reservation = byte_budget.reserve();
        let grown = reservation.grow_to(changed.len());
        grown.map_err(|OverBudget| DecodeError::NoRoom)?;
        decision.body = Some(hold(changed, reservation));
    }
    Ok((decision, job.body))
}

fn decode_body(
    body: &[u8],
    encoded: Encoded,
    clock: &Clock,
    byte_budget: &Arc<ByteBudget>,
) -> Result<Bytes, DecodeError> {
    let mut reservation = byte_budget.reserve();
    let mut watch = |bytes: usize| {
        clock.grown_to(bytes);
        if clock.is_over() {
            return Err(DecodeError::OverTime);
        }
        reservation
            .grow_to(bytes)
            .map_err(|OverBudget| DecodeError::NoRoom)
    };
    let decoded = decode_watched(encoded.encoding, body, encoded.max_bytes, &mut watch)?;
    Ok(hold(decoded, reservation))
}
