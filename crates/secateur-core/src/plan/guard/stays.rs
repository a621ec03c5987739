//! Turns that stay, whatever a strategy says: the system prompt, what comes before the first user
//! message, the last user message, the last turn, the open exchange, unknown roles, and broken pairs.

use crate::plan::context::PlanContext;
use crate::plan::edit::SkipReason;
use crate::read::view::{PartKind, Role, TurnId};

/// Why a turn may not be dropped, or `None`.
pub(crate) fn why_turn_stays(context: &PlanContext<'_, '_>, turn: TurnId) -> Option<SkipReason> {
    let Some(first_user) = context.first_user() else {
        return Some(SkipReason::BeforeFirstUser);
    };
    match context.role(turn) {
        Role::System => return Some(SkipReason::SystemStays),
        Role::Other => return Some(SkipReason::UnknownKind),
        Role::User | Role::Assistant | Role::Tool => {}
    }
    if turn < first_user {
        return Some(SkipReason::BeforeFirstUser);
    }
    if Some(turn) == context.last_user() {
        return Some(SkipReason::LastUserStays);
    }
    if turn.0 + 1 >= context.visible {
        return Some(SkipReason::LastTurnStays);
    }
    // The model still works on it, also if an orphan result is in between.
    if context.ends.open_exchange == Some(turn) {
        return Some(SkipReason::ExchangeStays);
    }
    if context.exchanges.is_broken(turn) {
        return Some(SkipReason::BrokenPair);
    }
    context
        .view
        .parts_of(turn)
        .find_map(|part| match context.kind(part) {
            PartKind::Media => Some(SkipReason::Media),
            PartKind::Result if context.has_media(part) => Some(SkipReason::Media),
            PartKind::Opaque => Some(SkipReason::UnknownKind),
            _ => None,
        })
}
