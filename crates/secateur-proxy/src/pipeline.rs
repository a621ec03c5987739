//! What happens to a body, link by link: detect candidates, prune (M7, M3), ask for a schema (M8),
//! route (M1). At most one link changes the content; a reason stands beside each.
//!
//! Fail-open: a link that errs, panics or takes too long sends the original out. The chain runs on a
//! thread of its own, so that it cannot hold up other requests.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use secateur_core::dialect::DialectId;
use secateur_core::edit::{SkipReason, Target};
use secateur_core::policy::Policy;
use secateur_core::report::{Report, Verdict};
use secateur_core::{Outcome, Request, prune};
use tokio::sync::Semaphore;

use crate::audit::{FailOpen, Mechanic, Step};
use crate::config::Workload;
use crate::mechanic::{RouteDecision, route_in_body, wants_format};

/// The call into the engine, as a value so that tests can make it panic or stall.
pub trait Engine: Send + Sync + std::fmt::Debug {
    /// Prunes one body.
    fn prune<'a>(&self, body: &'a [u8], request: &Request<'_>, policy: &Policy) -> Outcome<'a>;
}

/// The real engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct CoreEngine;

impl Engine for CoreEngine {
    fn prune<'a>(&self, body: &'a [u8], request: &Request<'_>, policy: &Policy) -> Outcome<'a> {
        prune(body, request, policy)
    }
}

/// One body and what is to be done with it.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// The body, not compressed.
    pub(crate) body: Bytes,
    pub(crate) dialect: DialectId,
    pub(crate) path_model: Option<String>,
    pub(crate) workload: Arc<Workload>,
    pub(crate) engine: Arc<dyn Engine>,
}

/// What the chain decided.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    /// The new body; `None`: the original.
    pub(crate) body: Option<Bytes>,
    /// The model that M1 chose.
    pub(crate) routed_to: Option<String>,
    pub(crate) stack: Vec<&'static str>,
    pub(crate) steps: Vec<Step>,
    pub(crate) report: Option<Arc<Report>>,
    pub(crate) failed_open: Option<FailOpen>,
}

impl Decision {
    /// The original goes out, for this reason.
    pub(crate) fn fail_open(reason: FailOpen) -> Self {
        Self {
            failed_open: Some(reason),
            ..Self::default()
        }
    }

    fn skip(&mut self, mechanic: Mechanic, reason: impl Into<Cow<'static, str>>) {
        self.steps.push(Step {
            mechanic,
            skipped: Some(reason.into()),
        });
    }

    fn fired(&mut self, mechanic: Mechanic) {
        self.steps.push(Step {
            mechanic,
            skipped: None,
        });
        self.stack.push(mechanic.name());
        self.stack.sort_unstable();
    }
}

/// A reason's name, as reports spell it.
pub(crate) fn reason_name(reason: SkipReason) -> String {
    match serde_json::to_value(reason) {
        Ok(serde_json::Value::String(name)) => name,
        _ => "unnamed".to_owned(),
    }
}

/// Whether one of the engine's mechanics claims the request: it is opted in and eligible, whatever
/// came of it.
fn claims(report: &Report) -> bool {
    let stayed_out = report.plan.skips.iter().any(|skip| {
        skip.strategy.is_none()
            && skip.target == Target::Request
            && matches!(
                skip.reason,
                SkipReason::NotOptedIn | SkipReason::NotEligible
            )
    });
    let is_unread = report.dialect.is_none();
    !stayed_out && !is_unread
}

/// Why M7 did nothing.
fn m7_reason(report: &Report) -> Cow<'static, str> {
    if let Verdict::FailedOpen(_) = report.verdict {
        return "failed-open".into();
    }
    let whole = report
        .plan
        .skips
        .iter()
        .find(|skip| skip.target == Target::Request);
    whole.map_or(Cow::Borrowed("nothing-to-cut"), |skip| {
        reason_name(skip.reason).into()
    })
}

/// Runs the chain over one body, on the thread of the caller.
pub(crate) fn run(job: &Job) -> Decision {
    let mut decision = Decision::default();
    let is_claimed = prune_step(job, &mut decision);
    let m8_candidate = schema_step(job, is_claimed, &mut decision);
    route_step(job, is_claimed || m8_candidate, &mut decision);
    decision
}

/// M7 and M3. True when one of them claims the request.
fn prune_step(job: &Job, decision: &mut Decision) -> bool {
    let Some(policy) = &job.workload.policy else {
        decision.skip(Mechanic::M7, "not-opted-in");
        return false;
    };
    let request = Request {
        dialect: Some(job.dialect),
        model: job.path_model.as_deref(),
        ..Request::default()
    };
    let Outcome {
        body,
        report,
        error,
        ..
    } = job.engine.prune(&job.body, &request, policy);
    if error.is_some() {
        decision.failed_open = Some(FailOpen::Engine);
    }
    let pruned = match body {
        Cow::Owned(body) => Some(Bytes::from(body)),
        Cow::Borrowed(_) => None,
    };
    let is_claimed = pruned.is_some() || claims(&report);
    for mechanic in [Mechanic::M7, Mechanic::M3] {
        let fired = pruned.is_some() && report.stack.contains(&mechanic.name());
        match mechanic {
            _ if fired => decision.fired(mechanic),
            Mechanic::M7 => decision.skip(mechanic, m7_reason(&report)),
            _ => {}
        }
    }
    decision.body = pruned;
    decision.report = Some(Arc::new(report));
    is_claimed
}

/// M8. True when it could claim the request.
fn schema_step(job: &Job, is_claimed: bool, decision: &mut Decision) -> bool {
    let Some(schema) = &job.workload.schema else {
        decision.skip(Mechanic::M8, "not-opted-in");
        return false;
    };
    if !wants_format(&job.body, job.dialect, schema) {
        decision.skip(Mechanic::M8, "not-eligible");
        return false;
    }
    if is_claimed {
        decision.skip(Mechanic::M8, "lost-to-priority");
        return true;
    }
    if let Some(body) = schema.ask(&job.body, job.dialect) {
        decision.body = Some(Bytes::from(body));
        decision.fired(Mechanic::M8);
    }
    true
}

/// M1. Any mutating candidate forces it off, also one that did nothing in the end.
fn route_step(job: &Job, has_candidate: bool, decision: &mut Decision) {
    let Some(routes) = &job.workload.routes else {
        decision.skip(Mechanic::M1, "not-opted-in");
        return;
    };
    if has_candidate {
        decision.skip(Mechanic::M1, "mutating-candidate");
        return;
    }
    match routes.decide(&job.body, job.dialect, job.path_model.as_deref()) {
        RouteDecision::Stays(reason) => decision.skip(Mechanic::M1, reason),
        RouteDecision::To(model) => {
            if job.path_model.is_none() {
                let Some(body) = route_in_body(&job.body, &model) else {
                    decision.skip(Mechanic::M1, "no-model");
                    return;
                };
                decision.body = Some(Bytes::from(body));
            }
            decision.routed_to = Some(model);
            decision.fired(Mechanic::M1);
        }
    }
}

/// Runs the chain within the workload's budget. `slots` bounds how many chains run at a time; a
/// chain that stalls keeps its slot, so that stalled ones cannot pile up.
pub(crate) async fn decide(job: Job, slots: &Arc<Semaphore>) -> Decision {
    let budget = job.workload.budget;
    let slots = Arc::clone(slots);
    let chain = async move {
        let Ok(slot) = slots.acquire_owned().await else {
            return Decision::fail_open(FailOpen::OverBudget);
        };
        let running = tokio::task::spawn_blocking(move || {
            let _slot = slot;
            catch_unwind(AssertUnwindSafe(|| run(&job)))
        });
        match running.await {
            Ok(Ok(decision)) => decision,
            _ => Decision::fail_open(FailOpen::Panicked),
        }
    };
    match tokio::time::timeout(budget, chain).await {
        Ok(decision) => decision,
        Err(_) => Decision::fail_open(FailOpen::OverBudget),
    }
}

#[cfg(test)]
mod tests;
