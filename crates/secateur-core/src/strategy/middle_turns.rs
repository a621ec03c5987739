//! Drops the middle of a long conversation: turns between the head and the last turns.
//!
//! ## What it cuts
//! Turns after the first `keep_head_turns` (counted from the first user turn) and before the last
//! `keep_last_turns`, if they carry no tool call and no tool result. With `drop_tool_turns`, whole
//! tool exchanges in the middle go too: a call never without its results.
//!
//! ## When it stays out
//! Conversations that are not longer than head and tail together. The system prompt, everything
//! before the first user turn, the last user turn, turns with images or documents, and tool
//! exchanges that reach into the kept turns always stay.
//!
//! ## Example
//! With 20 plain turns and the defaults, turn 1 (the task) and turns 13 to 20 stay, 2 to 12 go.
//!
//! Idempotent: what is left is head and tail.

use super::{Strategy, Work};
use crate::options::options;
use crate::plan::context::PlanContext;
use crate::plan::edit::{CutReason, Plan, SkipReason, StrategyId};
use crate::read::view::TurnId;

options! {
    /// Options of `middle-turns`.
    pub struct MiddleTurns {
        /// Turns that are kept from the first user turn on: the task.
        keep_head_turns: usize = 1,
        /// Turns that are kept at the end.
        keep_last_turns: usize = 8,
        /// Whether whole tool exchanges in the middle go too.
        drop_tool_turns: bool = false,
    }
}

impl MiddleTurns {
    /// Its id.
    pub const ID: StrategyId = StrategyId("middle-turns");
}

impl Strategy for MiddleTurns {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn work(&self) -> Work<'_> {
        Work::Whole(Box::new(|context| self.plan(context)))
    }
}

impl MiddleTurns {
    fn plan(&self, context: &PlanContext<'_, '_>) -> Plan {
        let Some(first_user) = context.first_user() else {
            return Plan::skip(Self::ID, SkipReason::BeforeFirstUser);
        };
        let turns: Vec<TurnId> = context.turns().filter(|&turn| turn >= first_user).collect();
        let middle_end = turns.len().saturating_sub(self.keep_last_turns);
        let middle = turns
            .get(self.keep_head_turns..middle_end)
            .unwrap_or_default();
        let mut plan = Plan::default();
        for &turn in middle {
            let why = match (context.touches_tools(turn), self.drop_tool_turns) {
                (false, _) => CutReason::MiddleTurn,
                (true, true) => CutReason::MiddleExchange,
                (true, false) => continue,
            };
            plan.edits.push(context.drop_turn(turn, Self::ID, why));
        }
        if plan.edits.is_empty() {
            return Plan::skip(Self::ID, SkipReason::NothingToCut);
        }
        plan
    }
}
