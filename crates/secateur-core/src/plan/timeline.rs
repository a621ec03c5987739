//! When turns arrived: the requests that a conversation consists of.
//!
//! A body shows its own past: the model was called right before each of its turns, so the turns before
//! that point were a request. Nothing else is known of the past, and nothing else is needed.

use crate::read::view::{PartKind, Role, TurnId, View};

/// When a part was last of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Number of the request, from 0.
    pub request: u32,
    /// How many user messages there were.
    pub user_turns: u32,
}

/// The turns that guards and strategies ask for again and again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ends {
    pub(crate) first_user: Option<TurnId>,
    pub(crate) last_user: Option<TurnId>,
    /// The assistant turn whose results end the visible turns: its exchange is not over.
    pub(crate) open_exchange: Option<TurnId>,
}

/// The first turn that the request before did not have: where the model's last answer begins. `None` for
/// the first request of a conversation.
pub(crate) fn newest_turn(view: &View<'_>) -> Option<TurnId> {
    let is_assistant = |turn: &TurnId| view.turn(*turn).role == Role::Assistant;
    let answer = view.turn_ids().rfind(is_assistant)?;
    let first = view
        .turn_ids()
        .rev()
        .skip(view.turns().len() - answer.index() - 1)
        .take_while(is_assistant)
        .last()?;
    (first.index() > 0).then_some(first)
}

/// The requests that a conversation is made of, and when each turn arrived.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// For each request: how many turns it had.
    requests: Vec<u32>,
    /// For each turn: the first request that had it, and the user messages up to it.
    first_use: Vec<Use>,
    /// For each turn: what the turns up to it end with.
    ends: Vec<Ends>,
}

impl Timeline {
    pub(crate) fn of(view: &View<'_>) -> Self {
        let mut requests = Vec::new();
        let mut first_use = Vec::with_capacity(view.turns().len());
        let mut ends = Vec::with_capacity(view.turns().len());
        let (mut user_turns, mut was_assistant) = (0, true);
        let (mut end, mut last_caller) = (Ends::default(), None);
        for turn in view.turn_ids() {
            let is_assistant = view.turn(turn).role == Role::Assistant;
            if is_assistant && !was_assistant {
                requests.push(turn.0);
            }
            was_assistant = is_assistant;
            let has = |kind| {
                let mut parts = view.parts_of(turn);
                parts.any(|part| view.part(part).kind == kind)
            };
            let has_result = has(PartKind::Result);
            if view.is_user_authored(turn) {
                end.first_user = end.first_user.or(Some(turn));
                end.last_user = Some(turn);
                user_turns += u32::from(!has_result);
            }
            end.open_exchange = last_caller.filter(|_| has_result);
            ends.push(end);
            if is_assistant && has(PartKind::Call) {
                last_caller = Some(turn);
            }
            first_use.push(Use {
                request: u32::try_from(requests.len()).unwrap_or(u32::MAX),
                user_turns,
            });
        }
        let all = u32::try_from(view.turns().len()).unwrap_or(u32::MAX);
        if requests.last() != Some(&all) {
            requests.push(all);
        }
        Self {
            requests,
            first_use,
            ends,
        }
    }

    /// For each request: how many turns it had. The last one is the present request.
    pub(crate) fn requests(&self) -> &[u32] {
        &self.requests
    }

    /// The request with which a turn arrived.
    pub(crate) fn first_use(&self, turn: TurnId) -> Use {
        self.first_use[turn.index()]
    }

    /// User messages among the first `visible` turns.
    pub(crate) fn user_turns(&self, visible: u32) -> u32 {
        let last = (visible as usize).checked_sub(1);
        last.and_then(|last| self.first_use.get(last))
            .map_or(0, |last| last.user_turns)
    }

    /// What the first `visible` turns begin and end with.
    pub(crate) fn ends(&self, visible: u32) -> Ends {
        let last = (visible as usize).checked_sub(1);
        last.and_then(|last| self.ends.get(last))
            .copied()
            .unwrap_or_default()
    }
}
