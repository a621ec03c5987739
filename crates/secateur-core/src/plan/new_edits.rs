//! Edits as strategies make them: with their sizes counted.

use std::borrow::Cow;
use std::ops::Range;

use secateur_json::strings::count_chars;

use super::context::PlanContext;
use super::edit::{
    Action, Arrangement, CutReason, Edit, Effect, Piece, Skip, SkipReason, StrategyId, Target,
};
use crate::read::view::{PartId, TurnId};

impl PlanContext<'_, '_> {
    /// An edit that drops a turn.
    #[must_use]
    pub fn drop_turn(&self, turn: TurnId, strategy: StrategyId, why: CutReason) -> Edit {
        Edit {
            action: Action::DropTurn(turn),
            strategy,
            why,
            effect: Effect::Removes,
            chars_before: self.parts(turn).map(|part| self.chars(part)).sum(),
            chars_after: 0,
        }
    }

    /// An edit that turns a part's text into these pieces.
    #[must_use]
    pub fn rewrite(
        &self,
        part: PartId,
        pieces: Vec<Piece>,
        strategy: StrategyId,
        why: CutReason,
    ) -> Edit {
        let text = self.text(part);
        let chars_after = pieces
            .iter()
            .map(|piece| match piece {
                Piece::Keep(range) => text
                    .get(range.clone())
                    .map_or(0, |kept| kept.chars().count()),
                Piece::Note(note) => note.chars().count(),
            })
            .sum();
        Edit {
            action: Action::Rewrite(part, pieces),
            strategy,
            why,
            effect: Effect::Removes,
            chars_before: self.chars_before(part),
            chars_after,
        }
    }

    /// An edit that takes these ranges, sorted and made of one-byte characters, out of a part's
    /// text, which has so many bytes. Decodes nothing.
    #[must_use]
    pub fn take_out(
        &self,
        part: PartId,
        text_len: usize,
        removed: &[Range<usize>],
        strategy: StrategyId,
        why: CutReason,
    ) -> Edit {
        let chars_before = self.chars_before(part);
        let mut pieces = Vec::with_capacity(removed.len() + 1);
        let (mut at, mut removed_chars) = (0, 0);
        for range in removed {
            pieces.push(Piece::Keep(at..range.start));
            at = range.end;
            removed_chars += range.len();
        }
        pieces.push(Piece::Keep(at..text_len));
        pieces.retain(|piece| !matches!(piece, Piece::Keep(kept) if kept.is_empty()));
        Edit {
            action: Action::Rewrite(part, pieces),
            strategy,
            why,
            effect: Effect::Removes,
            chars_before,
            chars_after: chars_before.saturating_sub(removed_chars),
        }
    }

    /// An edit that removes a part whole.
    #[must_use]
    pub fn drop_part(&self, part: PartId, strategy: StrategyId, why: CutReason) -> Edit {
        Edit {
            action: Action::DropPart(part),
            strategy,
            why,
            effect: Effect::Removes,
            chars_before: self.view.value_chars(part),
            chars_after: 0,
        }
    }

    /// An edit that puts the texts of some of these blocks, in this order, in the place of all.
    #[must_use]
    pub fn arrange(&self, arranged: Arrangement, strategy: StrategyId, why: CutReason) -> Edit {
        let chars = |parts: &[PartId]| parts.iter().map(|part| self.chars_before(*part)).sum();
        Edit {
            chars_before: chars(&arranged.blocks),
            chars_after: chars(&arranged.texts),
            action: Action::Arrange(arranged),
            strategy,
            why,
            effect: Effect::Removes,
        }
    }

    /// An edit that replaces a call's arguments by this JSON text.
    #[must_use]
    pub fn replace_args(
        &self,
        call: PartId,
        with: String,
        strategy: StrategyId,
        why: CutReason,
    ) -> Edit {
        Edit {
            chars_before: self.args_chars(call),
            chars_after: count_chars(with.as_bytes()),
            action: Action::ReplaceInput(call, with),
            strategy,
            why,
            effect: Effect::Removes,
        }
    }

    /// An edit that replaces a part's whole text by a note. Decodes nothing.
    #[must_use]
    pub fn replace(
        &self,
        part: PartId,
        with: Cow<'static, str>,
        strategy: StrategyId,
        why: CutReason,
    ) -> Edit {
        let chars_after = count_chars(with.as_bytes());
        Edit {
            action: Action::Rewrite(part, vec![Piece::Note(with)]),
            strategy,
            why,
            effect: Effect::Removes,
            chars_before: self.chars_before(part),
            chars_after,
        }
    }

    /// A skip of this turn.
    #[must_use]
    pub fn leave_turn(turn: TurnId, strategy: StrategyId, reason: SkipReason) -> Skip {
        Skip {
            target: Target::Turn(turn),
            strategy: Some(strategy),
            reason,
        }
    }
}
