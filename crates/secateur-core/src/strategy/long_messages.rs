//! Condenses long messages that are no longer recent.
//!
//! ## What it cuts
//! Texts of users longer than `max_user_chars`, and of the model longer than `max_assistant_chars`,
//! in turns before the `turns_threshold`-th last assistant message. A text is cut at the last
//! sentence end inside the limit, else after a word with `...`, else at the limit with `...`, and
//! ends with `[Message condensed]` or `[Response condensed]` on a line of its own.
//!
//! ## When it stays out
//! With fewer assistant messages than `turns_threshold`. The first user turn (the task), the last
//! user turn, tool calls, tool results, thinking, images and signed texts stay.
//!
//! ## Example
//! A pasted specification of 5,000 characters, twelve messages back, becomes its first sentences up
//! to 600 characters.
//!
//! Idempotent: condensed texts are recognised by their last line and their length.

use std::borrow::Cow;

use super::{Strategy, Work};
use crate::options::options;
use crate::plan::context::PlanContext;
use crate::plan::draft::PartState;
use crate::plan::edit::{
    Action, CutReason, Edit, Effect, Piece, Plan, SkipReason, StrategyId, Target,
};
use crate::read::view::{PartId, PartKind, Role};

options! {
    /// Options of `long-messages`.
    pub struct LongMessages {
        /// Texts before this many last assistant messages are condensed; 0 switches it off.
        turns_threshold: usize = 8,
        /// Characters that stay of a user's text; 0 leaves users' texts alone.
        max_user_chars: usize = 600,
        /// Characters that stay of the model's text; 0 leaves the model's texts alone.
        max_assistant_chars: usize = 800,
    }
}

const MESSAGE: &str = "\n[Message condensed]";
const RESPONSE: &str = "\n[Response condensed]";
const WORD_MESSAGE: &str = "...\n[Message condensed]";
const WORD_RESPONSE: &str = "...\n[Response condensed]";

impl LongMessages {
    /// Its id.
    pub const ID: StrategyId = StrategyId("long-messages");

    fn condense(
        context: &PlanContext<'_, '_>,
        part: PartId,
        role: Role,
        limit: usize,
    ) -> Option<Edit> {
        let text = context.text(part);
        if is_condensed(&text, context.chars(part), limit) {
            return None;
        }
        let end = text
            .char_indices()
            .nth(limit)
            .map_or(text.len(), |(at, _)| at);
        let (end, is_sentence) = cut(&text, end);
        let marker = match (role, is_sentence) {
            (Role::User, true) => MESSAGE,
            (Role::User, false) => WORD_MESSAGE,
            (_, true) => RESPONSE,
            (_, false) => WORD_RESPONSE,
        };
        Some(Edit {
            action: Action::Rewrite(
                part,
                vec![Piece::Keep(0..end), Piece::Note(Cow::Borrowed(marker))],
            ),
            strategy: Self::ID,
            why: CutReason::LongMessage,
            effect: Effect::Removes,
            chars_before: context.chars(part),
            chars_after: text[..end].chars().count() + marker.len(),
        })
    }
}

impl Strategy for LongMessages {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn work(&self) -> Work<'_> {
        Work::Whole(Box::new(|context| self.plan(context)))
    }
}

impl LongMessages {
    pub(super) fn plan(&self, context: &PlanContext<'_, '_>) -> Plan {
        if self.turns_threshold == 0 {
            return Plan::skip(Self::ID, SkipReason::NotOptedIn);
        }
        let Some(first_user) = context.first_user() else {
            return Plan::skip(Self::ID, SkipReason::BeforeFirstUser);
        };
        let Some(end) = context.last_assistants_start(self.turns_threshold) else {
            return Plan::skip(Self::ID, SkipReason::TooFewTurns);
        };
        let mut plan = Plan::default();
        for turn in context
            .turns()
            .filter(|&turn| turn > first_user && turn < end)
        {
            let role = context.role(turn);
            let limit = match role {
                Role::User => self.max_user_chars,
                Role::Assistant => self.max_assistant_chars,
                Role::System | Role::Tool | Role::Other => 0,
            };
            if limit == 0 {
                continue;
            }
            for part in context.parts(turn) {
                let is_long = context.kind(part) == PartKind::Text && context.chars(part) > limit;
                if is_long && context.state(part) == PartState::Whole {
                    plan.edits
                        .extend(Self::condense(context, part, role, limit));
                }
            }
        }
        if plan.edits.is_empty() {
            plan.leave(Some(Self::ID), Target::Request, SkipReason::NothingToCut);
        }
        plan
    }
}

/// Whether a text was condensed to this limit before. One that only ends in the marker is longer.
fn is_condensed(text: &str, chars: usize, limit: usize) -> bool {
    [(MESSAGE, WORD_MESSAGE), (RESPONSE, WORD_RESPONSE)]
        .iter()
        .any(|(marker, longest)| {
            text.ends_with(marker) && chars <= limit.saturating_add(longest.len())
        })
}

/// Where to cut a text that may keep `limit` bytes, and whether that is the end of a sentence.
fn cut(text: &str, limit: usize) -> (usize, bool) {
    let inside = &text[..limit];
    let ends_sentence = |(at, character): (usize, char)| {
        let end = at + character.len_utf8();
        match character {
            // A full stop inside `1.5` or `main.rs` ends nothing.
            '.' | '!' | '?' => text[end..]
                .chars()
                .next()
                .is_none_or(char::is_whitespace)
                .then_some(end),
            '。' | '！' | '？' => Some(end),
            _ => None,
        }
    };
    if let Some(end) = inside.char_indices().rev().find_map(ends_sentence) {
        return (end, true);
    }
    let word = match text[limit..].chars().next() {
        Some(next) if next.is_whitespace() => Some(inside.trim_end().len()),
        _ => inside
            .rfind(char::is_whitespace)
            .map(|at| inside[..at].trim_end().len()),
    };
    (word.filter(|&end| end > 0).unwrap_or(limit), false)
}

#[cfg(test)]
mod tests;
