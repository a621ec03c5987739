//! What no plan may do, whichever strategy made it. One file per invariant.
//!
//! Guards take edits away. Two of them also change a plan: thinking that an edit makes invalid goes with it
//! (`signed_thinking`), and a result that notes point to is cleared around the cited lines (`cited_lines`).

mod cited_lines;
mod exchange;
mod part;
mod pointed_to;
mod role_order;
mod signed_thinking;
mod stays;

pub(crate) use cited_lines::CitedLines;
pub(crate) use part::Reach;
pub(crate) use part::{veto_arrangement, veto_part};
pub(crate) use pointed_to::keep_what_is_pointed_to;
pub(crate) use signed_thinking::{
    open_exchange_needs_thinking, open_exchange_waits, position, remove_bound_thinking,
    signed_thinking,
};
pub(crate) use stays::why_turn_stays;

use crate::plan::context::PlanContext;
use crate::plan::edit::{Edit, Plan, StrategyId, Target};
use crate::read::view::TurnId;

/// Which of the wanted drops (index: turn) are safe together. The others are noted in `plan`.
/// `has_summary`: a new user turn takes the position of the first run of dropped turns, but not after the
/// last user message.
pub(crate) fn settle_drops(
    context: &PlanContext<'_, '_>,
    mut wanted: Vec<bool>,
    has_summary: bool,
    strategy: Option<StrategyId>,
    plan: &mut Plan,
) -> Vec<bool> {
    if !wanted.contains(&true) {
        return wanted;
    }
    for (at, want) in wanted.iter_mut().enumerate().filter(|(_, want)| **want) {
        if let Some(reason) = why_turn_stays(context, turn_id(at)) {
            *want = false;
            plan.leave(strategy, Target::Turn(turn_id(at)), reason);
        }
    }
    // Keeping a turn for its role or for a note can keep its unit, which can call for another turn:
    // each round gives at least one turn back, and real plans settle in one or two.
    loop {
        exchange::keep_units_whole(context, &mut wanted, strategy, plan);
        let for_notes = pointed_to::give_back(context, &mut wanted, strategy, plan);
        let for_roles = role_order::give_back(context, &mut wanted, has_summary, strategy, plan);
        if !for_notes && !for_roles {
            return wanted;
        }
    }
}

/// Which of the wanted drops (index: turn) the guards would let through.
pub(crate) fn allowed_drops(context: &PlanContext<'_, '_>, wanted: Vec<bool>) -> Vec<bool> {
    settle_drops(context, wanted, false, None, &mut Plan::default())
}

/// Which of the wanted drops the guards would let through if a new user turn replaces the first dropped ones.
pub(crate) fn allowed_summarized_drops(
    context: &PlanContext<'_, '_>,
    wanted: Vec<bool>,
) -> Vec<bool> {
    settle_drops(context, wanted, true, None, &mut Plan::default())
}

/// Whether the guards would let an edit of a part through.
pub(crate) fn allows(context: &PlanContext<'_, '_>, edit: &Edit) -> bool {
    match edit.target() {
        Target::Part(part) => veto_part(context, edit, part, Reach::default()).is_ok(),
        Target::Turn(_) | Target::Request => false,
    }
}

fn turn_id(index: usize) -> TurnId {
    TurnId(u32::try_from(index).unwrap_or(u32::MAX))
}
