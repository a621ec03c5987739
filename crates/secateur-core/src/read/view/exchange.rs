//! Which calls and results belong together.
//!
//! A result belongs to the nearest earlier turn that calls with its id; inside that turn, to the
//! first call with that id which has no result yet. Without an id (Gemini, legacy functions) the
//! tool's name is used instead. Turns that are tied together form a *unit*: all of it stays or all
//! of it goes.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::{PartId, PartKind, TurnId, View};
use crate::text::hash::{QuickMap, quick_map};

/// The ties between the turns of a view.
#[derive(Debug)]
pub struct Exchanges {
    /// For each part: its call (for results).
    call_of: Vec<Option<PartId>>,
    /// For each part: its first result (for calls).
    result_of: Vec<Option<PartId>>,
    /// For each turn: the first turn of its unit.
    unit_of: Vec<TurnId>,
    /// For each turn: whether its unit holds a call without result or a result without call.
    broken: Vec<bool>,
}

#[derive(Default)]
struct OpenCalls {
    turn: Option<TurnId>,
    /// The first call without a result. An id is hardly ever used twice in a turn.
    waiting: Option<PartId>,
    /// The calls after it.
    behind: VecDeque<PartId>,
    last: Option<PartId>,
}

impl OpenCalls {
    fn call(&mut self, turn: TurnId, call: PartId) {
        if self.turn != Some(turn) {
            *self = Self {
                turn: Some(turn),
                last: self.last,
                ..Self::default()
            };
        }
        if self.waiting.is_none() {
            self.waiting = Some(call);
        } else {
            self.behind.push_back(call);
        }
    }

    /// The call that the next result answers.
    fn answered(&mut self) -> Option<PartId> {
        if let Some(call) = self.waiting {
            self.waiting = self.behind.pop_front();
            self.last = Some(call);
        }
        self.last
    }
}

impl Exchanges {
    pub(super) fn of(view: &View<'_>) -> Self {
        let mut call_of = vec![None; view.parts().len()];
        let mut result_of = vec![None; view.parts().len()];
        let mut open: QuickMap<(bool, Cow<'_, str>), OpenCalls> = quick_map(view.parts().len() / 2);
        let mut parent: Vec<u32> = (0..).take(view.turns().len()).collect();
        for id in view.part_ids() {
            let part = view.part(id);
            let (Some(turn), PartKind::Call | PartKind::Result) = (part.turn, part.kind) else {
                continue;
            };
            let calls = open.entry(view.pairing_key(id)).or_default();
            if part.kind == PartKind::Call {
                calls.call(turn, id);
            } else if let Some(call) = calls.answered() {
                call_of[id.index()] = Some(call);
                result_of[call.index()].get_or_insert(id);
                if let Some(caller) = view.part(call).turn {
                    join(&mut parent, caller.0, turn.0);
                }
            }
        }
        let unit_of: Vec<TurnId> = view
            .turn_ids()
            .map(|turn| TurnId(root(&mut parent, turn.0)))
            .collect();
        let mut broken = vec![false; view.turns().len()];
        for id in view.part_ids() {
            let part = view.part(id);
            let alone = match part.kind {
                PartKind::Call => result_of[id.index()].is_none(),
                PartKind::Result => call_of[id.index()].is_none(),
                _ => false,
            };
            if let (Some(turn), true) = (part.turn, alone) {
                broken[unit_of[turn.index()].index()] = true;
            }
        }
        let broken = unit_of.iter().map(|unit| broken[unit.index()]).collect();
        Self {
            call_of,
            result_of,
            unit_of,
            broken,
        }
    }

    /// The call that a result answers.
    #[must_use]
    pub fn call_of(&self, result: PartId) -> Option<PartId> {
        self.call_of.get(result.index()).copied().flatten()
    }

    /// The first result of a call.
    #[must_use]
    pub fn result_of(&self, call: PartId) -> Option<PartId> {
        self.result_of.get(call.index()).copied().flatten()
    }

    /// The first turn of the unit that a turn belongs to.
    #[must_use]
    pub fn unit(&self, turn: TurnId) -> TurnId {
        self.unit_of[turn.index()]
    }

    /// Whether the turn's unit is broken in the incoming body. Such turns are left as they are.
    #[must_use]
    pub fn is_broken(&self, turn: TurnId) -> bool {
        self.broken[turn.index()]
    }
}

fn root(parent: &mut [u32], mut turn: u32) -> u32 {
    while parent[turn as usize] != turn {
        parent[turn as usize] = parent[parent[turn as usize] as usize];
        turn = parent[turn as usize];
    }
    turn
}

/// The earlier turn becomes the root, so that a unit is named by its first turn.
fn join(parent: &mut [u32], one: u32, other: u32) {
    let (one, other) = (root(parent, one), root(parent, other));
    parent[one.max(other) as usize] = one.min(other);
}
