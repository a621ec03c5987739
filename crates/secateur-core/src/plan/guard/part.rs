//! What may be done to one part.

use crate::plan::context::PlanContext;
use crate::plan::draft::PartState;
use crate::plan::edit::{Action, Arrangement, Edit, SkipReason};
use crate::read::view::{ArgsForm, ContentForm, PartId, PartKind, Placement, Role};

/// Texts that only some authors may rewrite.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reach {
    /// The last user message.
    pub last_user: bool,
    /// System texts.
    pub system: bool,
    /// Documents that are plain text.
    pub documents: bool,
}

/// Whether an edit of a part is allowed.
///
/// # Errors
/// The reason why not.
pub(crate) fn veto_part(
    context: &PlanContext<'_, '_>,
    edit: &Edit,
    id: PartId,
    reach: Reach,
) -> Result<(), SkipReason> {
    let part = context.view.part(id);
    let is_outside = part.turn.is_some_and(|turn| turn.0 >= context.visible);
    if is_outside || context.state(id) == PartState::Gone {
        return Err(SkipReason::DoesNotFit);
    }
    match part.turn.map_or(Role::System, |turn| context.role(turn)) {
        Role::System if !may_edit_system(reach, edit) => return Err(SkipReason::SystemStays),
        Role::Other => return Err(SkipReason::UnknownKind),
        Role::System | Role::User | Role::Assistant | Role::Tool => {}
    }
    let is_early = |turn| context.first_user().is_none_or(|first| turn < first);
    if part
        .turn
        .is_some_and(|turn| context.role(turn) != Role::System && is_early(turn))
    {
        return Err(SkipReason::BeforeFirstUser);
    }
    let is_as_long = edit.chars_after == edit.chars_before && edit.reorders();
    let is_smaller = edit.chars_after < edit.chars_before || is_as_long;
    if !is_smaller && !matches!(edit.action, Action::DropPart(_)) {
        return Err(SkipReason::NotSmaller);
    }
    let is_last_user = |turn| context.last_user() == Some(turn);
    match (&edit.action, part.kind) {
        (Action::Rewrite(..), PartKind::Media) if reach.documents => {
            let is_empty = edit.chars_after == 0;
            match part.form {
                ContentForm::Str if is_empty => Err(SkipReason::WouldBeEmpty),
                ContentForm::Str => Ok(()),
                _ => Err(SkipReason::Media),
            }
        }
        (_, PartKind::Media) => Err(SkipReason::Media),
        (_, PartKind::Opaque | PartKind::ServerTool) => Err(SkipReason::UnknownKind),
        (Action::DropPart(_), PartKind::Thinking) => may_remove_thinking(context, id),
        (_, _) if part.is_signed => Err(SkipReason::Signed),
        (Action::Rewrite(..), PartKind::Result) => {
            if part.has_media {
                Err(SkipReason::Media)
            } else if context.call_of(id).is_none() {
                Err(SkipReason::BrokenPair)
            } else {
                Ok(())
            }
        }
        (Action::Rewrite(..) | Action::Arrange(_), PartKind::Text) => {
            if part.form != ContentForm::Str {
                Err(SkipReason::DoesNotFit)
            } else if !reach.last_user && part.turn.is_some_and(is_last_user) {
                Err(SkipReason::LastUserStays)
            } else if edit.chars_after == 0 {
                Err(SkipReason::WouldBeEmpty)
            } else {
                Ok(())
            }
        }
        (Action::ReplaceInput(..), PartKind::Call) if part.args != ArgsForm::None => {
            match context.result_of(id) {
                Some(_) => Ok(()),
                None => Err(SkipReason::BrokenPair),
            }
        }
        _ => Err(SkipReason::DoesNotFit),
    }
}

/// Whether texts may move within a run of blocks: each block on its own, of one turn, and no text lost by
/// naming one twice.
///
/// # Errors
/// The reason why not.
pub(crate) fn veto_arrangement(
    context: &PlanContext<'_, '_>,
    edit: &Edit,
    arranged: &Arrangement,
    reach: Reach,
) -> Result<(), SkipReason> {
    let Arrangement { blocks, texts } = arranged;
    let first = blocks.first().ok_or(SkipReason::DoesNotFit)?;
    let turn = context.turn_of(*first);
    let is_block = |part: &PartId| {
        context.turn_of(*part) == turn
            && context.view.element(*part).is_some()
            && context.state(*part) == PartState::Whole
    };
    let mut named = texts.clone();
    named.sort_unstable();
    let is_sound = blocks.is_sorted_by(|one, next| one < next)
        && named.is_sorted_by(|one, next| one < next)
        && blocks.iter().all(is_block)
        && named.iter().all(|text| blocks.binary_search(text).is_ok());
    if texts.is_empty() || !is_sound {
        return Err(SkipReason::DoesNotFit);
    }
    let mut each = blocks.iter();
    each.try_for_each(|part| veto_part(context, edit, *part, reach))
}

/// System texts are never dropped; their text may be rewritten by a mechanic that is for that.
fn may_edit_system(reach: Reach, edit: &Edit) -> bool {
    reach.system && matches!(edit.action, Action::Rewrite(..))
}

/// Thinking goes whole, where something else of the model's own stays in the turn, and never from
/// an exchange that is still open.
fn may_remove_thinking(context: &PlanContext<'_, '_>, id: PartId) -> Result<(), SkipReason> {
    let part = context.view.part(id);
    let Some(turn) = part.turn else {
        return Err(SkipReason::SystemStays);
    };
    if part.placement == Placement::Fixed {
        return Err(SkipReason::DoesNotFit);
    }
    let rules = context.view.dialect().facts().rules;
    if rules.signed_thinking_goes_with_its_turn && part.is_signed {
        return Err(SkipReason::Signed);
    }
    if context.ends.open_exchange == Some(turn) {
        return Err(SkipReason::OpenExchangeNeedsThinking);
    }
    let others_stay = context
        .parts(turn)
        .any(|other| context.kind(other) != PartKind::Thinking);
    if others_stay {
        Ok(())
    } else {
        Err(SkipReason::WouldBeEmpty)
    }
}
