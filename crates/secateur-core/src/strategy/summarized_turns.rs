//! Tells older turns by one message and drops them.
//!
//! ## What it cuts
//! Turns before the last `max_turns`; the cut moves earlier until it splits no tool exchange. In
//! their place stands one user message: `[Previous context: N turns summarized]`. With `summary =
//! "digest"` it goes on with an extract: the tools that were called and how often, the files they
//! were called on, what failed, and sentences in which the model settled on something. The extract
//! is made from the dropped turns alone and says the same for the same turns.
//!
//! ## When it stays out
//! Conversations of `max_turns` turns or fewer, and histories that are shorter than the message in
//! their place. The system prompt, what stands before the first user turn, the last user turn, the
//! last turn, turns with images or documents and broken tool exchanges always stay; N counts what is
//! really dropped.
//!
//! ## Example
//! Of 101 turns with `max_turns = 6`, 95 become `[Previous context: 95 turns summarized]`.
//!
//! Idempotent: a summary that is all there is to drop stays.

use super::turns_outside_window::{conversation, cut};
use super::{Strategy, digest, options};
use crate::edit::{Action, Edit, Plan, SkipReason, StrategyId, Why};
use crate::scene::Scene;
use crate::view::{PartId, PartKind, TurnId};

/// What stands in the place of dropped turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Summary {
    /// How many turns there were.
    #[default]
    Placeholder,
    /// That, and what can be extracted from them.
    Digest,
}

options! {
    /// Options of `summarized-turns`.
    pub struct SummarizedTurns {
        /// Turns that stay at the end, at least the last one.
        max_turns: usize = 20,
        /// `placeholder` or `digest`.
        summary: Summary = Summary::Placeholder,
    }
}

impl SummarizedTurns {
    /// Its id.
    pub const ID: StrategyId = StrategyId("summarized-turns");
}

impl Strategy for SummarizedTurns {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn plan(&self, scene: &Scene<'_, '_>) -> Plan {
        let turns = conversation(scene);
        let cut = cut(scene, &turns, self.max_turns, |_| true);
        let mut wanted = scene.no_turns();
        for &turn in &turns[..cut] {
            wanted[turn.index()] = true;
        }
        let settled = scene.settle_told_drops(wanted);
        let dropped: Vec<TurnId> = turns
            .iter()
            .copied()
            .filter(|turn| settled[turn.index()])
            .collect();
        let told: Vec<Option<usize>> = dropped
            .iter()
            .map(|&turn| told_turns(scene, turn))
            .collect();
        let (Some(&first), false) = (dropped.first(), told.iter().all(Option::is_some)) else {
            return Plan::skip(Self::ID, SkipReason::NothingToCut);
        };
        // The message stands where the first dropped turn stood: before the first turn behind it
        // that stays. It never comes behind the last user message, whose place it would take.
        let before = turns
            .iter()
            .copied()
            .find(|&turn| turn > first && !settled[turn.index()]);
        let before = match scene.last_user() {
            Some(last_user) => before.map(|before| before.min(last_user)),
            None => before,
        };
        let Some(before) = before else {
            return Plan::skip(Self::ID, SkipReason::LastTurnStays);
        };
        // An earlier summary stands for the turns it tells of.
        let count: usize = told.iter().map(|told| told.unwrap_or(1)).sum();
        let room: usize = dropped.iter().map(|&turn| scene.turn_bytes(turn)).sum();
        let parts = dropped.iter().flat_map(|&turn| scene.parts(turn));
        let room_chars: usize = parts.map(|part| told_chars(scene, part)).sum();
        // Short turns have more punctuation than text: the new one must be smaller in both.
        let fits =
            |text: &String| scene.user_turn_bytes(text) < room && text.chars().count() < room_chars;
        let plain = heading(count);
        let text = match self.summary {
            Summary::Placeholder => Some(plain).filter(fits),
            Summary::Digest => Some(format!("{plain}{}", digest::of(scene, &dropped)))
                .filter(fits)
                .or(Some(plain).filter(fits)),
        };
        let Some(text) = text else {
            return Plan::skip(Self::ID, SkipReason::NotSmaller);
        };
        let mut plan = Plan::default();
        plan.edits.push(Edit {
            chars_before: 0,
            chars_after: text.chars().count(),
            action: Action::InsertTurn(before, text),
            strategy: Self::ID,
            why: Why::Summarized,
        });
        for &turn in &turns[..cut] {
            plan.edits
                .push(scene.drop_turn(turn, Self::ID, Why::Summarized));
        }
        plan
    }
}

const START: &str = "[Previous context: ";
const END: &str = " turns summarized]";

fn heading(count: usize) -> String {
    format!("{START}{count}{END}")
}

/// Characters that a part tells the model: its text, or a call's arguments.
fn told_chars(scene: &Scene<'_, '_>, part: PartId) -> usize {
    match scene.kind(part) {
        PartKind::Call => scene.args_chars(part),
        _ => scene.chars(part),
    }
}

/// How many turns an earlier summary tells of, if the turn is one.
fn told_turns(scene: &Scene<'_, '_>, turn: TurnId) -> Option<usize> {
    let mut parts = scene.parts(turn);
    let (Some(only), None) = (parts.next(), parts.next()) else {
        return None;
    };
    if scene.kind(only) != PartKind::Text || !scene.is_user_authored(turn) {
        return None;
    }
    let text = scene.text(only);
    let (count, rest) = text.strip_prefix(START)?.split_once(END)?;
    if !rest.is_empty() && !rest.starts_with('\n') {
        return None;
    }
    count.parse().ok()
}

#[cfg(test)]
mod tests;
