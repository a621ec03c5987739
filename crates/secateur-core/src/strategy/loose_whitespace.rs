//! Takes out white space that says nothing: mechanic M3.
//!
//! ## What it cuts
//! The second and later spaces of a run inside a line, the third and later newlines of a run, and
//! white space at the end of a line: in system texts with `compress_system_enabled`, in what users
//! and the model wrote with `compress_user_turns_enabled`, in the text of tool results with
//! `compress_tool_text`.
//!
//! ## When it stays out
//! Both toggles off; a body below `min_body_chars`; redundant white space of the texts in reach below
//! `min_redundant_pct` of the body; another mechanic claimed the request; the provider holds earlier
//! turns. Verbatim always: the white space at the start of a line and after a gutter (`+`, `-`, `>`,
//! line numbers, time stamps, `path:12:`), code fences (also unclosed), JSON, lines of numbered
//! listings, runs with a tab, tool calls, thinking, signed parts and media. Results whose text comes
//! in several blocks stay too.
//!
//! ## Example
//! `Be   brief.  ⏎⏎⏎⏎Answer in   English.` becomes `Be brief.⏎⏎Answer in English.`
//!
//! Deterministic and idempotent.

use super::{Strategy, Work};
use crate::options::options;
use crate::plan::context::PlanContext;
use crate::plan::draft::PartState;
use crate::plan::edit::{CutReason, Effect, Plan, SkipReason, StrategyId, Target};
use crate::plan::guard::Reach;
use crate::read::view::{PartId, PartKind, Role};
use crate::text::whitespace::{Behind, Count, Ranges, scan};

options! {
    /// Options of M3, the table `[m3]`.
    pub struct LooseWhitespace {
        /// Whether system texts are compressed: role system or developer, and those outside the list of turns.
        compress_system_enabled: bool = false,
        /// Whether user and assistant texts are compressed.
        compress_user_turns_enabled: bool = false,
        /// Eligible from this many characters of body on.
        min_body_chars: usize = 512,
        /// Eligible from this share of redundant white space on, in percent of the body's characters.
        min_redundant_pct: f64 = 2.0,
        /// Whether the text of tool results is compressed too, once M3 is active.
        compress_tool_text: bool = false,
        /// Legacy toggle: accepted, reported as ignored, never consulted.
        auto_compress_enabled: Option<bool> = None,
    }
}

impl LooseWhitespace {
    /// Its id.
    pub const ID: StrategyId = StrategyId("loose-whitespace");

    /// Whether any role is opted in.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.compress_system_enabled || self.compress_user_turns_enabled
    }

    /// Large and redundant enough. The texts in reach are counted, because white space that may
    /// not be touched is no reason to touch anything. Linear, allocates nothing.
    pub(crate) fn is_eligible(&self, context: &PlanContext<'_, '_>) -> bool {
        let view = context.view;
        if view.body().len() < self.min_body_chars {
            return false;
        }
        let body_chars = view.body_chars();
        if body_chars < self.min_body_chars {
            return false;
        }
        let mut count = Count::default();
        // Both counts are far below 2^52, where every whole number is exact.
        let enough = self.min_redundant_pct * body_chars as f64;
        let is_enough = |count: &Count| count.chars as f64 * 100.0 >= enough;
        for (part, behind) in self.texts(context) {
            if is_enough(&count) {
                break;
            }
            if let Some(text) = context.decoded_chars(part) {
                scan(text, behind, &mut count);
            }
        }
        is_enough(&count)
    }

    /// The texts that the toggles reach, with what follows each.
    fn texts<'s>(
        &'s self,
        context: &'s PlanContext<'_, '_>,
    ) -> impl Iterator<Item = (PartId, Behind)> + 's {
        let behind = |part, last| match Some(part) == last {
            true => Behind::Nothing,
            false => Behind::AnotherPart,
        };
        let last_system = context.system_parts().last();
        let system = context
            .system_parts()
            .filter(|&part| self.reaches(context, part, Role::System))
            .map(move |part| (part, behind(part, last_system)));
        let turns = context.turns().flat_map(move |turn| {
            let role = context.role(turn);
            let last = context.parts(turn).next_back();
            context
                .parts(turn)
                .filter(move |&part| self.reaches(context, part, role))
                .map(move |part| (part, behind(part, last)))
        });
        system.chain(turns)
    }

    fn reaches(&self, context: &PlanContext<'_, '_>, part: PartId, role: Role) -> bool {
        let is_whole = context.state(part) == PartState::Whole && !context.is_signed(part);
        is_whole
            && match (context.kind(part), role) {
                (PartKind::Text, Role::System) => self.compress_system_enabled,
                (PartKind::Text, Role::User | Role::Assistant) => self.compress_user_turns_enabled,
                (PartKind::Result, _) => self.compress_tool_text && !context.has_media(part),
                _ => false,
            }
    }
}

impl Strategy for LooseWhitespace {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn may_touch(&self) -> Reach {
        Reach {
            last_user: true,
            system: true,
            documents: false,
        }
    }

    fn work(&self) -> Work<'_> {
        Work::Whole(Box::new(|context| self.plan(context)))
    }
}

impl LooseWhitespace {
    fn plan(&self, context: &PlanContext<'_, '_>) -> Plan {
        let mut plan = Plan::default();
        for (part, behind) in self.texts(context) {
            let Some(text) = context.decoded_chars(part) else {
                if context.chars(part) > 0 {
                    plan.leave(Some(Self::ID), Target::Part(part), SkipReason::DoesNotFit);
                }
                continue;
            };
            let mut ranges = Ranges::default();
            let length = scan(text, behind, &mut ranges);
            if !ranges.found.is_empty() {
                let why = CutReason::LooseWhitespace;
                plan.edits.push(
                    context
                        .take_out(part, length, &ranges.found, Self::ID, why)
                        .with_effect(Effect::KeepsContent),
                );
            }
        }
        if plan.edits.is_empty() {
            plan.leave(Some(Self::ID), Target::Request, SkipReason::NothingToCut);
        }
        plan
    }
}
