//! The promises of the engine, judged on one body and one policy.
//!
//! Bytes are cut by serde_json ([`RawRequest`]) and acceptance is judged by [`accept`], so a bug in
//! the engine's reader or in its own check does not hide itself. The plan says only *where* edits
//! are; that everything else is untouched is found out from the bytes.

mod compressed;
mod content;
mod edits;

use std::borrow::Cow;

use secateur_core::Limits;
use secateur_core::check::check;
use secateur_core::dialect::{self, Dialect};
use secateur_core::internal::edit::{Action, Plan};
use secateur_core::report::{EngineError, Verdict};
use secateur_core::{Outcome, Request, prune};
use serde_json::Value;

use crate::accept::{self, Complaints};
use crate::policies::Named;
use crate::raw::RawRequest;
use compressed::only_whitespace_is_gone;
use content::{ends_survive, thinking_is_whole_or_gone, untouchables_survive};
use edits::{is_subsequence, items_survive, texts_survive};

/// What became of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The engine could not read it and gave it back.
    Unread,
    /// There was nothing to cut; at most it was marked for the cache.
    Unchanged,
    /// It became smaller.
    Pruned,
}

macro_rules! demand {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

use demand;

/// Prunes `body` and judges the result.
///
/// # Errors
/// The promise that was broken.
pub fn hold(dialect: Dialect, body: &[u8], named: &Named) -> Result<Fate, String> {
    let request = Request {
        dialect: Some(dialect),
        ..Request::default()
    };
    let outcome = prune(body, &request, &named.policy);
    let again = prune(body, &request, &named.policy);
    demand!(
        again.body == outcome.body && again.report == outcome.report,
        "two runs differ"
    );
    let sizes = (outcome.report.before.bytes, outcome.report.after.bytes);
    demand!(
        sizes == (body.len(), outcome.body.len()),
        "the report's sizes are wrong: {sizes:?}"
    );
    match (&outcome.body, &outcome.error) {
        (Cow::Borrowed(same), error) => {
            demand!(std::ptr::eq(*same, body), "unchanged, but another slice");
            demand!(
                outcome.report.verdict != Verdict::Pruned,
                "unchanged, but the verdict says pruned"
            );
            match error {
                None => Ok(Fate::Unchanged),
                Some(EngineError::Read(_)) => Ok(Fate::Unread),
                // An input that was broken before may defeat the guards; the original then goes out.
                Some(EngineError::Verify(_)) if !complaints(dialect, body)?.is_empty() => {
                    Ok(Fate::Unchanged)
                }
                // The engine saved itself, but a guard let something through that it should not.
                Some(error) => Err(format!("gave up at the end: {error}")),
            }
        }
        (Cow::Owned(_), Some(error)) => Err(format!("changed in spite of {error}")),
        (Cow::Owned(out), None) => {
            let unmarked = without_own_marks(body, out, &outcome.report.plan);
            if outcome.report.verdict == Verdict::Marked {
                demand!(unmarked == body, "more than markers was added");
                let next = prune(out, &request, &named.policy);
                demand!(
                    matches!(next.body, Cow::Borrowed(_)),
                    "a marked request is edited again: {:?}",
                    next.report.plan.edits
                );
                return Ok(Fate::Unchanged);
            }
            judge(dialect, body, &unmarked, &outcome, named)?;
            if named.is_idempotent {
                let next = prune(out, &request, &named.policy);
                demand!(
                    matches!(next.body, Cow::Borrowed(_)),
                    "not idempotent: a second run edits {:?}",
                    next.report.plan.edits
                );
            }
            Ok(Fate::Pruned)
        }
    }
}

/// The output without the markers of a policy that asks for them, which go to requests that have none.
fn without_own_marks<'o>(body: &[u8], out: &'o [u8], plan: &Plan) -> Cow<'o, [u8]> {
    let text = String::from_utf8_lossy(out);
    let mut unmarked = text.to_string();
    let own = plan
        .edits
        .iter()
        .filter(|edit| edit.strategy.0 == "cache-mark");
    for edit in own {
        if let Action::Mark(mark) = &edit.action {
            unmarked = unmarked.replacen(&format!("{},", mark.member), "", 1);
        }
    }
    if unmarked.len() == text.len() || String::from_utf8_lossy(body).contains("cache_control") {
        return Cow::Borrowed(out);
    }
    Cow::Owned(unmarked.into_bytes())
}

fn judge(
    dialect: Dialect,
    body: &[u8],
    out: &[u8],
    outcome: &Outcome<'_>,
    named: &Named,
) -> Result<(), String> {
    let report = &outcome.report;
    demand!(report.verdict == Verdict::Pruned, "changed, but not pruned");
    let may_be_as_long = report
        .plan
        .edits
        .iter()
        .any(secateur_core::internal::edit::Edit::reorders);
    demand!(
        out.len() < body.len() || (may_be_as_long && out.len() == body.len()),
        "not smaller"
    );
    let first_edit_at = report.first_edit_at.ok_or("no first_edit_at")?;
    demand!(
        out.get(..first_edit_at) == body.get(..first_edit_at),
        "bytes before the first edit differ"
    );
    if report.compress.is_some() {
        only_whitespace_is_gone(body, out)?;
        return stays_acceptable(dialect, body, out);
    }
    let before = RawRequest::cut(body, dialect).ok_or("the input has no list")?;
    let after = RawRequest::cut(out, dialect).ok_or("the output has no list")?;
    demand!(
        before.before == after.before,
        "bytes before the list differ"
    );
    demand!(
        before.behind == after.behind,
        "bytes behind the list differ"
    );
    demand!(
        before.members == after.members,
        "a top-level member differs"
    );
    demand!(!after.items.is_empty(), "no turn is left");
    demand!(
        after.items.len() == report.after.messages,
        "the report counts other messages"
    );
    items_survive(dialect, body, &before, &after, &report.plan)?;
    texts_survive(dialect, body, out, &report.plan)?;
    let drops_only = report
        .plan
        .edits
        .iter()
        .all(|edit| matches!(edit.action, Action::DropTurn(_) | Action::DropPart(_)));
    demand!(
        !drops_only || is_subsequence(out, body),
        "the output is not the input with bytes removed"
    );
    let edits_last_user = named
        .policy
        .strategies()
        .iter()
        .any(|strategy| strategy.may_touch().last_user);
    let anchor = report
        .plan
        .edits
        .iter()
        .find_map(|edit| match &edit.action {
            Action::Mark(mark) if edit.strategy.0 == "cache-anchor" => Some(mark.member.as_str()),
            _ => None,
        });
    ends_survive(dialect, &before, &after, edits_last_user, anchor)?;
    let strategies = named.policy.strategies();
    let edits_documents = strategies
        .iter()
        .any(|strategy| strategy.may_touch().documents);
    untouchables_survive(dialect, &before, &after, edits_documents)?;
    let in_rounds = named.policy.cadence == secateur_core::policy::Cadence::Rounds;
    thinking_is_whole_or_gone(dialect, &before, &after, first_edit_at, in_rounds)?;
    stays_acceptable(dialect, body, out)
}

/// No rule of the provider is broken more often than before, and the engine's own check agrees.
fn stays_acceptable(dialect: Dialect, body: &[u8], out: &[u8]) -> Result<(), String> {
    let (was, is) = (complaints(dialect, body)?, complaints(dialect, out)?);
    for (rule, count) in &is {
        demand!(
            *count <= was.get(rule).copied().unwrap_or(0),
            "the provider would complain: {rule} ({was:?} before, {is:?} now)"
        );
    }
    let begins = |body: &[u8]| -> Result<bool, String> {
        let value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        Ok(accept::begins_with_user(&value, dialect))
    };
    let keeps_first = matches!(
        dialect,
        Dialect::AnthropicMessages | Dialect::GeminiGenerateContent
    );
    demand!(
        !keeps_first || begins(out)? || !begins(body)?,
        "the output does not begin with a user's turn any more"
    );
    agree(dialect, out)
}

fn complaints(dialect: Dialect, body: &[u8]) -> Result<Complaints, String> {
    let value: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    Ok(accept::complaints(&value, dialect))
}

/// Whether the engine's check and [`accept`] judge a body alike.
///
/// # Errors
/// The two verdicts.
pub fn agree(dialect: Dialect, body: &[u8]) -> Result<(), String> {
    let Ok(view) = dialect::read(body, dialect, &Limits::default()) else {
        return Ok(());
    };
    let (ours, theirs) = (check(&view), complaints(dialect, body)?);
    demand!(
        ours.len() == theirs.values().sum::<usize>(),
        "check says {ours:?}, the other judge {theirs:?}"
    );
    Ok(())
}
