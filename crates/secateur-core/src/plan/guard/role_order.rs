//! The order of turns stays acceptable: the first turn is the user's where a conversation begins that way,
//! and a turn with calls follows a user turn or results where the provider demands that.
//!
//! Only what a drop would newly break is repaired: an input that was out of order stays as it was.

use crate::plan::context::PlanContext;
use crate::plan::edit::{Plan, SkipReason, StrategyId, Target};
use crate::read::view::{PartKind, Role, TurnId};

use super::turn_id;

/// Gives back one turn for each place where dropping the turns before it breaks the order.
/// Returns whether any was given back.
pub(super) fn give_back(
    context: &PlanContext<'_, '_>,
    wanted: &mut [bool],
    mut has_summary: bool,
    strategy: Option<StrategyId>,
    plan: &mut Plan,
) -> bool {
    let rules = context.view.dialect().facts().rules;
    let mut given_back = false;
    let mut before: Option<TurnId> = None;
    let mut gap_from = 0;
    for at in 0..wanted.len() {
        let turn = turn_id(at);
        if wanted[at] || context.draft.is_gone(turn) {
            continue;
        }
        let gap = gap_from..at;
        gap_from = at + 1;
        let role = context.role(turn);
        let is_first = before.is_none_or(|before| context.role(before) == Role::System);
        let breaks_first = rules.user_stays_first
            && is_first
            && !matches!(role, Role::User | Role::System | Role::Other);
        let breaks_calls = rules.calls_follow_user
            && role == Role::Assistant
            && before.is_some_and(|before| context.role(before) == Role::Assistant)
            && context
                .view
                .parts_of(turn)
                .any(|part| context.kind(part) == PartKind::Call);
        before = Some(turn);
        // The new user turn takes the position of the first run of dropped turns, if that lies
        // before the last user message.
        let is_before_last_user = context.last_user().is_none_or(|last| turn <= last);
        if has_summary && is_before_last_user && gap.clone().any(|at| wanted[at]) {
            has_summary = false;
            continue;
        }
        if !(breaks_first || breaks_calls) {
            continue;
        }
        // The nearest dropped user turn repairs it; a plain one ties no other turn in.
        let is_user = |&at: &usize| wanted[at] && context.role(turn_id(at)) == Role::User;
        let plain = gap
            .clone()
            .rev()
            .filter(is_user)
            .find(|&at| !context.touches_tools(turn_id(at)));
        if let Some(repair) = plain.or_else(|| gap.rev().find(is_user)) {
            wanted[repair] = false;
            given_back = true;
            plan.leave(
                strategy,
                Target::Turn(turn_id(repair)),
                SkipReason::RoleOrder,
            );
        }
    }
    given_back
}
