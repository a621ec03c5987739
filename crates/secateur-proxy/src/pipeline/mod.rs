//! What happens to a body, link by link: detect candidates, prune (M7, M3), ask for a schema (M8),
//! route (M1). At most one link changes the content; a reason stands beside each.
//!
//! Fail-open: a link that errs, panics or takes too long sends the original out. The chain runs on a
//! thread of its own, so that it cannot hold up other requests.

mod timed;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use secateur_canary::{EnabledMechanics, Overrides};
use secateur_core::Dialect;
use secateur_core::cost::Terms;
use secateur_core::internal::edit::{Action, Target};
use secateur_core::mechanic::MechanicSet;
use secateur_core::policy::Policy;
use secateur_core::report::{Report, Verdict};
use secateur_core::summary::{Summaries, WantedSummary};
use secateur_core::{Candidates, Outcome, Request, prune};

pub(crate) use self::timed::{ChainRun, Encoded, run_within_budget};
use crate::audit::{ChainTime, FailOpen, Mechanic, Step, SummaryOutcome, reason_name};
use crate::config::Workload;
use crate::mechanic::{RouteDecision, route_in_body};
use crate::summary::Scoped;
use crate::wire::names::bound;

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
    /// The body, decoded by the time that the links see it.
    pub(crate) body: Bytes,
    pub(crate) dialect: Dialect,
    pub(crate) path_model: Option<String>,
    /// Whether the dialect's body is a member of this one.
    pub(crate) is_wrapped: bool,
    pub(crate) workload: Arc<Workload>,
    pub(crate) engine: Arc<dyn Engine>,
    /// What overrides the workload's configuration.
    pub(crate) overrides: Overrides,
    /// Summaries that a model made, where the policy wants them.
    pub(crate) summaries: Option<Scoped>,
}

/// What the chain decided.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    /// The new body; `None`: the original.
    pub(crate) body: Option<Bytes>,
    /// The model, where it is named outside of the dialect's body.
    pub(crate) model: Option<String>,
    /// The model that M1 chose.
    pub(crate) routed_to: Option<String>,
    /// On what terms.
    pub(crate) routed_terms: Option<Terms>,
    pub(crate) stack: Vec<&'static str>,
    pub(crate) steps: Vec<Step>,
    pub(crate) report: Option<Arc<Report>>,
    pub(crate) failed_open: Option<FailOpen>,
    /// What the chain took, where it ran.
    pub(crate) time: Option<ChainTime>,
    /// The conversation's key.
    pub(crate) session: Option<String>,
    /// Whether the conversation goes unchanged for comparison.
    pub(crate) held_out: bool,
    /// Summaries that are missing.
    pub(crate) wanted: Vec<WantedSummary>,
    /// What became of them.
    pub(crate) summary: Option<SummaryOutcome>,
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

/// What the mechanics of the proxy would do to a request, known before anything is done.
struct Offers {
    /// The body with M8's schema asked for, where the caller sets no format.
    schema: Option<Vec<u8>>,
    /// What M1's rule says.
    route: Option<RouteDecision>,
}

impl Offers {
    fn of(job: &Job, enabled: &EnabledMechanics<'_>) -> Self {
        let may = |mechanic| enabled.off(mechanic).is_none();
        let schema = job.workload.schema.as_ref().filter(|_| may(Mechanic::M8));
        // The model of a wrapped body is named outside of it.
        let routes = job.workload.routes.as_ref();
        let routes = routes.filter(|_| may(Mechanic::M1) && !job.is_wrapped);
        Self {
            schema: schema.and_then(|schema| schema.ask(&job.body, job.dialect)),
            route: routes
                .map(|routes| routes.decide(&job.body, job.dialect, job.path_model.as_deref())),
        }
    }

    fn candidates(&self, workload: &Workload, enabled: &EnabledMechanics<'_>) -> Candidates {
        let is_routed = matches!(self.route, Some(RouteDecision::To(_)));
        let may = |mechanic| enabled.off(mechanic).is_none();
        Candidates {
            opted_in: MechanicSet::EMPTY
                .with(Mechanic::M1, workload.routes.is_some() && may(Mechanic::M1))
                .with(Mechanic::M8, workload.schema.is_some() && may(Mechanic::M8)),
            eligible: MechanicSet::EMPTY
                .with(Mechanic::M1, is_routed)
                .with(Mechanic::M8, self.schema.is_some()),
        }
    }
}

/// Runs the chain over one body, on the thread of the caller. Who may do what is settled by the
/// engine's claim, for the mechanics of both crates.
pub(crate) fn run(job: &Job) -> Decision {
    let workload = &job.workload;
    let enabled = EnabledMechanics::of(
        &workload.canary,
        workload.configured(),
        &job.overrides,
        &job.body,
        job.dialect,
    );
    let offers = Offers::of(job, &enabled);
    let request = Request {
        dialect: Some(job.dialect),
        model: job.path_model.as_deref(),
        others: offers.candidates(workload, &enabled),
        summaries: job.summaries.as_ref().map(|known| known as &dyn Summaries),
        ..Request::default()
    };
    let off = Policy::default();
    let policy = enabled.policy().unwrap_or(&off);
    let outcome = job.engine.prune(&job.body, &request, policy);
    let mut decision = Decision {
        body: match outcome.body {
            Cow::Owned(body) => Some(Bytes::from(body)),
            Cow::Borrowed(_) => None,
        },
        failed_open: outcome.error.map(|_| FailOpen::Engine),
        session: enabled.session.clone(),
        held_out: enabled.is_held_out,
        wanted: outcome.wanted,
        ..Decision::default()
    };
    let mut report = outcome.report;
    for mechanic in [Mechanic::M7, Mechanic::M3] {
        if decision.body.is_some() && report.stack.contains(&mechanic.name()) {
            decision.fired(mechanic);
        } else {
            decision.skip(mechanic, why_not(&report, mechanic));
        }
    }
    schema_step(&offers, &report, &mut decision);
    route_step(job, &offers, &report, &mut decision);
    decision.routed_terms = decision
        .routed_to
        .as_deref()
        .map(|model| policy.terms(Some(model), Some(job.dialect)));
    for step in &mut decision.steps {
        if let Some(reason) = enabled.off(step.mechanic) {
            step.skipped = Some(reason.into());
        }
    }
    bound_texts(&mut report);
    decision.report = Some(Arc::new(report));
    decision
}

/// The report goes to the audit: a summary tells of the prompt, and a client may choose names of any length.
fn bound_texts(report: &mut Report) {
    if let Some(model) = &mut report.model {
        bound(model);
    }
    if let Verdict::FailedOpen(detail) = &mut report.verdict {
        bound(detail);
    }
    for edit in &mut report.plan.edits {
        if let Action::InsertTurn(_, text) = &mut edit.action {
            text.clear();
        }
    }
}

/// Why a mechanic stayed out, or claimed the request and found nothing to do.
fn why_not(report: &Report, mechanic: Mechanic) -> Cow<'static, str> {
    let Some(claim) = &report.claim else {
        return "failed-open".into();
    };
    if let Some(reason) = claim.why_not(mechanic) {
        return reason_name(reason).into();
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

/// M8, where it won.
fn schema_step(offers: &Offers, report: &Report, decision: &mut Decision) {
    let is_winner = report
        .claim
        .as_ref()
        .is_some_and(|claim| claim.winner == Some(Mechanic::M8));
    match &offers.schema {
        Some(body) if is_winner => {
            decision.body = Some(Bytes::copy_from_slice(body));
            decision.fired(Mechanic::M8);
        }
        _ => decision.skip(Mechanic::M8, why_not(report, Mechanic::M8)),
    }
}

/// M1, where no candidate would change the content, also none that did nothing in the end.
fn route_step(job: &Job, offers: &Offers, report: &Report, decision: &mut Decision) {
    let may_run = report
        .claim
        .as_ref()
        .is_some_and(|claim| claim.why_not(Mechanic::M1).is_none());
    let model = match &offers.route {
        Some(RouteDecision::To(model)) if may_run => model,
        Some(RouteDecision::Stays(reason)) => return decision.skip(Mechanic::M1, *reason),
        _ => return decision.skip(Mechanic::M1, why_not(report, Mechanic::M1)),
    };
    if job.path_model.is_none() {
        let Some(body) = route_in_body(&job.body, model) else {
            return decision.skip(Mechanic::M1, "no-model");
        };
        decision.body = Some(Bytes::from(body));
    }
    decision.routed_to = Some(model.clone());
    decision.fired(Mechanic::M1);
}

#[cfg(test)]
mod tests;
