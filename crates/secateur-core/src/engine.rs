//! The flow: read, plan, guard, lower, apply, verify. Fail-open is one `match`, here.

use std::borrow::Cow;

use crate::compose::{self, Draft};
use crate::dialect::{self, DialectId};
use crate::edit::{Plan, SkipReason, Target};
use crate::json::Limits;
use crate::lower::lower;
use crate::models;
use crate::policy::Policy;
use crate::report::{EngineError, Report, Size, Verdict};
use crate::scene::ModelFacts;
use crate::splice::Splices;
use crate::verify::verify;
use crate::view::View;

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
    let dialect = match request.dialect {
        Some(dialect) => dialect,
        None => dialect::detect(body, &request.limits)?,
    };
    let view = dialect::read(body, dialect, &request.limits)?;
    let mut plan = plan(&view, request, policy);
    let mut lowered = lower(&view, &plan.edits);
    if !lowered.refused.is_empty() {
        refuse(&mut plan, &lowered.refused);
        lowered = lower(&view, &plan.edits);
    }
    let splices = Splices::new(view.body(), lowered.splices)?;
    let mut report = Report::of(&view, plan);
    let Some(first_edit_at) = splices.first_edit_at() else {
        return Ok(Outcome {
            body: Cow::Borrowed(body),
            report,
            error: None,
        });
    };
    let output = splices.apply(view.body());
    verify(&view, lowered.items_after, &output, &request.limits, false)?;
    report.verdict = Verdict::Pruned;
    report.stack = vec!["m7"];
    report.first_edit_at = Some(first_edit_at as usize);
    report.turns_removed = Report::count_turns(&report.plan);
    report.after = Size {
        bytes: output.len(),
        chars: crate::json::strings::count_chars(output.as_bytes()),
        messages: lowered.items_after,
    };
    Ok(Outcome {
        body: Cow::Owned(output.into_owned().into_bytes()),
        report,
        error: None,
    })
}

/// Moves edits that did not fit to the skips.
fn refuse(plan: &mut Plan, refused: &[(usize, SkipReason)]) {
    for &(at, reason) in refused.iter().rev() {
        let edit = plan.edits.remove(at);
        plan.leave(Some(edit.strategy), edit.target(), reason);
    }
}

/// The plan for a body that was read: gate, strategies, guards.
#[must_use]
pub fn plan(view: &View<'_>, request: &Request<'_>, policy: &Policy) -> Plan {
    let skip = |reason| {
        let mut plan = Plan::default();
        plan.leave(None, Target::Request, reason);
        plan
    };
    if !policy.m7.enabled {
        return skip(SkipReason::NotOptedIn);
    }
    if !m7_is_eligible(view, policy) {
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
    };
    let visible = u32::try_from(view.turns().len()).unwrap_or(u32::MAX);
    let mut draft = Draft::new(view);
    let exchanges = view.exchanges();
    compose::run(
        view,
        &exchanges,
        model,
        visible,
        &policy.strategies(),
        &mut draft,
    );
    draft.into_plan()
}

/// More messages or more characters than the thresholds. A body cannot have more characters than
/// bytes, so small ones are not counted.
fn m7_is_eligible(view: &View<'_>, policy: &Policy) -> bool {
    let limit = policy.m7.min_body_chars;
    view.turns().len() > policy.m7.min_messages
        || (view.body().len() > limit && view.body_chars() > limit)
}
