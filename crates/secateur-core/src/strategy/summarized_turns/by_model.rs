//! `summary = "model"`: a text that a model wrote, where it is there.
//!
//! **Invariant:** what is planned depends on the turns and on what is known under their keys alone.

use super::super::digest;
use super::older::{Older, covered_turns};
use super::{OnMiss, SummarizedTurns};
use crate::plan::context::PlanContext;
use crate::plan::edit::{Plan, SkipReason};
use crate::plan::summary::{Found, Want};
use crate::read::view::TurnId;

/// How many steps back an earlier summary is searched for.
const STEPS_BACK: usize = 4;

pub(super) fn plan(
    options: &SummarizedTurns,
    context: &PlanContext<'_, '_>,
    turns: &[TurnId],
) -> Plan {
    let step = options.summary_step_turns.max(1);
    let newest = stepped(context, turns, options.max_turns.max(1), step);
    let tries = match options.summary_on_miss {
        OnMiss::Digest => 1,
        OnMiss::Earlier => STEPS_BACK,
    };
    let mut wants = Vec::new();
    let mut nothing = SkipReason::SummaryIsMissing;
    for back in 0..tries {
        let older = match Older::before(context, turns, newest + back * step) {
            Ok(older) => older,
            Err(reason) if back == 0 => {
                nothing = reason;
                break;
            }
            Err(_) => break,
        };
        let want = Want::of(
            context.view,
            context.exchanges,
            &older.dropped,
            &options.summary_model,
        );
        let found = context.find_summary(&want.key);
        if back == 0 && found == Found::Missing {
            wants.push(want);
        }
        let mut plan = match (found, options.summary_on_miss) {
            (Found::Ready(text), _) => {
                let text = format!("\n{}", text.trim());
                older.summarize(context, &[&text, &digest::of(context, &older.dropped), ""])
            }
            (_, OnMiss::Digest) => {
                older.summarize(context, &[&digest::of(context, &older.dropped), ""])
            }
            (_, OnMiss::Earlier) => continue,
        };
        plan.wants = wants;
        return plan;
    }
    let mut plan = Plan::skip(SummarizedTurns::ID, nothing);
    plan.wants = wants;
    plan
}

/// How many turns stay so that the number of those that go is a multiple of `step`. Counted from the
/// beginning of the conversation, also where an earlier summary covers it.
fn stepped(
    context: &PlanContext<'_, '_>,
    turns: &[TurnId],
    max_turns: usize,
    step: usize,
) -> usize {
    let covered = turns
        .first()
        .and_then(|&first| covered_turns(context, first));
    let elsewhere = covered.unwrap_or(1).saturating_sub(1);
    let going = (turns.len() + elsewhere).saturating_sub(max_turns);
    let going = (going - going % step).saturating_sub(elsewhere);
    turns.len().saturating_sub(going)
}

#[cfg(test)]
mod tests;
