//! Keeps the last turns and drops what is older.
//!
//! ## What it cuts
//! Turns before the last `max_turns`. The cut moves earlier until it splits no tool exchange and
//! the first kept turn is one that a user wrote, so somewhat more than `max_turns` can stay.
//!
//! ## When it stays out
//! Conversations of `max_turns` turns or fewer. The system prompt, what comes before the first user
//! turn, the last user turn, the last turn (also with `max_turns = 0`), turns with images or
//! documents and broken tool exchanges always stay. System turns do not count.
//!
//! ## Example
//! With `max_turns = 3` and user, call, result, answer, user, call, result: the third last turn is
//! the second user turn, so it and the exchange after it stay.
//!
//! Idempotent: the same cut is found again.

use super::{Strategy, Work};
use crate::options::options;
use crate::plan::context::PlanContext;
use crate::plan::edit::{CutReason, Plan, SkipReason, StrategyId, Target};
use crate::read::view::{Role, TurnId};

options! {
    /// Options of `turns-outside-window`.
    pub struct TurnsOutsideWindow {
        /// Turns that stay at the end, at least the last one.
        max_turns: usize = 20,
    }
}

impl TurnsOutsideWindow {
    /// Its id.
    pub const ID: StrategyId = StrategyId("turns-outside-window");
}

impl Strategy for TurnsOutsideWindow {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn work(&self) -> Work<'_> {
        Work::Whole(Box::new(|context| self.plan(context)))
    }
}

impl TurnsOutsideWindow {
    fn plan(&self, context: &PlanContext<'_, '_>) -> Plan {
        let turns = conversation(context);
        let cut = cut(context, &turns, self.max_turns, |turn| {
            context.is_user_authored(turn)
        });
        let mut plan = Plan::default();
        for &turn in &turns[..cut] {
            plan.edits
                .push(context.drop_turn(turn, Self::ID, CutReason::OutsideWindow));
        }
        if plan.edits.is_empty() {
            plan.leave(Some(Self::ID), Target::Request, SkipReason::NothingToCut);
        }
        plan
    }
}

/// The turns that count: all but system turns.
pub(super) fn conversation(context: &PlanContext<'_, '_>) -> Vec<TurnId> {
    context
        .turns()
        .filter(|&turn| context.role(turn) != Role::System)
        .collect()
}

/// How many of the turns lie before the window: at most all but the last `max_turns`, fewer where
/// that would split a unit or begin the window with a turn that `may_begin` refuses. One walk back.
pub(super) fn cut(
    context: &PlanContext<'_, '_>,
    turns: &[TurnId],
    max_turns: usize,
    may_begin: impl Fn(TurnId) -> bool,
) -> usize {
    let target = turns.len().saturating_sub(max_turns.max(1));
    let mut earliest_unit = TurnId(u32::MAX);
    for (at, &turn) in turns.iter().enumerate().rev() {
        earliest_unit = earliest_unit.min(context.unit(turn));
        if at <= target && earliest_unit >= turn && may_begin(turn) {
            return at;
        }
    }
    0
}

#[cfg(test)]
mod tests;
