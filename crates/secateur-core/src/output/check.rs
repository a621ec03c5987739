//! Whether a provider would accept a body. The same rules judge the input for `secateur check` and
//! the output before it goes out.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::read::dialect::Dialect;
use crate::read::view::{PartId, PartKind, Role, TurnId, View};

/// A rule that a body breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Violation {
    /// Which rule.
    pub rule: Rule,
    /// Byte offset of the turn or part that breaks it.
    pub at: u32,
}

/// The rules, named after what is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Rule {
    /// The list of turns is empty.
    NoTurns,
    /// The first turn that is not a system turn is not a user's.
    FirstTurnNotUser,
    /// A call that no result answers where the provider looks for it.
    CallWithoutResult,
    /// A result that answers no call where the provider looks for it.
    ResultWithoutCall,
    /// Two calls with one id.
    DuplicateCallId,
    /// Text before a result in the turn that answers calls.
    ResultNotFirst,
    /// A turn with calls that follows another turn of the model.
    CallAfterModelTurn,
    /// A text or content without anything in it.
    EmptyText,
    /// A role that the provider does not know.
    UnknownRole,
    /// A reasoning item without the item that was produced with it.
    ReasoningWithoutFollower,
}

impl Rule {
    /// In words, with what the provider demands.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::NoTurns => "there is no turn: at least one is required",
            Self::FirstTurnNotUser => "the first turn must be the user's",
            Self::CallWithoutResult => "a tool call has no result right after it",
            Self::ResultWithoutCall => "a tool result answers no call right before it",
            Self::DuplicateCallId => "two tool calls share one id: ids must be unique",
            Self::ResultNotFirst => "tool results must come before text in their turn",
            Self::CallAfterModelTurn => "a tool call must follow a user turn or tool results",
            Self::EmptyText => "a text or content is empty",
            Self::UnknownRole => "the provider knows no such role",
            Self::ReasoningWithoutFollower => "a reasoning item lacks the item that must follow it",
        }
    }
}

/// Every rule that the body breaks, in body order within each rule.
#[must_use]
pub fn check(view: &View<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut report = |rule, at| found.push(Violation { rule, at });
    let rules = view.dialect().facts().rules;
    if view.turns().is_empty() {
        report(Rule::NoTurns, view.list().map_or(0, |list| list.start));
    }
    let start = |turn: TurnId| view.turn_span(turn).start;
    if let Some(first) = first_not_of_user(view).filter(|_| rules.first_turn_is_user) {
        report(Rule::FirstTurnNotUser, start(first));
    }
    let has = |turn: TurnId, kind| view.parts_of(turn).any(|part| view.part(part).kind == kind);
    let mut before: Option<TurnId> = None;
    for turn in view.turn_ids() {
        let role = view.turn(turn).role;
        if role == Role::Other && view.dialect() != Dialect::OpenaiResponses {
            report(Rule::UnknownRole, start(turn));
        }
        if rules.results_come_first && role == Role::User {
            let mut kinds = view.parts_of(turn).map(|part| view.part(part).kind);
            // Once something else was seen, no result may follow.
            if kinds.any(|kind| kind != PartKind::Result)
                && kinds.any(|kind| kind == PartKind::Result)
            {
                report(Rule::ResultNotFirst, start(turn));
            }
        }
        let follows_model = |before: TurnId| {
            view.turn(before).role == Role::Assistant
                && !(rules.calling_turns_merge && has(before, PartKind::Call))
        };
        if rules.calls_follow_user && has(turn, PartKind::Call) && before.is_some_and(follows_model)
        {
            report(Rule::CallAfterModelTurn, start(turn));
        }
        if rules.text_is_not_empty {
            empty_texts(view, turn, &mut report);
        }
        if rules.reasoning_has_follower {
            let last = view.parts_of(turn).next_back();
            if let Some(last) = last.filter(|&last| view.part(last).kind == PartKind::Thinking) {
                report(Rule::ReasoningWithoutFollower, view.part(last).value.start);
            }
        }
        before = Some(turn);
    }
    for &at in view.bare_reasoning() {
        report(Rule::ReasoningWithoutFollower, at);
    }
    if rules.results_follow_their_call {
        adjacent_pairs(view, &mut report);
    } else if !view.history_is_elsewhere() {
        pairs_anywhere(view, &mut report);
    }
    found
}

/// The first turn that is not a system turn, if it is the model's or a tool's.
pub(crate) fn first_not_of_user(view: &View<'_>) -> Option<TurnId> {
    let role = |turn: &TurnId| view.turn(*turn).role;
    let first = view.turn_ids().find(|turn| role(turn) != Role::System)?;
    matches!(role(&first), Role::Assistant | Role::Tool).then_some(first)
}

fn empty_texts(view: &View<'_>, turn: TurnId, report: &mut impl FnMut(Rule, u32)) {
    let is_last = turn.index() + 1 == view.turns().len();
    let is_final_answer = is_last && view.turn(turn).role == Role::Assistant;
    if view.parts_of(turn).next().is_none() && !is_final_answer {
        report(Rule::EmptyText, view.turn_span(turn).start);
    }
    for id in view.parts_of(turn) {
        let part = view.part(id);
        // White space alone is accepted from the model, not from the user (seen November 2026).
        let is_blank = || {
            view.literals(id).iter().all(|literal| {
                if view.turn(turn).role == Role::Assistant {
                    return literal.text.span.is_empty();
                }
                let starts_with_word =
                    |raw: &str| raw.starts_with(|c: char| c != '\\' && !c.is_whitespace());
                !starts_with_word(literal.text.raw(view.body()))
                    && literal.text.decode(view.body()).trim().is_empty()
            })
        };
        if part.kind == PartKind::Text && is_blank() && !is_final_answer {
            report(Rule::EmptyText, part.value.start);
        }
    }
}

/// Where results must follow their call at once: every call of a turn is answered in the run of
/// results right after it, and every result there answers one of them.
fn adjacent_pairs(view: &View<'_>, report: &mut impl FnMut(Rule, u32)) {
    let rules = view.dialect().facts().rules;
    let mut open: Vec<PartId> = Vec::new();
    let mut answered: Vec<bool> = Vec::new();
    // Calls before this one in `open` have text behind them, so their results do not count.
    let mut blocked = 0;
    let flush = |open: &mut Vec<PartId>,
                 answered: &mut Vec<bool>,
                 blocked: &mut usize,
                 report: &mut dyn FnMut(Rule, u32)| {
        for (at, (call, done)) in open.drain(..).zip(answered.drain(..)).enumerate() {
            if !done || at < *blocked {
                report(Rule::CallWithoutResult, offset(view, call));
            }
        }
        *blocked = 0;
    };
    let mut is_calling = false;
    let mut index: HashMap<(bool, Cow<'_, str>), Vec<usize>> = HashMap::new();
    for turn in view.turn_ids() {
        let results: Vec<PartId> = of_kind(view, turn, PartKind::Result).collect();
        for result in &results {
            let waiting = index
                .get(&view.pairing_key(*result))
                .map(Vec::as_slice)
                .unwrap_or_default();
            // Two results for one call are let through: some clients split them.
            match waiting
                .iter()
                .find(|&&at| !answered[at])
                .or(waiting.first())
            {
                Some(&at) => answered[at] = true,
                None => report(Rule::ResultWithoutCall, offset(view, *result)),
            }
        }
        let calls: Vec<PartId> = of_kind(view, turn, PartKind::Call).collect();
        if results.is_empty() || !calls.is_empty() {
            let continues =
                rules.calling_turns_merge && is_calling && results.is_empty() && !calls.is_empty();
            if !continues {
                flush(&mut open, &mut answered, &mut blocked, report);
                index.clear();
            }
            let first_of_turn = open.len();
            for part in view.parts_of(turn) {
                match view.part(part).kind {
                    PartKind::Call => {
                        let same = index.entry(view.pairing_key(part)).or_default();
                        let is_in_turn = |&at: &usize| at >= first_of_turn;
                        if view.part(part).id.is_some() && same.iter().any(is_in_turn) {
                            report(Rule::DuplicateCallId, offset(view, part));
                        }
                        same.push(open.len());
                        open.push(part);
                        answered.push(false);
                    }
                    PartKind::Text if rules.calls_end_their_turn => blocked = open.len(),
                    _ => {}
                }
            }
        }
        is_calling = results.is_empty() && !calls.is_empty();
    }
    flush(&mut open, &mut answered, &mut blocked, report);
}

/// Where only the presence of both halves counts.
fn pairs_anywhere(view: &View<'_>, report: &mut impl FnMut(Rule, u32)) {
    let exchanges = view.exchanges();
    for id in view.part_ids() {
        match view.part(id).kind {
            PartKind::Call if exchanges.result_of(id).is_none() => {
                report(Rule::CallWithoutResult, offset(view, id));
            }
            PartKind::Result if exchanges.call_of(id).is_none() => {
                report(Rule::ResultWithoutCall, offset(view, id));
            }
            _ => {}
        }
    }
}

fn of_kind<'v>(
    view: &'v View<'_>,
    turn: TurnId,
    kind: PartKind,
) -> impl Iterator<Item = PartId> + 'v {
    view.parts_of(turn)
        .filter(move |&part| view.part(part).kind == kind)
}

fn offset(view: &View<'_>, id: PartId) -> u32 {
    let part = view.part(id);
    let turn_start = part.turn.map_or(0, |turn| view.turn_span(turn).start);
    view.element(id)
        .map_or(turn_start.max(part.value.start), |element| {
            element.span.start
        })
}
