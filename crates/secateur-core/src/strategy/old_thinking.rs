//! Removes whole thinking blocks of older assistant turns.
//!
//! ## What it cuts
//! Every thinking block of an assistant turn that is older than the last `keep_last_assistants`
//! assistant turns. A block is removed whole or kept; its text and signature are never altered.
//!
//! ## When it stays out
//! An open tool exchange keeps its thinking, and with `keep_since_last_user` so does everything the
//! model did since the last user message, because providers take the thinking of a running task back
//! unchanged only. A turn that is nothing but thinking stays. By dialect:
//! - `anthropic-messages`: `thinking` and `redacted_thinking` blocks go. On models whose thinking is
//!   bound to everything before it, the later blocks go with them, or the plan waits.
//! - `openai-responses`: reasoning items stay (`signed`): the provider rejects a call or message
//!   whose reasoning item is missing. They go with their whole turn, where another strategy drops it.
//! - `gemini-generate-content`: thought summaries go; parts with a `thoughtSignature` stay (`signed`).
//! - `openai-chat`: thinking that is a content block goes; `reasoning_content` and its like are
//!   members of the message and stay (`does-not-fit`).
//!
//! ## Example
//! Of ten assistant turns with thinking before the last question, the first seven lose it.
//!
//! Idempotent.

use super::{Strategy, Work};
use crate::options::options;
use crate::plan::context::PlanContext;
use crate::plan::edit::{CutReason, Effect, Plan, SkipReason, StrategyId};
use crate::read::view::{PartKind, Role, TurnId};

options! {
    /// Options of `old-thinking`.
    pub struct OldThinking {
        /// Assistant turns at the end that keep their thinking.
        keep_last_assistants: usize = 3,
        /// Whether thinking since the last user message stays.
        keep_since_last_user: bool = true,
    }
}

impl OldThinking {
    /// Its id.
    pub const ID: StrategyId = StrategyId("old-thinking");
}

impl Strategy for OldThinking {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn work(&self) -> Work<'_> {
        Work::Whole(Box::new(|context| self.plan(context)))
    }
}

impl OldThinking {
    fn plan(&self, context: &PlanContext<'_, '_>) -> Plan {
        let assistants: Vec<TurnId> = context
            .turns()
            .filter(|&turn| context.role(turn) == Role::Assistant)
            .collect();
        let old = assistants.len().saturating_sub(self.keep_last_assistants);
        let until = match (self.keep_since_last_user, context.last_user()) {
            (true, Some(last_user)) => last_user,
            (true, None) => TurnId(0),
            (false, _) => TurnId(u32::MAX),
        };
        let mut plan = Plan::default();
        for &turn in &assistants[..old] {
            if turn >= until {
                break;
            }
            for part in context.parts(turn) {
                if context.kind(part) == PartKind::Thinking {
                    plan.edits.push(
                        context
                            .drop_part(part, Self::ID, CutReason::OldThinking)
                            .with_effect(Effect::RemovesUnused),
                    );
                }
            }
        }
        if plan.edits.is_empty() {
            return Plan::skip(Self::ID, SkipReason::NothingToCut);
        }
        plan
    }
}
