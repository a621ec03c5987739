//! Trims old, long tool results while the window fills up, then clears the oldest ones.
//!
//! ## What it cuts
//! Results before the `keep_last_assistants`-th last assistant message, of tools that `tools` lets
//! through. In mode `adaptive`:
//! 1. If the conversation fills `soft_trim_ratio` of the window or more, results longer than
//!    `soft_trim.max_chars` keep their head and tail around a `...` line, with a note that gives the
//!    original size.
//! 2. Then `long-messages` runs with the options in `mid_trim` (`turns_threshold = 0` leaves it out).
//! 3. If the conversation still fills `hard_clear_ratio` or more, and the results that may be cut
//!    hold at least `min_prunable_tool_chars`, whole results become `hard_clear.placeholder`, the
//!    oldest first, until the ratio is reached.
//!
//! In mode `aggressive` every such result is cleared at once, whatever the ratios say and also with
//! `hard_clear.enabled = false`. In mode `off` nothing happens.
//!
//! ## When it stays out
//! With fewer assistant messages than `keep_last_assistants`; below `soft_trim_ratio`; before the
//! first user message; on results with images, documents or unknown blocks; on results that are
//! shorter than what would take their place. The window is `window_tokens`, else the policy's entry
//! for the model, else the built-in table, else the policy's `context_tokens`, else 200,000 tokens,
//! at 4 characters each.
//!
//! ## Example
//! A 20,000 character file listing from twenty messages ago becomes its first and last 1,500
//! characters, and later `[Old tool result content cleared]`.
//!
//! Idempotent: trimmed and cleared results are recognised.

use super::cleared::Words;
use super::context_size::{CHARS_PER_TOKEN, context_chars, part_chars};
use super::head_and_tail::HeadAndTail;
use super::{LongMessages, Strategy, ToolNames, Work};
use crate::options::options;
use crate::plan::context::PlanContext;
use crate::plan::draft::PartState;
use crate::plan::edit::{CutReason, Edit, Plan, SkipReason, StrategyId, Target};
use crate::plan::guard;
use crate::plan::placeholder::Style;
use crate::read::view::{PartId, PartKind, TurnId};

/// When results are cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// By how full the window is.
    #[default]
    Adaptive,
    /// Always.
    Aggressive,
    /// Never.
    Off,
}

options! {
    /// How a long result is trimmed.
    pub struct SoftTrim {
        /// Results longer than this are trimmed, in characters.
        max_chars: usize = 4000,
        /// Characters that stay at the beginning.
        head_chars: usize = 1500,
        /// Characters that stay at the end.
        tail_chars: usize = 1500,
    }
}

options! {
    /// How a result is cleared.
    pub struct HardClear {
        /// Whether mode `adaptive` clears results at all.
        enabled: bool = true,
        /// The text that replaces a cleared result.
        placeholder: String = DEFAULT_PLACEHOLDER.to_owned(),
        /// `plain` puts the placeholder there, `described` says which tool ran, how it ended and how large its output was.
        style: Style = Style::Plain,
    }
}

options! {
    /// Options of `old-tool-results`.
    pub struct OldToolResults {
        /// `adaptive`, `aggressive` or `off`.
        mode: Mode = Mode::Adaptive,
        /// The model's window in tokens; 0 takes it from the policy or the model table.
        window_tokens: usize = 0,
        /// Results from this many last assistant messages on stay; 0 protects none.
        keep_last_assistants: usize = 3,
        /// Share of the window from which on long results are trimmed.
        soft_trim_ratio: f64 = 0.3,
        /// Share of the window from which on results are cleared.
        hard_clear_ratio: f64 = 0.5,
        /// Results are cleared only if they hold this many characters together.
        min_prunable_tool_chars: usize = 50_000,
        /// How long results are trimmed.
        soft_trim: SoftTrim = SoftTrim::default(),
        /// Whether a cut moves to the end of a line, if one lies within 20 % of what is kept.
        snap_to_lines: bool = false,
        /// How results are cleared.
        hard_clear: HardClear = HardClear::default(),
        /// Options of `long-messages`, which runs between trimming and clearing in mode `adaptive`.
        mid_trim: LongMessages = LongMessages::default(),
        /// Which tools' results may be cut: `*` wildcards, case-insensitive, deny wins.
        tools: ToolNames = ToolNames::default(),
    }
}

const DEFAULT_PLACEHOLDER: &str = "[Old tool result content cleared]";

impl OldToolResults {
    /// Its id.
    pub const ID: StrategyId = StrategyId("old-tool-results");

    fn words(&self) -> Words<'_> {
        let plain = self.hard_clear.placeholder.trim();
        Words {
            style: self.hard_clear.style,
            plain: if plain.is_empty() {
                DEFAULT_PLACEHOLDER
            } else {
                plain
            },
        }
    }

    /// The results that may be cut, oldest first.
    fn eligible(
        &self,
        context: &PlanContext<'_, '_>,
        plan: &mut Plan,
    ) -> Result<Vec<PartId>, SkipReason> {
        let Some(first_user) = context.first_user() else {
            return Err(SkipReason::BeforeFirstUser);
        };
        let end = context
            .last_assistants_start(self.keep_last_assistants)
            .ok_or(SkipReason::TooFewTurns)?;
        let tools = self.tools.compile();
        let mut found = Vec::new();
        let old = |turn: &TurnId| *turn > first_user && *turn < end;
        for part in context
            .turns()
            .filter(old)
            .flat_map(|turn| context.parts(turn))
        {
            if context.kind(part) != PartKind::Result {
                continue;
            }
            let refused = if context.has_media(part) {
                Some(SkipReason::Media)
            } else if context.call_of(part).is_none() {
                Some(SkipReason::BrokenPair)
            } else if !tools.lets_through(context.tool_name(part).as_deref().unwrap_or_default()) {
                Some(SkipReason::ToolIsProtected)
            } else {
                None
            };
            match refused {
                Some(reason) => plan.leave(Some(Self::ID), Target::Part(part), reason),
                None => found.push(part),
            }
        }
        Ok(found)
    }

    fn adaptive(&self, context: &PlanContext<'_, '_>, eligible: &[PartId], mut plan: Plan) -> Plan {
        let tokens = match self.window_tokens {
            0 => context.model().window_tokens,
            tokens => tokens,
        };
        let window = tokens.saturating_mul(CHARS_PER_TOKEN);
        let mut size = Size {
            chars: context_chars(context),
            window,
        };
        if !size.reaches(self.soft_trim_ratio) {
            return Plan::skip(Self::ID, SkipReason::ContextIsSmall);
        }
        let mut after: Vec<usize> = Vec::with_capacity(eligible.len());
        for &result in eligible {
            let before = part_chars(context, result);
            after.push(before);
            if let Some(edit) = self.trim(context, result) {
                if guard::allows(context, &edit) {
                    size.shrink(before, edit.chars_after);
                    after.pop();
                    after.push(edit.chars_after);
                }
                plan.edits.push(edit);
            }
        }
        if self.mid_trim.turns_threshold > 0 {
            for edit in self.mid_trim.plan(context).edits {
                if guard::allows(context, &edit) {
                    size.shrink(edit.chars_before, edit.chars_after);
                }
                plan.edits.push(edit);
            }
        }
        let prunable: usize = after.iter().sum();
        if !self.hard_clear.enabled
            || !size.reaches(self.hard_clear_ratio)
            || prunable < self.min_prunable_tool_chars
        {
            return plan;
        }
        let words = self.words();
        let mut cleared = Vec::new();
        for (&result, &before) in eligible.iter().zip(&after) {
            if !size.reaches(self.hard_clear_ratio) {
                break;
            }
            if context.state(result) == PartState::Cleared || words.already_in(context, result) {
                continue;
            }
            let edit = words.clear(context, result, Self::ID, CutReason::OldToolResult);
            // A result that was trimmed a moment ago may now be shorter than the words.
            if edit.chars_after >= before {
                plan.leave(Some(Self::ID), Target::Part(result), SkipReason::NotSmaller);
                continue;
            }
            if guard::allows(context, &edit) {
                size.shrink(before, edit.chars_after);
            }
            cleared.push(edit);
        }
        take_the_place_of(&mut plan.edits, cleared);
        plan
    }

    fn trim(&self, context: &PlanContext<'_, '_>, result: PartId) -> Option<Edit> {
        if context.state(result) != PartState::Whole
            || context.chars(result) <= self.soft_trim.max_chars
        {
            return None;
        }
        let kept = HeadAndTail {
            head_chars: self.soft_trim.head_chars,
            tail_chars: self.soft_trim.tail_chars,
            snap_to_lines: self.snap_to_lines,
        };
        kept.trim(context, result, Self::ID, CutReason::OversizedToolResult)
    }

    fn aggressive(
        &self,
        context: &PlanContext<'_, '_>,
        eligible: &[PartId],
        mut plan: Plan,
    ) -> Plan {
        let words = self.words();
        for &result in eligible {
            if context.state(result) == PartState::Cleared || words.already_in(context, result) {
                continue;
            }
            let edit = words.clear(context, result, Self::ID, CutReason::OldToolResult);
            plan.edits.push(edit);
        }
        plan
    }
}

impl Strategy for OldToolResults {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn work(&self) -> Work<'_> {
        Work::Whole(Box::new(|context| self.plan(context)))
    }
}

impl OldToolResults {
    fn plan(&self, context: &PlanContext<'_, '_>) -> Plan {
        let mut plan = Plan::default();
        if self.mode == Mode::Off {
            return Plan::skip(Self::ID, SkipReason::NotOptedIn);
        }
        let eligible = match self.eligible(context, &mut plan) {
            Ok(eligible) => eligible,
            Err(reason) => return Plan::skip(Self::ID, reason),
        };
        let mut plan = match self.mode {
            Mode::Aggressive => self.aggressive(context, &eligible, plan),
            _ => self.adaptive(context, &eligible, plan),
        };
        if plan.edits.is_empty() && plan.skips.is_empty() {
            plan.leave(Some(Self::ID), Target::Request, SkipReason::NothingToCut);
        }
        plan
    }
}

/// The size of the conversation against the window, in characters.
struct Size {
    chars: usize,
    window: usize,
}

impl Size {
    #[expect(
        clippy::cast_precision_loss,
        reason = "sizes are far below 2^53, and the ratio is an estimate"
    )]
    fn reaches(&self, ratio: f64) -> bool {
        self.chars as f64 / self.window.max(1) as f64 >= ratio
    }

    fn shrink(&mut self, before: usize, after: usize) {
        self.chars = (self.chars + after).saturating_sub(before);
    }
}

/// A result has one edit: clearing replaces its trim. Both lists are in the order of parts, except
/// that edits of messages come after those of results.
fn take_the_place_of(edits: &mut Vec<Edit>, cleared: Vec<Edit>) {
    let mut targets: Vec<Target> = cleared.iter().map(Edit::target).collect();
    targets.sort_unstable();
    edits.retain(|edit| targets.binary_search(&edit.target()).is_err());
    edits.extend(cleared);
}

#[cfg(test)]
mod tests;
