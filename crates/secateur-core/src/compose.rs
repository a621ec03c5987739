//! Putting plans together: each strategy sees what the ones before it decided, and every edit
//! passes the guards before it counts.

use crate::edit::{Action, Edit, Need, Piece, Plan, SkipReason, Target};
use crate::guard;
use crate::scene::{Ends, ModelFacts, PartState, Scene};
use crate::strategy::Strategy;
use crate::view::{Exchanges, PartId, TurnId, View};

/// The decisions so far.
#[derive(Clone, Debug)]
pub struct Draft {
    gone: Vec<bool>,
    states: Vec<PartState>,
    chars: Vec<usize>,
    /// Index of the edit that touched a part.
    edit_of: Vec<Option<u32>>,
    plan: Plan,
}

impl Draft {
    /// Nothing decided yet.
    #[must_use]
    pub fn new(view: &View<'_>) -> Self {
        Self {
            gone: vec![false; view.turns().len()],
            states: vec![PartState::Whole; view.parts().len()],
            chars: view.part_ids().map(|part| view.chars(part)).collect(),
            edit_of: vec![None; view.parts().len()],
            plan: Plan::default(),
        }
    }

    /// Whether a turn was dropped.
    #[must_use]
    pub fn is_gone(&self, turn: TurnId) -> bool {
        self.gone[turn.index()]
    }

    /// What has become of a part.
    #[must_use]
    pub fn state(&self, part: PartId) -> PartState {
        self.states[part.index()]
    }

    /// Characters of a part's text after the edits.
    #[must_use]
    pub fn chars(&self, part: PartId) -> usize {
        self.chars[part.index()]
    }

    /// The edits that count, and all skips.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The edits that count, and all skips.
    #[must_use]
    pub fn into_plan(self) -> Plan {
        self.plan
    }

    fn drop_turn(&mut self, view: &View<'_>, turn: TurnId) {
        self.gone[turn.index()] = true;
        for part in view.parts_of(turn) {
            self.remove_part(part);
        }
    }

    fn remove_part(&mut self, part: PartId) {
        self.states[part.index()] = PartState::Gone;
        self.chars[part.index()] = 0;
    }
}

/// What a strategy would see of the first `visible` turns after the draft's decisions.
pub(crate) fn scene<'s, 'a>(
    view: &'s View<'a>,
    exchanges: &'s Exchanges,
    model: ModelFacts,
    visible: u32,
    draft: &'s Draft,
) -> Scene<'s, 'a> {
    Scene {
        view,
        exchanges,
        draft,
        model,
        visible,
        ends: Ends::of(view, visible),
    }
}

/// Runs the strategies in order over the first `visible` turns and adds to the draft what the
/// guards let through.
pub(crate) fn run(
    view: &View<'_>,
    exchanges: &Exchanges,
    model: ModelFacts,
    visible: u32,
    strategies: &[&dyn Strategy],
    draft: &mut Draft,
) {
    let ends = Ends::of(view, visible);
    for strategy in strategies {
        let scene = Scene {
            view,
            exchanges,
            draft,
            model,
            visible,
            ends,
        };
        let plan = strategy.plan(&scene);
        let settled = settle(&scene, plan, *strategy);
        draft.merge(view, settled);
    }
    draft.release_unmet_needs(view);
    draft.move_inserts(visible);
    // What an edit on a dropped turn would have done is moot.
    draft.plan.edits.retain(|edit| match edit.action {
        Action::DropPart(part) | Action::Rewrite(part, _) | Action::ReplaceInput(part, _) => view
            .part(part)
            .turn
            .is_none_or(|turn| !draft.gone[turn.index()]),
        Action::DropTurn(_) | Action::InsertTurn(..) => true,
    });
    draft.index_edits();
    guard::signed_thinking(view, model, visible, ends.open_exchange, draft);
}

/// The edits of a plan that the guards let through; the others become skips.
fn settle(scene: &Scene<'_, '_>, plan: Plan, author: &dyn Strategy) -> Plan {
    let mut outcome = Plan {
        edits: Vec::new(),
        skips: plan.skips,
        needs: plan.needs,
    };
    let mut wanted = vec![false; scene.view.turns().len()];
    for edit in &plan.edits {
        if let Action::DropTurn(turn) = edit.action {
            wanted[turn.index()] = true;
        }
    }
    let strategy = plan.edits.first().map(|edit| edit.strategy);
    let is_told = |edit: &Edit| matches!(edit.action, Action::InsertTurn(..));
    let told = plan.edits.iter().any(is_told);
    let settled = guard::settle_drops(scene, wanted, told, strategy, &mut outcome);
    let any_drop = settled.contains(&true);
    for edit in plan.edits {
        let verdict = match &edit.action {
            Action::DropTurn(turn) if settled[turn.index()] => Ok(()),
            // Its reason is already among the skips.
            Action::DropTurn(_) => continue,
            Action::InsertTurn(..) if any_drop => Ok(()),
            Action::InsertTurn(..) => Err(SkipReason::NothingToCut),
            Action::DropPart(part) | Action::Rewrite(part, _) | Action::ReplaceInput(part, _) => {
                if settled_turn(scene.view, *part, &settled) {
                    continue;
                }
                guard::veto_part(scene, &edit, *part, guard::Reach::of(author))
            }
        };
        match verdict {
            Ok(()) => outcome.edits.push(edit),
            Err(reason) => outcome.leave(Some(edit.strategy), edit.target(), reason),
        }
    }
    outcome
}

fn settled_turn(view: &View<'_>, part: PartId, settled: &[bool]) -> bool {
    view.part(part)
        .turn
        .is_some_and(|turn| settled[turn.index()])
}

impl Draft {
    /// Records a settled plan.
    fn merge(&mut self, view: &View<'_>, plan: Plan) {
        self.plan.skips.extend(plan.skips);
        self.plan.needs.extend(plan.needs);
        for edit in plan.edits {
            self.take(view, edit);
        }
    }

    /// Records an edit that passed the guards.
    fn take(&mut self, view: &View<'_>, edit: Edit) {
        let at = u32::try_from(self.plan.edits.len()).ok();
        match &edit.action {
            Action::DropTurn(turn) => {
                let turn = *turn;
                self.drop_turn(view, turn);
            }
            Action::DropPart(part) => {
                let part = *part;
                self.remove_part(part);
                self.edit_of[part.index()] = at;
            }
            Action::Rewrite(part, pieces) => {
                let part = *part;
                let state = if pieces.iter().any(|piece| matches!(piece, Piece::Keep(_))) {
                    PartState::Trimmed
                } else {
                    PartState::Cleared
                };
                match (self.states[part.index()], self.edit_of[part.index()]) {
                    (PartState::Whole, _) => self.edit_of[part.index()] = at,
                    // Clearing what was only trimmed takes the trim's place.
                    (PartState::Trimmed, Some(earlier)) if state == PartState::Cleared => {
                        self.states[part.index()] = state;
                        self.chars[part.index()] = edit.chars_after;
                        self.plan.edits[earlier as usize] = edit;
                        return;
                    }
                    _ => {
                        self.plan.leave(
                            Some(edit.strategy),
                            Target::Part(part),
                            SkipReason::AlreadyEdited,
                        );
                        return;
                    }
                }
                self.states[part.index()] = state;
                self.chars[part.index()] = edit.chars_after;
            }
            Action::ReplaceInput(part, _) => {
                if self.edit_of[part.index()].is_some() {
                    self.plan.leave(
                        Some(edit.strategy),
                        Target::Part(*part),
                        SkipReason::AlreadyEdited,
                    );
                    return;
                }
                self.edit_of[part.index()] = at;
                self.states[part.index()] = PartState::Cleared;
                self.chars[part.index()] = edit.chars_after;
            }
            Action::InsertTurn(..) => {}
        }
        self.plan.edits.push(edit);
    }

    /// Finds the edits of parts again after some of them went.
    fn index_edits(&mut self) {
        self.edit_of.fill(None);
        for (at, edit) in self.plan.edits.iter().enumerate() {
            if let Target::Part(part) = edit.target() {
                self.edit_of[part.index()] = u32::try_from(at).ok();
            }
        }
    }

    /// A new turn whose neighbour was dropped later stands before the next turn that stays.
    fn move_inserts(&mut self, visible: u32) {
        for edit in &mut self.plan.edits {
            if let Action::InsertTurn(before, _) = &mut edit.action {
                let gone = &self.gone;
                let stays = (before.0..visible).find(|&turn| !gone[turn as usize]);
                *before = stays.map_or(*before, TurnId);
            }
        }
    }

    /// Takes back the edits that rely on a part which did not stay whole after all.
    fn release_unmet_needs(&mut self, view: &View<'_>) {
        let needs: Vec<Need> = std::mem::take(&mut self.plan.needs);
        let mut released = vec![false; self.plan.edits.len()];
        for need in needs {
            let Some(at) = self.edit_of[need.edited.index()] else {
                continue;
            };
            let at = at as usize;
            let is_its_own = self
                .plan
                .edits
                .get(at)
                .is_some_and(|edit| edit.strategy == need.strategy);
            let is_met = self.states[need.stand_in.index()] == PartState::Whole;
            // What went with its turn needs nothing any more.
            let is_there = self.states[need.edited.index()] != PartState::Gone;
            if is_its_own && !is_met && is_there && !released[at] {
                released[at] = true;
                self.states[need.edited.index()] = PartState::Whole;
                self.chars[need.edited.index()] = view.chars(need.edited);
                let target = Target::Part(need.edited);
                self.plan
                    .leave(Some(need.strategy), target, SkipReason::StandInIsCut);
            }
        }
        if released.contains(&true) {
            let mut released = released.into_iter();
            self.plan.edits.retain(|_| released.next() != Some(true));
        }
    }

    /// Adds removals that a guard demands.
    pub(crate) fn complete(&mut self, edits: impl IntoIterator<Item = Edit>) {
        for edit in edits {
            if let Action::DropPart(part) = edit.action {
                self.remove_part(part);
            }
            self.plan.edits.push(edit);
        }
    }

    /// Gives the whole plan up, for this reason.
    pub(crate) fn abandon(&mut self, reason: SkipReason) {
        self.plan.edits.clear();
        self.plan.leave(None, Target::Request, reason);
    }
}
