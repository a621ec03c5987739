//! The decisions so far, turn by turn and part by part.

use std::sync::Arc;

use super::edit::{Action, Arrangement, Edit, Effect, Piece, Plan, SkipReason, StrategyId, Target};
use super::summary::Want;
use super::timeline::Use;
use crate::read::view::{PartId, TurnId, View};

/// What has become of a part so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartState {
    /// Untouched.
    Whole,
    /// Some of its text is kept.
    Trimmed,
    /// None of its text is kept.
    Cleared,
    /// Not there any more.
    Gone,
}

impl PartState {
    /// Whether its text goes out, in whole or in part, with the notes in it.
    #[must_use]
    pub fn is_shown(self) -> bool {
        matches!(self, Self::Whole | Self::Trimmed)
    }
}

/// The decisions so far.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    gone: Vec<bool>,
    states: Vec<PartState>,
    chars: Vec<usize>,
    /// Characters of each part in the incoming request.
    chars_before: Arc<[usize]>,
    /// Index of the edit that touched a part.
    edit_of: Vec<Option<u32>>,
    plan: Plan,
    /// For each part: the parts with notes that point to it. Empty until there is one.
    cited_by: Vec<Vec<PartId>>,
    /// For each part: when a note last pointed to it. Empty until there is one.
    last_use: Vec<Option<Use>>,
    /// The parts that notes point to, in the order of the notes.
    cited: Vec<PartId>,
    /// Whether turns or parts were dropped, or turns put in: whatever [`Draft::tidy`] handles.
    is_loose: bool,
}

impl Draft {
    /// Nothing decided yet.
    #[must_use]
    pub(crate) fn new(view: &View<'_>) -> Self {
        let chars: Vec<usize> = view.part_ids().map(|part| view.chars(part)).collect();
        Self {
            gone: vec![false; view.turns().len()],
            states: vec![PartState::Whole; view.parts().len()],
            chars_before: chars.as_slice().into(),
            chars,
            edit_of: vec![None; view.parts().len()],
            plan: Plan::default(),
            cited_by: Vec::new(),
            last_use: Vec::new(),
            cited: Vec::new(),
            is_loose: false,
        }
    }

    /// Whether a turn was dropped.
    #[must_use]
    pub(crate) fn is_gone(&self, turn: TurnId) -> bool {
        self.gone[turn.index()]
    }

    /// What has become of a part.
    #[must_use]
    pub(crate) fn state(&self, part: PartId) -> PartState {
        self.states[part.index()]
    }

    /// Characters of a part's text after the edits.
    #[must_use]
    pub(crate) fn chars(&self, part: PartId) -> usize {
        self.chars[part.index()]
    }

    /// Characters of a part's text in the incoming request.
    #[must_use]
    pub(crate) fn chars_before(&self, part: PartId) -> usize {
        self.chars_before[part.index()]
    }

    /// The edits that count, and all skips.
    #[must_use]
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The edits that count, and all skips.
    #[must_use]
    pub(crate) fn into_plan(self) -> Plan {
        self.plan
    }

    /// Notes that `target` is left alone.
    pub(crate) fn leave(&mut self, strategy: StrategyId, target: Target, reason: SkipReason) {
        self.plan.leave(Some(strategy), target, reason);
    }

    fn drop_turn(&mut self, view: &View<'_>, turn: TurnId) {
        self.gone[turn.index()] = true;
        self.is_loose = true;
        for part in view.parts_of(turn) {
            self.remove_part(part);
        }
    }

    fn remove_part(&mut self, part: PartId) {
        self.states[part.index()] = PartState::Gone;
        self.chars[part.index()] = 0;
    }
}

impl Draft {
    /// Records a settled plan.
    pub(super) fn merge(&mut self, view: &View<'_>, plan: Plan) {
        self.plan.skips.extend(plan.skips);
        self.plan.drops_block |= plan.drops_block;
        self.plan.chunks.extend(plan.chunks);
        self.plan.wants.extend(plan.wants);
        self.plan.edits.reserve(plan.edits.len());
        for edit in plan.edits {
            self.take(view, edit);
        }
    }

    /// Records an edit that passed the guards.
    pub(crate) fn take(&mut self, view: &View<'_>, edit: Edit) {
        let at = u32::try_from(self.plan.edits.len()).ok();
        match &edit.action {
            Action::DropTurn(turn) => {
                let turn = *turn;
                self.drop_turn(view, turn);
            }
            Action::DropPart(part) => {
                let part = *part;
                self.remove_part(part);
                self.is_loose = true;
                self.edit_of[part.index()] = at;
            }
            Action::Rewrite(part, pieces) => {
                let part = *part;
                let keeps = |piece: &Piece| matches!(piece, Piece::Keep(_));
                let state = if edit.effect != Effect::KeepsCitedLines && pieces.iter().any(keeps) {
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
                self.states[part.index()] = if edit.effect == Effect::KeepsShownText {
                    PartState::Trimmed
                } else {
                    PartState::Cleared
                };
                self.chars[part.index()] = edit.chars_after;
            }
            Action::InsertTurn(..) => self.is_loose = true,
            Action::Mark(_) => {}
            Action::Arrange(arranged) => self.take_arranged(arranged, at),
        }
        self.plan.edits.push(edit);
    }

    /// The first blocks hold what stays; the others count as gone.
    fn take_arranged(&mut self, arranged: &Arrangement, at: Option<u32>) {
        let mut texts = arranged.texts.iter();
        for &block in &arranged.blocks {
            self.edit_of[block.index()] = at;
            match texts.next() {
                Some(text) => {
                    self.states[block.index()] = PartState::Trimmed;
                    self.chars[block.index()] = self.chars_before[text.index()];
                }
                None => self.remove_part(block),
            }
        }
        self.is_loose = true;
    }

    /// If the turn after an inserted one was dropped later, the inserted one moves to the next turn that is kept.
    fn move_inserts(&mut self, visible: u32) {
        for edit in &mut self.plan.edits {
            if let Action::InsertTurn(before, _) = &mut edit.action {
                let gone = &self.gone;
                let stays = (before.0..visible).find(|&turn| !gone[turn as usize]);
                *before = stays.map_or(*before, TurnId);
            }
        }
    }

    /// Moves new turns, removes edits inside dropped turns, which are moot, and finds the others again.
    pub(crate) fn tidy(&mut self, view: &View<'_>, visible: u32) {
        if !self.is_loose {
            return;
        }
        self.move_inserts(visible);
        let gone = &self.gone;
        self.plan.edits.retain(|edit| match edit.target() {
            Target::Part(part) => view.part(part).turn.is_none_or(|turn| !gone[turn.index()]),
            Target::Turn(_) | Target::Request => true,
        });
        self.index_edits();
    }

    /// Finds the edits of parts again after some of them went.
    fn index_edits(&mut self) {
        self.edit_of.fill(None);
        for (at, edit) in self.plan.edits.iter().enumerate() {
            let at = u32::try_from(at).ok();
            match (&edit.action, edit.target()) {
                (Action::Arrange(arranged), _) => {
                    for block in &arranged.blocks {
                        self.edit_of[block.index()] = at;
                    }
                }
                (_, Target::Part(part)) => self.edit_of[part.index()] = at,
                _ => {}
            }
        }
    }

    /// Notes that `part` points to `sources`, which are of use again.
    pub(crate) fn cite(&mut self, part: PartId, sources: &[PartId], seen: Use) {
        if sources.is_empty() {
            return;
        }
        // Words alone that point elsewhere are not nothing: what they stand for is still shown.
        self.states[part.index()] = PartState::Trimmed;
        self.cited_by.resize(self.states.len(), Vec::new());
        self.last_use.resize(self.states.len(), None);
        for &source in sources {
            self.cited_by[source.index()].push(part);
            self.last_use[source.index()] = Some(seen);
        }
        self.cited.extend(sources);
    }

    /// Whether any note points anywhere.
    pub(crate) fn has_citations(&self) -> bool {
        !self.cited.is_empty()
    }

    /// The parts with notes that point to this one.
    pub(crate) fn cited_by(&self, part: PartId) -> &[PartId] {
        self.cited_by
            .get(part.index())
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// When a note last pointed to this part.
    pub(crate) fn last_use(&self, part: PartId) -> Option<Use> {
        self.last_use.get(part.index()).copied().flatten()
    }

    /// What a part's text became.
    pub(crate) fn rewrite_of(&self, part: PartId) -> Option<&[Piece]> {
        let edit = self.plan.edits.get(self.edit_of[part.index()]? as usize)?;
        match &edit.action {
            Action::Rewrite(_, pieces) => Some(pieces),
            _ => None,
        }
    }

    /// The parts that notes point to, in the order of the notes.
    pub(crate) fn cited(&self) -> &[PartId] {
        &self.cited
    }

    /// Whether nothing was done so far but rewriting texts (and removing thinking that an edit made
    /// invalid).
    pub(crate) fn only_rewrites(&self) -> bool {
        !self.is_loose
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

    /// Notes that invalid thinking stays for the provider to drop.
    pub(crate) fn drop_block(&mut self) {
        self.plan.drops_block = true;
    }

    /// Notes which summaries are missing.
    pub(crate) fn want(&mut self, wants: Vec<Want>) {
        self.plan.wants = wants;
    }

    /// Gives the whole plan up, for this reason.
    pub(crate) fn abandon(&mut self, reason: SkipReason) {
        self.plan.edits.clear();
        self.plan.drops_block = false;
        self.plan.leave(None, Target::Request, reason);
    }
}
