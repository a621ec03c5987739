//! Putting plans together: each strategy sees what the ones before it decided, and every edit
//! passes the guards before it counts.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use crate::arrival::{Chain, Shortened};
use crate::call_args::CallArgs;
use crate::edit::{Action, Arrangement, Edit, Piece, Plan, SkipReason, Target};
use crate::guard;
use crate::hash::QuickMap;
use crate::scene::{ModelFacts, PartState, Scene};
use crate::strategy::Strategy;
use crate::summary::{Summaries, Want};
use crate::timeline::{Timeline, Use};
use crate::tool_facts::ToolFacts;
use crate::view::{Exchanges, PartId, PartKind, TurnId, View};

/// The decisions so far.
#[derive(Clone, Debug)]
pub struct Draft {
    gone: Vec<bool>,
    states: Vec<PartState>,
    chars: Vec<usize>,
    /// Characters of each part as it came in.
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
    /// Whether turns or parts were dropped, or turns put in: whatever [`Draft::tidy`] looks after.
    is_loose: bool,
}

impl Draft {
    /// Nothing decided yet.
    #[must_use]
    pub fn new(view: &View<'_>) -> Self {
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

    /// Characters of a part's text as it came in.
    #[must_use]
    pub fn chars_before(&self, part: PartId) -> usize {
        self.chars_before[part.index()]
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

/// What stays the same while a body is planned.
#[derive(Debug)]
pub(crate) struct Stage<'s, 'a> {
    pub(crate) view: &'s View<'a>,
    pub(crate) exchanges: Exchanges,
    pub(crate) model: ModelFacts,
    pub(crate) timeline: Timeline,
    pub(crate) call_args: OnceCell<CallArgs>,
    pub(crate) facts: OnceCell<ToolFacts>,
    pub(crate) summaries: Option<&'s dyn Summaries>,
    /// Descriptions of results, which depend on the result alone.
    pub(crate) described: RefCell<QuickMap<PartId, Option<Cow<'static, str>>>>,
}

impl<'s, 'a> Stage<'s, 'a> {
    pub(crate) fn new(
        view: &'s View<'a>,
        model: ModelFacts,
        summaries: Option<&'s dyn Summaries>,
    ) -> Self {
        Self {
            summaries,
            view,
            exchanges: view.exchanges(),
            model,
            timeline: Timeline::of(view),
            call_args: OnceCell::new(),
            facts: OnceCell::new(),
            described: RefCell::default(),
        }
    }

    /// How many parts come before this turn (system texts before it included).
    pub(crate) fn parts_before(&self, turns: u32) -> usize {
        match turns.checked_sub(1) {
            Some(last) => self.view.parts_end(TurnId(last)),
            None => 0,
        }
    }

    /// The parts that an edit of this target touches.
    pub(crate) fn parts_of(&self, target: Target) -> impl Iterator<Item = PartId> + use<> {
        let (first, end) = match target {
            Target::Part(part) => (part.0, part.0 + 1),
            Target::Turn(turn) => (
                self.view.parts_start(turn).0,
                u32::try_from(self.view.parts_end(turn)).unwrap_or(u32::MAX),
            ),
            Target::Request => (0, 0),
        };
        (first..end).map(PartId)
    }

    /// The scene at the present request, for a mechanic's gate.
    pub(crate) fn present<'d>(&'d self, draft: &'d Draft) -> Scene<'d, 'a> {
        let (request, visible) = self.now();
        self.scene(request, visible, draft)
    }

    /// The number of the present request, and how many turns it has.
    fn now(&self) -> (u32, u32) {
        let visible = u32::try_from(self.view.turns().len()).unwrap_or(u32::MAX);
        let request = self.timeline.requests().len().saturating_sub(1);
        (u32::try_from(request).unwrap_or(u32::MAX), visible)
    }

    /// The scene at a request, for strategies and guards.
    pub(crate) fn scene<'d>(
        &'d self,
        request: u32,
        visible: u32,
        draft: &'d Draft,
    ) -> Scene<'d, 'a> {
        Scene {
            view: self.view,
            exchanges: &self.exchanges,
            timeline: &self.timeline,
            call_args: &self.call_args,
            facts: &self.facts,
            described: &self.described,
            draft,
            model: self.model,
            summaries: self.summaries,
            visible,
            request,
            ends: self.timeline.ends(visible),
        }
    }
}

/// Plans the whole body from scratch: arrivals first, then the strategies in order, then the guard of
/// signed thinking.
pub(crate) fn run(stage: &Stage<'_, '_>, strategies: &[&dyn Strategy], draft: &mut Draft) {
    let (request, visible) = stage.now();
    let mut chain = Chain::of(strategies);
    arrive(stage, request, 0, visible, &mut chain, draft);
    for strategy in strategies {
        let scene = stage.scene(request, visible, draft);
        let plan = strategy.plan(&scene);
        let settled = settle(&scene, plan, guard::Reach::of(*strategy));
        draft.merge(stage.view, settled);
    }
    draft.tidy(stage.view, visible);
    let open = stage.timeline.ends(visible).open_exchange;
    guard::signed_thinking(stage.view, stage.model, visible, open, draft);
}

/// Lets the parts of the turns `from..visible` arrive, one after the other.
pub(crate) fn arrive(
    stage: &Stage<'_, '_>,
    request: u32,
    from: u32,
    visible: u32,
    chain: &mut Chain<'_>,
    draft: &mut Draft,
) {
    if chain.is_empty() {
        return;
    }
    for id in (from..visible).flat_map(|turn| stage.view.parts_of(TurnId(turn))) {
        let scene = stage.scene(request, visible, draft);
        match scene.kind(id) {
            PartKind::Call => chain.call(&scene, id),
            PartKind::Result if scene.may_shorten(id) => {
                let Some(Shortened { edit, cites }) = chain.result(&scene, id) else {
                    continue;
                };
                match guard::veto_part(&scene, &edit, id, guard::Reach::default()) {
                    Ok(()) => {
                        let seen = stage.timeline.first_use(TurnId(visible.saturating_sub(1)));
                        draft.take(stage.view, edit);
                        draft.cite(id, &cites, Use { request, ..seen });
                    }
                    Err(reason) => {
                        chain.forget(id);
                        let target = Target::Part(id);
                        draft.plan.leave(Some(edit.strategy), target, reason);
                    }
                }
            }
            _ => {}
        }
    }
}

/// What strategies decide about the turns `from..visible` once, when they arrive.
pub(crate) fn decide_on_arrival(
    stage: &Stage<'_, '_>,
    request: u32,
    from: u32,
    visible: u32,
    strategies: &[&dyn Strategy],
    draft: &mut Draft,
) {
    for strategy in strategies.iter().filter(|one| one.decides_on_arrival()) {
        let scene = stage.scene(request, visible, draft);
        let plan = strategy.plan_from(&scene, TurnId(from));
        let settled = settle(&scene, plan, guard::Reach::of(*strategy));
        draft.merge(stage.view, settled);
    }
}

/// What the strategies that do not work on arrival would add to the draft at a request.
pub(crate) fn propose(
    stage: &Stage<'_, '_>,
    request: u32,
    visible: u32,
    strategies: &[&dyn Strategy],
    draft: &Draft,
) -> Plan {
    let mut proposal = Plan::default();
    let mut trial: Option<Draft> = None;
    let mut planners = strategies
        .iter()
        .filter(|strategy| plans_rounds(**strategy))
        .peekable();
    while let Some(strategy) = planners.next() {
        let scene = stage.scene(request, visible, trial.as_ref().unwrap_or(draft));
        let settled = settle(&scene, strategy.plan(&scene), guard::Reach::default());
        proposal.wants.extend(settled.wants.iter().cloned());
        // Only a strategy behind this one has to see what it decided.
        if planners.peek().is_some() && !settled.edits.is_empty() {
            proposal.edits.extend(settled.edits.iter().cloned());
            trial
                .get_or_insert_with(|| draft.clone())
                .merge(stage.view, settled);
        } else {
            proposal.edits.extend(settled.edits);
        }
    }
    proposal
}

/// Whether a strategy's plans are parts of rounds, as opposed to those that decide on arrival.
pub(crate) fn plans_rounds(strategy: &dyn Strategy) -> bool {
    strategy.arrivals().is_none() && !strategy.decides_on_arrival()
}

/// The part of a proposal that is safe on its own.
pub(crate) fn settle_again(
    stage: &Stage<'_, '_>,
    request: u32,
    visible: u32,
    plan: Plan,
    draft: &Draft,
) -> Plan {
    settle(
        &stage.scene(request, visible, draft),
        plan,
        guard::Reach::default(),
    )
}

/// Adds a settled plan to the draft.
pub(crate) fn merge(stage: &Stage<'_, '_>, visible: u32, plan: Plan, draft: &mut Draft) {
    draft.merge(stage.view, plan);
    draft.tidy(stage.view, visible);
}

/// The edits of a plan that the guards let through; the others become skips.
fn settle(scene: &Scene<'_, '_>, plan: Plan, reach: guard::Reach) -> Plan {
    let mut outcome = Plan {
        edits: Vec::with_capacity(plan.edits.len()),
        skips: plan.skips,
        chunks: plan.chunks,
        drops_block: plan.drops_block,
        wants: plan.wants,
    };
    let mut wanted = Vec::new();
    for edit in &plan.edits {
        if let Action::DropTurn(turn) = edit.action {
            wanted.resize(scene.view.turns().len(), false);
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
            Action::Mark(_) => Ok(()),
            Action::DropPart(part) | Action::Rewrite(part, _) | Action::ReplaceInput(part, _) => {
                if settled_turn(scene.view, *part, &settled) {
                    continue;
                }
                guard::veto_part(scene, &edit, *part, reach)
            }
            Action::Arrange(arranged) => {
                if arranged
                    .blocks
                    .iter()
                    .any(|block| settled_turn(scene.view, *block, &settled))
                {
                    continue;
                }
                guard::veto_arrangement(scene, &edit, arranged, reach)
            }
        };
        match verdict {
            Ok(()) => outcome.edits.push(edit),
            Err(reason) => outcome.leave(Some(edit.strategy), edit.target(), reason),
        }
    }
    guard::keep_what_is_pointed_to(scene, &mut outcome);
    outcome
}

fn settled_turn(view: &View<'_>, part: PartId, settled: &[bool]) -> bool {
    let turn = view.part(part).turn;
    turn.is_some_and(|turn| settled.get(turn.index()) == Some(&true))
}

impl Draft {
    /// Records a settled plan.
    fn merge(&mut self, view: &View<'_>, plan: Plan) {
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
                self.is_loose = true;
                self.edit_of[part.index()] = at;
            }
            Action::Rewrite(part, pieces) => {
                let part = *part;
                let keeps = |piece: &Piece| matches!(piece, Piece::Keep(_));
                let state = if !edit.clears_around_notes() && pieces.iter().any(keeps) {
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
                self.states[part.index()] = if edit.leaves_shown_text() {
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

    /// Moves new turns, removes edits inside dropped turns, which are moot, and finds the others again.
    fn tidy(&mut self, view: &View<'_>, visible: u32) {
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
    fn cite(&mut self, part: PartId, sources: &[PartId], seen: Use) {
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
