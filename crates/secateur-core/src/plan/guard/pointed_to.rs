//! A note that says "as shown above" must be true: what it points to stays as long as the note does.

use crate::plan::context::PlanContext;
use crate::plan::edit::{Action, Edit, Effect, Plan, SkipReason, StrategyId, Target};
use crate::read::view::{PartId, TurnId};

use super::{CitedLines, turn_id};

/// Gives back wanted turns that a note in a turn that stays points to. Returns whether any was given
/// back.
pub(super) fn give_back(
    context: &PlanContext<'_, '_>,
    wanted: &mut [bool],
    strategy: Option<StrategyId>,
    plan: &mut Plan,
) -> bool {
    if !context.draft.has_citations() {
        return false;
    }
    let mut given_back = false;
    // A turn that stays keeps its exchange, and the notes in it.
    let mut unit_stays = vec![false; wanted.len()];
    // Notes come after what they point to, so from the end every note is decided before its source.
    for at in (0..wanted.len()).rev() {
        let goes = |turn: TurnId| wanted[turn.index()] && !unit_stays[context.unit(turn).index()];
        let note_goes = |note: &PartId| {
            context.turn_of(*note).is_some_and(goes) || !context.state(*note).is_shown()
        };
        let is_free = |part: PartId| context.draft.cited_by(part).iter().all(note_goes);
        if wanted[at] && !context.parts(turn_id(at)).all(is_free) {
            wanted[at] = false;
            unit_stays[context.unit(turn_id(at)).index()] = true;
            given_back = true;
            plan.leave(strategy, Target::Turn(turn_id(at)), SkipReason::PointedTo);
        }
    }
    given_back
}

/// Edits that would take the text that a note points to, unless the note goes too, leave what it points to, or are
/// given back. Drops of turns were settled before, together with their exchanges.
pub(crate) fn keep_what_is_pointed_to(context: &PlanContext<'_, '_>, plan: &mut Plan) {
    if !context.draft.has_citations() {
        return;
    }
    let mut takes: Vec<bool> = vec![false; context.view.parts().len()];
    for edit in &plan.edits {
        for part in taken(context, edit) {
            takes[part.index()] = true;
        }
    }
    // Notes come after what they point to, so from the end every note is decided before its source.
    let is_open = |at: &usize| plan.edits[*at].effect != Effect::KeepsCitedLines;
    let mut order: Vec<usize> = (0..plan.edits.len()).filter(is_open).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(taken(context, &plan.edits[at]).next()));
    let mut is_given_back = vec![false; plan.edits.len()];
    let mut cited_lines = CitedLines::default();
    for at in order {
        let parts: Vec<PartId> = taken(context, &plan.edits[at]).collect();
        let note_goes = |note: &PartId| takes[note.index()] || !context.state(*note).is_shown();
        if parts
            .iter()
            .all(|&part| context.draft.cited_by(part).iter().all(note_goes))
        {
            continue;
        }
        // What is left of the part has no notes of its own any more.
        if let Some(edit) = cited_lines.keep(context, &plan.edits[at]) {
            plan.edits[at] = edit;
            continue;
        }
        for part in parts {
            takes[part.index()] = false;
        }
        is_given_back[at] = true;
    }
    let mut given_back = Vec::new();
    let mut edits = std::mem::take(&mut plan.edits);
    let mut verdicts = is_given_back.into_iter();
    edits.retain(|edit| {
        let goes_back = verdicts.next() == Some(true);
        if goes_back {
            given_back.push((edit.strategy, edit.target()));
        }
        !goes_back
    });
    plan.edits = edits;
    for (strategy, target) in given_back.into_iter().rev() {
        plan.leave(Some(strategy), target, SkipReason::PointedTo);
    }
}

/// The parts whose text an edit takes away, in whole or in part.
fn taken<'s>(context: &PlanContext<'s, '_>, edit: &Edit) -> Box<dyn Iterator<Item = PartId> + 's> {
    match &edit.action {
        _ if edit.effect == Effect::KeepsShownText => Box::new(std::iter::empty()),
        Action::DropTurn(turn) => Box::new(context.parts(*turn)),
        Action::DropPart(part) | Action::Rewrite(part, _) | Action::ReplaceInput(part, _) => {
            Box::new(std::iter::once(*part))
        }
        Action::InsertTurn(..) | Action::Mark(_) => Box::new(std::iter::empty()),
        Action::Arrange(arranged) => Box::new(arranged.blocks.clone().into_iter()),
    }
}
