//! Replaces the outputs of tools that are not protected, except in the last user turns.
//!
//! ## What it cuts
//! Tool results that come before the `skip_user_turns`-th last user turn, unless their tool is in
//! `protected_tools` (`*` wildcards, whatever the case): outputs such as loaded instructions are
//! kept. They become `<tool-output-compacted />`, or with `placeholder = "described"` a line that
//! says which tool ran, how it ended and how large its output was, or with `keep_head_chars` and
//! `keep_tail_chars` their own head and tail. With `protect_tokens`, the newest outputs up to that
//! many tokens stay too; with `minimum_tokens`, nothing is cut unless more than that is freed. A
//! token is four characters, rounded.
//!
//! ## When it stays out
//! With fewer user turns than `skip_user_turns`; on results with images, documents or unknown
//! blocks; on results that are shorter than what would take their place; with `keep_errors`, on
//! failed results. A user turn is one that a user wrote: a message with only tool results is none.
//!
//! ## Example
//! Messages 0 to 9, user turns at 0, 3 and 8: everything from 3 on stays, the result at 2 goes.
//!
//! Idempotent: replaced outputs are recognised.

use super::cleared::Words;
use super::head_and_tail::HeadAndTail;
use super::{Strategy, Work};
use crate::options::options;
use crate::plan::context::PlanContext;
use crate::plan::draft::PartState;
use crate::plan::edit::{CutReason, Edit, Plan, SkipReason, StrategyId, Target};
use crate::plan::placeholder::Style;
use crate::read::view::{PartId, PartKind, TurnId};
use crate::tools::names::Patterns;

options! {
    /// Options of `unprotected-tool-outputs`.
    pub struct UnprotectedToolOutputs {
        /// User turns at the end from which on everything stays; 0 protects none.
        skip_user_turns: usize = 2,
        /// Tools whose outputs stay: `*` wildcards, case-insensitive.
        protected_tools: Vec<String> = vec!["skill".to_owned()],
        /// The newest older outputs stay up to this many tokens; 0 keeps none of them.
        protect_tokens: usize = 0,
        /// Nothing is cut unless more than this many tokens are freed; 0 always cuts.
        minimum_tokens: usize = 0,
        /// Whether results that the client marked as failed stay and do not count.
        keep_errors: bool = false,
        /// `plain` puts `placeholder_text` there, `described` says which tool ran, how it ended and how large its output was.
        placeholder: Style = Style::Plain,
        /// The text that replaces an output.
        placeholder_text: String = DEFAULT_TEXT.to_owned(),
        /// Characters that stay at the beginning of an output; with `keep_tail_chars` 0, too, it goes whole.
        keep_head_chars: usize = 0,
        /// Characters that stay at the end of an output.
        keep_tail_chars: usize = 0,
        /// Whether a cut moves to the end of a line, if one lies within 20 % of what is kept.
        snap_to_lines: bool = false,
    }
}

const DEFAULT_TEXT: &str = "<tool-output-compacted />";
const CHARS_PER_TOKEN: usize = 4;

impl UnprotectedToolOutputs {
    /// Its id.
    pub const ID: StrategyId = StrategyId("unprotected-tool-outputs");

    fn words(&self) -> Words<'_> {
        let plain = self.placeholder_text.trim();
        Words {
            style: self.placeholder,
            plain: if plain.is_empty() {
                DEFAULT_TEXT
            } else {
                plain
            },
        }
    }

    /// The outputs before the boundary that may be cut, newest call first.
    fn eligible(
        &self,
        context: &PlanContext<'_, '_>,
        boundary: TurnId,
        plan: &mut Plan,
    ) -> Vec<PartId> {
        let protected = Patterns::new(&self.protected_tools);
        let mut found: Vec<(PartId, PartId)> = Vec::new();
        let old = context.turns().take_while(|&turn| turn <= boundary);
        for part in old.flat_map(|turn| context.parts(turn)) {
            if context.kind(part) != PartKind::Result {
                continue;
            }
            let Some(call) = context.call_of(part) else {
                plan.leave(Some(Self::ID), Target::Part(part), SkipReason::BrokenPair);
                continue;
            };
            // Results and the user's next words can share a turn: those results come before them.
            if context.turn_of(call).is_none_or(|turn| turn >= boundary) {
                continue;
            }
            let name = context.tool_name(part);
            let refused = if protected.match_any(name.as_deref().unwrap_or_default()) {
                Some(SkipReason::ToolIsProtected)
            } else if context.has_media(part) {
                Some(SkipReason::Media)
            } else {
                None
            };
            match refused {
                Some(reason) => plan.leave(Some(Self::ID), Target::Part(part), reason),
                None if self.keep_errors && context.is_error(part) => {}
                None => found.push((call, part)),
            }
        }
        found.sort_unstable();
        found.into_iter().rev().map(|(_, result)| result).collect()
    }

    fn cut(&self, context: &PlanContext<'_, '_>, result: PartId) -> Option<Edit> {
        let words = self.words();
        if context.state(result) == PartState::Cleared || words.already_in(context, result) {
            return None;
        }
        if self.keep_head_chars == 0 && self.keep_tail_chars == 0 {
            return Some(words.clear(context, result, Self::ID, CutReason::UnprotectedToolOutput));
        }
        if context.state(result) != PartState::Whole {
            return None;
        }
        let kept = HeadAndTail {
            head_chars: self.keep_head_chars,
            tail_chars: self.keep_tail_chars,
            snap_to_lines: self.snap_to_lines,
        };
        kept.trim(context, result, Self::ID, CutReason::UnprotectedToolOutput)
    }
}

impl Strategy for UnprotectedToolOutputs {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn work(&self) -> Work<'_> {
        Work::Whole(Box::new(|context| self.plan(context)))
    }
}

impl UnprotectedToolOutputs {
    fn plan(&self, context: &PlanContext<'_, '_>) -> Plan {
        let Some(boundary) = boundary(context, self.skip_user_turns) else {
            return Plan::skip(Self::ID, SkipReason::TooFewTurns);
        };
        let mut plan = Plan::default();
        let eligible = self.eligible(context, boundary, &mut plan);
        let (mut seen_tokens, mut freed_tokens) = (0, 0);
        let mut beyond = Vec::new();
        for result in eligible {
            let tokens = tokens(context.chars(result));
            seen_tokens += tokens;
            if seen_tokens > self.protect_tokens || self.protect_tokens == 0 {
                freed_tokens += tokens;
                beyond.push(result);
            }
        }
        if self.minimum_tokens > 0 && freed_tokens <= self.minimum_tokens {
            plan.leave(Some(Self::ID), Target::Request, SkipReason::TooLittleToFree);
            return plan;
        }
        let cuts = beyond
            .into_iter()
            .rev()
            .filter_map(|result| self.cut(context, result));
        plan.edits.extend(cuts);
        if plan.edits.is_empty() && plan.skips.is_empty() {
            plan.leave(Some(Self::ID), Target::Request, SkipReason::NothingToCut);
        }
        plan
    }
}

fn tokens(chars: usize) -> usize {
    (chars + CHARS_PER_TOKEN / 2) / CHARS_PER_TOKEN
}

/// The turn from which on everything is protected: the `skip`-th last turn that a user wrote.
/// `None` with fewer; after the last turn for 0.
fn boundary(context: &PlanContext<'_, '_>, skip: usize) -> Option<TurnId> {
    match skip.checked_sub(1) {
        None => Some(TurnId(u32::MAX)),
        Some(skip) => context
            .turns()
            .rev()
            .filter(|&turn| context.is_user_authored(turn))
            .nth(skip),
    }
}

#[cfg(test)]
mod tests;
