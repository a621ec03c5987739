//! Keeps the last turns and drops what is older.
//!
//! ## What it cuts
//! Turns before the last `max_turns`. The cut moves earlier until it splits no tool exchange and
//! the first kept turn is one that a user wrote, so somewhat more than `max_turns` can stay.
//!
//! ## When it stays out
//! Conversations of `max_turns` turns or fewer. The system prompt, what stands before the first user
//! turn, the last user turn, the last turn (also with `max_turns = 0`), turns with images or
//! documents and broken tool exchanges always stay. System turns do not count.
//!
//! ## Example
//! With `max_turns = 3` and user, call, result, answer, user, call, result: the third last turn is
//! the second user turn, so it and the exchange behind it stay.
//!
//! Idempotent: the same cut is found again.

use super::{Strategy, options};
use crate::edit::{Plan, SkipReason, StrategyId, Target, Why};
use crate::scene::Scene;
use crate::view::{Role, TurnId};

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

    fn plan(&self, scene: &Scene<'_, '_>) -> Plan {
        let turns = conversation(scene);
        let cut = cut(scene, &turns, self.max_turns, |turn| {
            scene.is_user_authored(turn)
        });
        let mut plan = Plan::default();
        for &turn in &turns[..cut] {
            plan.edits
                .push(scene.drop_turn(turn, Self::ID, Why::OutsideWindow));
        }
        if plan.edits.is_empty() {
            plan.leave(Some(Self::ID), Target::Request, SkipReason::NothingToCut);
        }
        plan
    }
}

/// The turns that count: all but system turns.
pub(super) fn conversation(scene: &Scene<'_, '_>) -> Vec<TurnId> {
    scene
        .turns()
        .filter(|&turn| scene.role(turn) != Role::System)
        .collect()
}

/// How many of the turns lie before the window: at most all but the last `max_turns`, fewer where
/// that would split a unit or begin the window with a turn that `may_begin` refuses. One walk back.
pub(super) fn cut(
    scene: &Scene<'_, '_>,
    turns: &[TurnId],
    max_turns: usize,
    may_begin: impl Fn(TurnId) -> bool,
) -> usize {
    let target = turns.len().saturating_sub(max_turns.max(1));
    let mut earliest_unit = TurnId(u32::MAX);
    for (at, &turn) in turns.iter().enumerate().rev() {
        earliest_unit = earliest_unit.min(scene.unit(turn));
        if at <= target && earliest_unit >= turn && may_begin(turn) {
            return at;
        }
    }
    0
}

#[cfg(test)]
mod tests;
