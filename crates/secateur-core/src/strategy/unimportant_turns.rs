//! Drops the turns that matter least until few enough are left.
//!
//! ## What it cuts
//! Each turn scores 0.5 × its place (0 for the first, towards 1 for the last), plus 0.3 if it calls
//! tools, plus its text's characters / 5000 but at most 0.2. The turns of a tool exchange count as
//! one, with the lowest score among them. The lowest scores go first, the older one of equals, until
//! at most `max_turns` are left; an exchange goes whole, so one turn fewer can stay.
//!
//! ## When it stays out
//! Conversations of `max_turns` turns or fewer. The system prompt, what comes before the first user
//! turn, the last user turn, the last turn (also with `max_turns = 0`), turns with images or
//! documents and broken tool exchanges always stay, and so does a user turn without which the
//! provider would reject the order. System turns do not count.
//!
//! ## Example
//! In a long session the early small talk goes first, then early exchanges with short texts.
//!
//! Idempotent: what is left is few enough, or cannot go.

use super::turns_outside_window::conversation;
use super::{Strategy, Work};
use crate::options::options;
use crate::plan::context::PlanContext;
use crate::plan::edit::{CutReason, Plan, SkipReason, StrategyId, Target};
use crate::plan::guard;
use crate::read::view::{PartKind, TurnId};

options! {
    /// Options of `unimportant-turns`.
    pub struct UnimportantTurns {
        /// Turns that stay, at least the last one.
        max_turns: usize = 20,
    }
}

/// Rounds in which turns that the provider's order gives back are made up for by others.
const MAX_ROUNDS: usize = 8;

const RECENCY_WEIGHT: f64 = 0.5;
const CALL_WEIGHT: f64 = 0.3;
const LENGTH_WEIGHT: f64 = 0.2;
const CHARS_PER_POINT: f64 = 5000.0;

impl UnimportantTurns {
    /// Its id.
    pub const ID: StrategyId = StrategyId("unimportant-turns");
}

/// Turns that stay or go together.
struct Unit {
    first: TurnId,
    score: f64,
    turns: usize,
    stays: bool,
}

impl Strategy for UnimportantTurns {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn work(&self) -> Work<'_> {
        Work::Whole(Box::new(|context| self.plan(context)))
    }
}

impl UnimportantTurns {
    fn plan(&self, context: &PlanContext<'_, '_>) -> Plan {
        let turns = conversation(context);
        let max_turns = self.max_turns.max(1);
        if turns.len() <= max_turns {
            return Plan::skip(Self::ID, SkipReason::NothingToCut);
        }
        let mut units = units(context, &turns);
        units.retain(|unit| !unit.stays);
        units.sort_by(|one, other| {
            let by_score = one.score.total_cmp(&other.score);
            by_score.then(one.first.cmp(&other.first))
        });
        let mut goes = context.no_turns();
        let mut dropped = Vec::new();
        let mut candidates = units.iter();
        let mut left = turns.len();
        for _ in 0..MAX_ROUNDS {
            let before = dropped.len();
            while left > max_turns
                && let Some(unit) = candidates.next()
            {
                goes[unit.first.index()] = true;
                left -= unit.turns;
                dropped.push(unit.first);
            }
            if dropped.len() == before {
                break;
            }
            let mut wanted = context.no_turns();
            for &turn in &turns {
                wanted[turn.index()] = goes[context.unit(turn).index()];
            }
            let settled = guard::allowed_drops(context, wanted);
            left = turns.iter().filter(|turn| !settled[turn.index()]).count();
        }
        let mut plan = Plan::default();
        for &turn in turns
            .iter()
            .filter(|&&turn| goes[context.unit(turn).index()])
        {
            plan.edits
                .push(context.drop_turn(turn, Self::ID, CutReason::Unimportant));
        }
        if plan.edits.is_empty() {
            plan.leave(Some(Self::ID), Target::Request, SkipReason::NothingToCut);
        }
        plan
    }
}

/// The units in order of their first turn.
fn units(context: &PlanContext<'_, '_>, turns: &[TurnId]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut at_of = vec![usize::MAX; context.no_turns().len()];
    for (at, &turn) in turns.iter().enumerate() {
        let first = context.unit(turn);
        let score = score(context, turn, at, turns.len());
        let stays = guard::why_turn_stays(context, turn).is_some();
        match units.get_mut(at_of[first.index()]) {
            Some(unit) => {
                unit.score = unit.score.min(score);
                unit.turns += 1;
                unit.stays |= stays;
            }
            None => {
                at_of[first.index()] = units.len();
                units.push(Unit {
                    first,
                    score,
                    turns: 1,
                    stays,
                });
            }
        }
    }
    units
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of turns and characters are far below 2^53"
)]
fn score(context: &PlanContext<'_, '_>, turn: TurnId, at: usize, turns: usize) -> f64 {
    let mut chars = 0;
    let mut calls = false;
    for part in context.parts(turn) {
        match context.kind(part) {
            PartKind::Text => chars += context.chars(part),
            PartKind::Call => calls = true,
            _ => {}
        }
    }
    let recency = at as f64 / turns as f64;
    let length = (chars as f64 / CHARS_PER_POINT).min(LENGTH_WEIGHT);
    RECENCY_WEIGHT * recency + if calls { CALL_WEIGHT } else { 0.0 } + length
}

#[cfg(test)]
mod tests;
