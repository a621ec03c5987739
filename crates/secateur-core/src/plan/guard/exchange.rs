//! A call and its results stay together: all turns of a unit go, or none.

use crate::plan::context::PlanContext;
use crate::plan::edit::{Plan, SkipReason, StrategyId, Target};

use super::turn_id;

/// Gives back the wanted turns whose unit has a turn that stays.
pub(super) fn keep_units_whole(
    context: &PlanContext<'_, '_>,
    wanted: &mut [bool],
    strategy: Option<StrategyId>,
    plan: &mut Plan,
) {
    let mut has_kept = vec![false; wanted.len()];
    for turn in context.view.turn_ids() {
        if !wanted[turn.index()] && !context.draft.is_gone(turn) {
            has_kept[context.unit(turn).index()] = true;
        }
    }
    for (at, want) in wanted.iter_mut().enumerate() {
        if *want && has_kept[context.unit(turn_id(at)).index()] {
            *want = false;
            plan.leave(
                strategy,
                Target::Turn(turn_id(at)),
                SkipReason::ExchangeStays,
            );
        }
    }
}
