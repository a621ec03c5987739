//! A note that says "as shown above" must be true: what it points to stays as long as the note does.

use crate::edit::{Action, Plan, SkipReason};
use crate::scene::{PartState, Scene};
use crate::view::PartId;

/// Gives back edits that would take the text that a note points to, unless the note goes too.
pub(crate) fn keep_what_is_pointed_to(scene: &Scene<'_, '_>, plan: &mut Plan) {
    if !scene.draft.has_citations() {
        return;
    }
    let mut takes: Vec<bool> = vec![false; scene.view.parts().len()];
    for edit in &plan.edits {
        for part in taken(scene, &edit.action) {
            takes[part.index()] = true;
        }
    }
    // Notes stand behind what they point to, so from the end every note is decided before its source.
    let mut order: Vec<usize> = (0..plan.edits.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(taken(scene, &plan.edits[at].action).next()));
    let mut given_back = Vec::new();
    for at in order {
        let parts: Vec<PartId> = taken(scene, &plan.edits[at].action).collect();
        let note_goes = |note: &PartId| {
            takes[note.index()]
                || matches!(scene.state(*note), PartState::Cleared | PartState::Gone)
        };
        if parts
            .iter()
            .all(|&part| scene.draft.cited_by(part).iter().all(note_goes))
        {
            continue;
        }
        for part in parts {
            takes[part.index()] = false;
        }
        given_back.push(at);
    }
    given_back.sort_unstable();
    for at in given_back.into_iter().rev() {
        let edit = plan.edits.remove(at);
        plan.leave(Some(edit.strategy), edit.target(), SkipReason::PointedTo);
    }
}

/// The parts whose text an edit takes away, in whole or in part.
fn taken<'s>(scene: &Scene<'s, '_>, action: &Action) -> Box<dyn Iterator<Item = PartId> + 's> {
    match action {
        Action::DropTurn(turn) => Box::new(scene.parts(*turn)),
        Action::DropPart(part) | Action::Rewrite(part, _) | Action::ReplaceInput(part, _) => {
            Box::new(std::iter::once(*part))
        }
        Action::InsertTurn(..) => Box::new(std::iter::empty()),
    }
}
