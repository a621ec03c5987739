//! The turns that a summary stands for, and the message in their place.

use super::super::turns_outside_window::cut;
use super::SummarizedTurns;
use crate::plan::context::PlanContext;
use crate::plan::edit::{Action, CutReason, Edit, Effect, Plan, SkipReason};
use crate::plan::guard;
use crate::read::view::{PartId, PartKind, TurnId};

/// The turns older than the window, and those of them that may go.
pub(super) struct Older<'t> {
    /// The turns before the window.
    wanted: &'t [TurnId],
    /// Those of them that really go.
    pub(super) dropped: Vec<TurnId>,
    /// How many turns they are, including those that an earlier summary covers.
    count: usize,
    /// The turn before which the message is inserted.
    before: TurnId,
    /// Bytes that go.
    room: usize,
    /// Characters of text that go.
    room_chars: usize,
}

impl<'t> Older<'t> {
    /// All but the last `max_turns` turns.
    pub(super) fn before(
        context: &PlanContext<'_, '_>,
        turns: &'t [TurnId],
        max_turns: usize,
    ) -> Result<Self, SkipReason> {
        let cut = cut(context, turns, max_turns, |_| true);
        let mut wanted = context.no_turns();
        for &turn in &turns[..cut] {
            wanted[turn.index()] = true;
        }
        let settled = guard::allowed_summarized_drops(context, wanted);
        let dropped: Vec<TurnId> = turns
            .iter()
            .copied()
            .filter(|turn| settled[turn.index()])
            .collect();
        let covered: Vec<Option<usize>> = dropped
            .iter()
            .map(|&turn| covered_turns(context, turn))
            .collect();
        let (Some(&first), false) = (dropped.first(), covered.iter().all(Option::is_some)) else {
            return Err(SkipReason::NothingToCut);
        };
        // The message takes the position of the first dropped turn: before the first turn after it
        // that stays. It never comes after the last user message, whose role it would take over.
        let before = turns
            .iter()
            .copied()
            .find(|&turn| turn > first && !settled[turn.index()]);
        let before = match context.last_user() {
            Some(last_user) => before.map(|before| before.min(last_user)),
            None => before,
        };
        Ok(Self {
            wanted: &turns[..cut],
            // An earlier summary counts as the turns that it covers.
            count: covered.iter().map(|turns| turns.unwrap_or(1)).sum(),
            room: dropped.iter().map(|&turn| context.turn_bytes(turn)).sum(),
            room_chars: dropped
                .iter()
                .flat_map(|&turn| context.parts(turn))
                .map(|part| read_chars(context, part))
                .sum(),
            before: before.ok_or(SkipReason::LastTurnStays)?,
            dropped,
        })
    }

    /// The first of these texts, each after the heading, that is shorter than what goes.
    pub(super) fn summarize(&self, context: &PlanContext<'_, '_>, texts: &[&str]) -> Plan {
        let heading = heading(self.count);
        let mut texts = texts.iter().map(|text| format!("{heading}{text}"));
        // Short turns have more punctuation than text: the new one must be smaller in both.
        let fits = |text: &String| {
            context.user_turn_bytes(text) < self.room && text.chars().count() < self.room_chars
        };
        let Some(text) = texts.find(fits) else {
            return Plan::skip(SummarizedTurns::ID, SkipReason::NotSmaller);
        };
        let mut plan = Plan::default();
        plan.edits.push(Edit {
            chars_before: 0,
            chars_after: text.chars().count(),
            action: Action::InsertTurn(self.before, text),
            strategy: SummarizedTurns::ID,
            why: CutReason::Summarized,
            effect: Effect::Removes,
        });
        for &turn in self.wanted {
            plan.edits
                .push(context.drop_turn(turn, SummarizedTurns::ID, CutReason::Summarized));
        }
        plan
    }
}

const START: &str = "[Previous context: ";
const END: &str = " turns summarized]";

fn heading(count: usize) -> String {
    format!("{START}{count}{END}")
}

/// Characters of a part that the model reads: its text, or a call's arguments.
fn read_chars(context: &PlanContext<'_, '_>, part: PartId) -> usize {
    match context.kind(part) {
        PartKind::Call => context.args_chars(part),
        _ => context.chars(part),
    }
}

/// How many turns an earlier summary covers, if the turn is one.
pub(super) fn covered_turns(context: &PlanContext<'_, '_>, turn: TurnId) -> Option<usize> {
    let mut parts = context.parts(turn);
    let (Some(only), None) = (parts.next(), parts.next()) else {
        return None;
    };
    if context.kind(only) != PartKind::Text || !context.is_user_authored(turn) {
        return None;
    }
    let text = context.text(only);
    let (count, rest) = text.strip_prefix(START)?.split_once(END)?;
    if !rest.is_empty() && !rest.starts_with('\n') {
        return None;
    }
    count.parse().ok()
}
