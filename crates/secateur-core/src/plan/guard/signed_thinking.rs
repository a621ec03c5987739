//! Thinking that is bound to everything before it goes when something before it changes.
//!
//! On models that sign each block alone nothing needs to be done: an edit elsewhere is safe. On
//! bound models every thinking block after the first edit is invalid, so the plan also removes
//! those blocks whole. If an open tool exchange needs one of them, the plan waits, unless the policy
//! leaves it to the provider to drop what is invalid.

use crate::plan::context::ModelFacts;
use crate::plan::draft::Draft;
use crate::plan::draft::PartState;
use crate::plan::edit::{Action, CutReason, Edit, Effect, SkipReason, StrategyId, Target};
use crate::plan::inputs::PlanInputs;
use crate::read::dialect::Dialect;
use crate::read::view::{PartId, PartKind, TurnId, View};

const GUARD: StrategyId = StrategyId("signed-thinking");

/// Completes the draft's plan, or gives it up.
pub(crate) fn signed_thinking(
    view: &View<'_>,
    model: ModelFacts,
    visible: u32,
    open: Option<TurnId>,
    draft: &mut Draft,
) {
    if !model.thinking_is_bound || view.dialect() != Dialect::AnthropicMessages {
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
            why: CutReason::ThinkingBoundToEdit,
            effect: Effect::RemovesUnused,
            chars_before: view.chars(id),
            chars_after: 0,
        });
    }
    Ok(invalid)
}

fn is_bound(inputs: &PlanInputs<'_, '_>) -> bool {
    inputs.model.thinking_is_bound && inputs.view.dialect() == Dialect::AnthropicMessages
}

/// Whether every round that begins before this many parts has to wait for the exchange that is open. Reads
/// that exchange alone.
pub(crate) fn open_exchange_waits(
    inputs: &PlanInputs<'_, '_>,
    visible: u32,
    parts: usize,
    draft: &Draft,
) -> bool {
    let open = inputs.timeline.ends(visible).open_exchange;
    let waits_for = |part: PartId| {
        part.index() >= parts
            && inputs.view.part(part).kind == PartKind::Thinking
            && draft.state(part) != PartState::Gone
    };
    is_bound(inputs)
        && !inputs.model.may_drop_block
        && open.is_some_and(|turn| inputs.view.parts_of(turn).any(waits_for))
}

/// Whether a round that begins at `from` has to wait.
pub(crate) fn open_exchange_needs_thinking(
    inputs: &PlanInputs<'_, '_>,
    visible: u32,
    from: PartId,
    draft: &Draft,
) -> bool {
    let open = inputs.timeline.ends(visible).open_exchange;
    is_bound(inputs)
        && invalid_thinking(inputs.view, inputs.model, visible, from, open, draft).is_err()
}

/// Removes the thinking that a round from `from` on makes invalid: what was produced before it.
pub(crate) fn remove_bound_thinking(
    inputs: &PlanInputs<'_, '_>,
    visible: u32,
    from: PartId,
    draft: &mut Draft,
) {
    let open = inputs.timeline.ends(visible).open_exchange;
    if is_bound(inputs)
        && let Ok(invalid) = invalid_thinking(inputs.view, inputs.model, visible, from, open, draft)
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
