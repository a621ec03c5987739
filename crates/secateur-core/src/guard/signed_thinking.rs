//! Thinking that is bound to everything before it goes when something before it changes.
//!
//! On models that sign each block alone nothing needs to be done: an edit elsewhere is safe. On
//! bound models every thinking block behind the first edit is invalid, so the plan also removes
//! those blocks whole. If an open tool exchange needs one of them, the plan waits, unless the policy
//! leaves it to the provider to drop what is invalid.

use crate::compose::{Draft, Stage};
use crate::dialect::DialectId;
use crate::edit::{Action, Edit, SkipReason, StrategyId, Target, Why};
use crate::scene::{ModelFacts, PartState};
use crate::view::{PartId, PartKind, TurnId, View};

const GUARD: StrategyId = StrategyId("signed-thinking");

/// Completes the draft's plan, or gives it up.
pub(crate) fn signed_thinking(
    view: &View<'_>,
    model: ModelFacts,
    visible: u32,
    open: Option<TurnId>,
    draft: &mut Draft,
) {
    if !model.thinking_is_bound || view.dialect() != DialectId::AnthropicMessages {
        return;
    }
    let Some(first_edit) = draft
        .plan()
        .edits
        .iter()
        .map(|edit| position(view, edit))
        .min()
    else {
        return;
    };
    match invalid_thinking(view, model, visible, first_edit, open, draft) {
        Ok(invalid) => invalid.settle(draft),
        Err(reason) => draft.abandon(reason),
    }
}

/// What becomes of the thinking that an edit makes invalid.
#[derive(Default)]
struct Invalid {
    removals: Vec<Edit>,
    /// Some stays for the provider to drop.
    is_left: bool,
}

impl Invalid {
    fn settle(self, draft: &mut Draft) {
        draft.complete(self.removals);
        if self.is_left {
            draft.drop_block();
        }
    }
}

/// The thinking blocks from a part on that an edit there makes invalid.
///
/// # Errors
/// They cannot be removed.
fn invalid_thinking(
    view: &View<'_>,
    model: ModelFacts,
    visible: u32,
    from: PartId,
    open: Option<TurnId>,
    draft: &Draft,
) -> Result<Invalid, SkipReason> {
    let mut invalid = Invalid::default();
    for id in view.part_ids().skip(from.index()) {
        let part = view.part(id);
        let Some(turn) = part.turn else {
            continue;
        };
        if turn.0 >= visible {
            break;
        }
        if part.kind != PartKind::Thinking || draft.state(id) == PartState::Gone {
            continue;
        }
        if Some(turn) == open {
            if model.may_drop_block {
                invalid.is_left = true;
                continue;
            }
            return Err(SkipReason::OpenExchangeNeedsThinking);
        }
        let others_stay = view.parts_of(turn).any(|other| {
            view.part(other).kind != PartKind::Thinking && draft.state(other) != PartState::Gone
        });
        if !others_stay {
            return Err(SkipReason::WouldBeEmpty);
        }
        invalid.removals.push(Edit {
            action: Action::DropPart(id),
            strategy: GUARD,
            why: Why::ThinkingBoundToEdit,
            chars_before: view.chars(id),
            chars_after: 0,
        });
    }
    Ok(invalid)
}

fn is_bound(stage: &Stage<'_, '_>) -> bool {
    stage.model.thinking_is_bound && stage.view.dialect() == DialectId::AnthropicMessages
}

/// Whether every round that begins before this many parts has to wait for the exchange that is open. Looks at
/// that exchange alone.
pub(crate) fn open_exchange_waits(
    stage: &Stage<'_, '_>,
    visible: u32,
    parts: usize,
    draft: &Draft,
) -> bool {
    let open = stage.timeline.ends(visible).open_exchange;
    let waits_for = |part: PartId| {
        part.index() >= parts
            && stage.view.part(part).kind == PartKind::Thinking
            && draft.state(part) != PartState::Gone
    };
    is_bound(stage)
        && !stage.model.may_drop_block
        && open.is_some_and(|turn| stage.view.parts_of(turn).any(waits_for))
}

/// Whether a round that begins at `from` has to wait.
pub(crate) fn open_exchange_needs_thinking(
    stage: &Stage<'_, '_>,
    visible: u32,
    from: PartId,
    draft: &Draft,
) -> bool {
    let open = stage.timeline.ends(visible).open_exchange;
    is_bound(stage)
        && invalid_thinking(stage.view, stage.model, visible, from, open, draft).is_err()
}

/// Removes the thinking that a round from `from` on makes invalid: what was produced before it.
pub(crate) fn remove_bound_thinking(
    stage: &Stage<'_, '_>,
    visible: u32,
    from: PartId,
    draft: &mut Draft,
) {
    let open = stage.timeline.ends(visible).open_exchange;
    if is_bound(stage)
        && let Ok(invalid) = invalid_thinking(stage.view, stage.model, visible, from, open, draft)
    {
        invalid.settle(draft);
    }
}

/// The first part that an edit touches. System texts come before every turn, wherever in the body
/// they are written.
pub(crate) fn position(view: &View<'_>, edit: &Edit) -> PartId {
    match (&edit.action, edit.target()) {
        (Action::DropTurn(turn) | Action::InsertTurn(turn, _), _) => view.parts_start(*turn),
        (_, Target::Part(part)) if view.part(part).turn.is_some() => part,
        _ => PartId(0),
    }
}
