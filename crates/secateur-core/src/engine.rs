//! The flow: read, plan, guard, lower, apply, verify. Fail-open is one `match`, here.

use std::borrow::Cow;

use crate::compose::{self, Draft, Stage};
use crate::dialect::{self, DialectId};
use crate::edit::{Plan, SkipReason, Target};
use crate::json::Limits;
use crate::lower::lower;
use crate::models;
use crate::policy::{Cadence, Policy};
use crate::report::{EngineError, Report, Size, Verdict};
use crate::rounds::{self, Account};
use crate::scene::ModelFacts;
use crate::splice::Splices;
use crate::verify::verify;
use crate::view::{TurnId, View};

/// What goes out, and what was done.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// The output. Borrowed: it is the input, the same bytes.
    pub body: Cow<'a, [u8]>,
    /// What was done.
    pub report: Report,
    /// Why the engine gave up, if it did.
    pub error: Option<EngineError>,
}

/// What a request is and may be, apart from its bytes and its policy.
#[derive(Clone, Debug, Default)]
pub struct Request<'r> {
    /// The dialect; `None` finds it by shape.
    pub dialect: Option<DialectId>,
    /// The model, where the body does not name it (Gemini has it in the URL).
    pub model: Option<&'r str>,
    /// Bounds on what is read.
    pub limits: Limits,
}

/// Prunes one body. Never fails: on any doubt the original goes out, with the reason.
#[must_use]
pub fn prune<'a>(body: &'a [u8], request: &Request<'_>, policy: &Policy) -> Outcome<'a> {
    match try_prune(body, request, policy) {
        Ok(outcome) => outcome,
        Err(error) => Outcome {
            body: Cow::Borrowed(body),
            report: Report::unread(body, &error),
            error: Some(error),
        },
    }
}

fn try_prune<'a>(
    body: &'a [u8],
    request: &Request<'_>,
    policy: &Policy,
) -> Result<Outcome<'a>, EngineError> {
    let Applied {
        view,
        mut report,
        output,
        items_after,
    } = apply(body, request, policy)?;
    let Cow::Owned(output) = output else {
        return Ok(Outcome {
            body: Cow::Borrowed(body),
            report,
            error: None,
        });
    };
    verify(&view, items_after, &output, &request.limits, false)?;
    report.verdict = Verdict::Pruned;
    report.stack = vec!["m7"];
    report.turns_removed = Report::count_turns(&report.plan);
    report.after = Size {
        bytes: output.len(),
        chars: crate::json::strings::count_chars(output.as_bytes()),
        messages: items_after,
    };
    Ok(Outcome {
        body: Cow::Owned(output.into_bytes()),
        report,
        error: None,
    })
}

/// A body with its plan carried out and not verified yet.
#[derive(Debug)]
#[doc(hidden)]
pub struct Applied<'a> {
    view: View<'a>,
    report: Report,
    output: Cow<'a, str>,
    items_after: usize,
}

/// Read, plan, guard, lower and apply: everything but the last look. Public for benchmarks.
///
/// # Errors
/// What makes [`prune`] fail open before it verifies.
#[doc(hidden)]
pub fn apply<'a>(
    body: &'a [u8],
    request: &Request<'_>,
    policy: &Policy,
) -> Result<Applied<'a>, EngineError> {
    let dialect = match request.dialect {
        Some(dialect) => dialect,
        None => dialect::detect(body, &request.limits)?,
    };
    let view = dialect::read(body, dialect, &request.limits)?;
    let Planned { mut plan, account } = plan(&view, request, policy);
    let mut lowered = lower(&view, &plan.edits);
    if !lowered.refused.is_empty() {
        refuse(&mut plan, &lowered.refused);
        lowered = lower(&view, &plan.edits);
    }
    let splices = Splices::new(view.body(), lowered.splices)?;
    let mut report = Report::of(&view, plan);
    report.account = account;
    report.first_edit_at = splices.first_edit_at().map(|at| at as usize);
    let output = splices.apply(view.body());
    Ok(Applied {
        view,
        report,
        output,
        items_after: lowered.items_after,
    })
}

/// Moves edits that did not fit to the skips.
fn refuse(plan: &mut Plan, refused: &[(usize, SkipReason)]) {
    for &(at, reason) in refused.iter().rev() {
        let edit = plan.edits.remove(at);
        plan.leave(Some(edit.strategy), edit.target(), reason);
    }
}

/// A plan, and what the conversation cost so far if it is pruned in rounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Planned {
    /// What to cut.
    pub plan: Plan,
    /// What it cost.
    pub account: Option<Account>,
}

/// The plan for a body that was read: gate, strategies, guards.
#[must_use]
pub fn plan(view: &View<'_>, request: &Request<'_>, policy: &Policy) -> Planned {
    let skip = |reason| {
        let mut plan = Plan::default();
        plan.leave(None, Target::Request, reason);
        Planned {
            plan,
            account: None,
        }
    };
    if !policy.m7.enabled {
        return skip(SkipReason::NotOptedIn);
    }
    if policy.cadence == Cadence::EveryRequest && !m7_is_eligible(view, policy) {
        return skip(SkipReason::NotEligible);
    }
    if view.history_is_elsewhere() {
        return skip(SkipReason::HistoryIsElsewhere);
    }
    let body_model = view.model();
    let name = request.model.or(body_model.as_deref());
    let model = ModelFacts {
        window_tokens: policy.window_tokens(name),
        thinking_is_bound: name.is_some_and(models::thinking_is_bound),
        cache: models::cache_prices(name),
    };
    let stage = Stage::new(view, model);
    let mut draft = Draft::new(view);
    match policy.cadence {
        Cadence::EveryRequest => {
            compose::run(&stage, &policy.strategies(), &mut draft);
            Planned {
                plan: draft.into_plan(),
                account: None,
            }
        }
        Cadence::Rounds => {
            let is_eligible = |visible: u32| m7_was_eligible(view, policy, visible);
            let strategies = policy.strategies();
            let account =
                rounds::fold(&stage, &policy.rounds, is_eligible, &strategies, &mut draft);
            Planned {
                plan: draft.into_plan(),
                account: Some(account),
            }
        }
    }
}

/// Whether the request with the first `visible` turns was eligible. What stands outside the list of
/// turns is taken to have been there from the start.
fn m7_was_eligible(view: &View<'_>, policy: &Policy, visible: u32) -> bool {
    let Some(last) = visible.checked_sub(1).map(TurnId) else {
        return false;
    };
    let list = view.list().unwrap_or_default();
    let outside = view.body().len() - list.len();
    let inside = view.turn_span(last).end.saturating_sub(list.start) as usize;
    visible as usize > policy.m7.min_messages || outside + inside > policy.m7.min_body_chars
}

/// More messages or more characters than the thresholds. A body cannot have more characters than
/// bytes, so small ones are not counted.
fn m7_is_eligible(view: &View<'_>, policy: &Policy) -> bool {
    let limit = policy.m7.min_body_chars;
    view.turns().len() > policy.m7.min_messages
        || (view.body().len() > limit && view.body_chars() > limit)
}
