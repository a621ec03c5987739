//! How large a conversation is, in characters, as against a model's window.
//!
//! Counted are texts of users and models, thinking, tool arguments as compact JSON, and tool
//! results; an image or file counts as much as a few thousand words. Not counted: the system
//! prompt, tool schemas, ids, names and signatures.

use crate::plan::context::PlanContext;
use crate::plan::draft::PartState;
use crate::read::view::{PartId, PartKind, Role};

/// What an image counts, in characters.
pub(super) const IMAGE_CHARS: usize = 8000;

/// Characters per token, for windows.
pub(super) const CHARS_PER_TOKEN: usize = 4;

/// Characters of all visible turns after what was decided so far.
pub(super) fn context_chars(context: &PlanContext<'_, '_>) -> usize {
    context
        .turns()
        .filter(|&turn| !matches!(context.role(turn), Role::System | Role::Other))
        .flat_map(|turn| context.parts(turn))
        .map(|part| part_chars(context, part))
        .sum()
}

/// Characters of one part. A result's text blocks count without the newlines between them.
pub(super) fn part_chars(context: &PlanContext<'_, '_>, part: PartId) -> usize {
    let chars = context.chars(part);
    match (context.kind(part), context.state(part)) {
        (_, PartState::Gone) | (PartKind::Opaque | PartKind::ServerTool, _) => 0,
        (PartKind::Media, _) => IMAGE_CHARS,
        (PartKind::Call, PartState::Whole) => context.compact_args_chars(part),
        (PartKind::Text | PartKind::Thinking | PartKind::Result, PartState::Whole) => {
            let separators = context.text_blocks(part).saturating_sub(1);
            let media = if context.has_media(part) {
                IMAGE_CHARS
            } else {
                0
            };
            chars - separators + media
        }
        _ => chars,
    }
}
