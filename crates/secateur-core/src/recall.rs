//! Ids by which a model can ask for what was cut.
//!
//! **Invariant:** an id depends on the cut text alone, so that it is the same bytes in every request,
//! on every replica and after every restart.

use std::borrow::Cow;
use std::fmt;

use sha2::{Digest, Sha256};

use crate::dialect::{self, ReadError};
use crate::edit::{Action, Edit, Piece, Plan, SkipReason, Why};
use crate::engine::Request;
use crate::view::{PartId, PartKind, TurnId, View};

/// Where ids are given out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recall {
    /// Nowhere.
    #[default]
    Off,
    /// In the report.
    Report,
    /// In the report, and behind the words that stand where a text was: `[recall:…]`.
    Placeholder,
}

const ID_BYTES: usize = 10;
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Stands for one cut text: 80 bits of its hash, spelled in 16 letters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecallId([u8; ID_BYTES]);

impl RecallId {
    /// The id of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut id = [0; ID_BYTES];
        let hash = Sha256::digest(text.as_bytes());
        for (to, from) in id.iter_mut().zip(hash) {
            *to = from;
        }
        Self(id)
    }

    fn tag(self) -> String {
        format!(" [recall:{self}]")
    }
}

/// Characters of a tag.
const TAG_CHARS: usize = " [recall:]".len() + ID_BYTES * 8 / 5;

impl fmt::Display for RecallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for five in self.0.chunks(5) {
            let bits = five
                .iter()
                .fold(0_u64, |bits, &byte| bits << 8 | u64::from(byte));
            for at in (0..8).rev() {
                let letter = ALPHABET[(bits >> (at * 5) & 31) as usize];
                write!(f, "{}", char::from(letter))?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for RecallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl serde::Serialize for RecallId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One text that a plan takes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Its id, as in the report.
    pub id: RecallId,
    /// The whole text of what was dropped, cleared or trimmed.
    pub text: String,
    /// What stands in its place; `None`: nothing.
    pub after: Option<String>,
}

/// What a report's plan takes out of the body that it was made for.
///
/// # Errors
/// It is another body.
pub fn removed(body: &[u8], request: &Request<'_>, plan: &Plan) -> Result<Vec<Removed>, ReadError> {
    let dialect = match request.dialect {
        Some(dialect) => dialect,
        None => dialect::detect(body, &request.limits)?,
    };
    let view = dialect::read(body, dialect, &request.limits)?;
    let cut = |edit| {
        let text = cut_text(&view, edit)?;
        Some(Removed {
            id: RecallId::of(&text),
            after: text_after(&view, edit),
            text: text.into_owned(),
        })
    };
    Ok(plan.edits.iter().filter_map(cut).collect())
}

/// The ids of a plan's edits, one for each, and where the policy says so a tag in each placeholder.
pub(crate) fn mark(view: &View<'_>, plan: &mut Plan, recall: Recall) -> Vec<Option<RecallId>> {
    if recall == Recall::Off {
        return vec![None; plan.edits.len()];
    }
    if recall == Recall::Placeholder {
        leave_tagged(view, plan);
    }
    let edits = plan.edits.iter_mut().map(|edit| {
        let id = RecallId::of(&cut_text(view, edit)?);
        if recall == Recall::Placeholder {
            tag(edit, id);
        }
        Some(id)
    });
    edits.collect()
}

/// No cut leaves more than this, in bytes; a longer text that ends with a tag only imitates one.
const MAX_CUT_BYTES: usize = 64 * 1024;

/// A text without the tag at its end, if it has one.
pub(crate) fn without_tag(text: &str) -> &str {
    let Some(at) = text.len().checked_sub(TAG_CHARS) else {
        return text;
    };
    let is_letter = |byte: u8| ALPHABET.contains(&byte);
    let id = text
        .get(at..)
        .and_then(|tag| tag.strip_prefix(" [recall:")?.strip_suffix(']'));
    match id {
        Some(id) if id.bytes().all(is_letter) => &text[..at],
        _ => text,
    }
}

/// A text that ends with a tag was cut before, and what it stands for is not to be lost.
fn leave_tagged(view: &View<'_>, plan: &mut Plan) {
    let is_tagged = |edit: &Edit| match edit.action {
        Action::Rewrite(part, _) => {
            let text = view.text(part);
            let untagged = without_tag(&text);
            untagged.len() < text.len() && untagged.len() <= MAX_CUT_BYTES
        }
        _ => false,
    };
    let (tagged, edits) = std::mem::take(&mut plan.edits)
        .into_iter()
        .partition(is_tagged);
    plan.edits = edits;
    let tagged: Vec<Edit> = tagged;
    for edit in tagged {
        plan.leave(
            Some(edit.strategy),
            edit.target(),
            SkipReason::AlreadyEdited,
        );
    }
}

/// Puts the id behind the words, where both are still shorter than the text.
fn tag(edit: &mut Edit, id: RecallId) {
    // Around chunks nothing may be added.
    if edit.why == Why::LowRankChunks {
        return;
    }
    let Action::Rewrite(_, pieces) = &mut edit.action else {
        return;
    };
    if edit.chars_after + TAG_CHARS < edit.chars_before {
        pieces.push(Piece::Note(id.tag().into()));
        edit.chars_after += TAG_CHARS;
    }
}

/// What an edit takes away; `None` where nothing is lost.
fn cut_text<'a>(view: &View<'a>, edit: &Edit) -> Option<Cow<'a, str>> {
    match (&edit.action, edit.why) {
        (Action::InsertTurn(..) | Action::Mark(_), _)
        | (_, Why::ListingPadding | Why::LinesStandAbove) => None,
        (Action::DropTurn(turn), _) => Some(turn_text(view, *turn)),
        (Action::DropPart(part) | Action::Rewrite(part, _) | Action::ReplaceInput(part, _), _) => {
            Some(part_text(view, *part))
        }
        (Action::Arrange(arranged), _) => {
            let texts = arranged.blocks.iter().map(|part| part_text(view, *part));
            Some(Cow::Owned(texts.collect::<Vec<_>>().join("\n")))
        }
    }
}

/// What an edit leaves of the text that it takes away; `None` where nothing is left.
fn text_after(view: &View<'_>, edit: &Edit) -> Option<String> {
    match &edit.action {
        Action::DropTurn(_) | Action::DropPart(_) | Action::InsertTurn(..) | Action::Mark(_) => {
            None
        }
        Action::ReplaceInput(_, json) => Some(json.clone()),
        Action::Rewrite(part, pieces) => {
            let text = view.text(*part);
            let spelled = pieces.iter().map(|piece| match piece {
                Piece::Keep(range) => text.get(range.clone()).unwrap_or_default(),
                Piece::Note(words) => words,
            });
            Some(spelled.collect())
        }
        Action::Arrange(arranged) => {
            let texts = arranged.texts.iter().map(|part| part_text(view, *part));
            Some(texts.collect::<Vec<_>>().join("\n"))
        }
    }
}

fn part_text<'a>(view: &View<'a>, part: PartId) -> Cow<'a, str> {
    match view.part(part).kind {
        PartKind::Call | PartKind::Thinking => Cow::Borrowed(view.part(part).value.of(view.body())),
        _ => view.text(part),
    }
}

fn turn_text<'a>(view: &View<'a>, turn: TurnId) -> Cow<'a, str> {
    let texts: Vec<_> = view
        .parts_of(turn)
        .map(|part| part_text(view, part))
        .collect();
    Cow::Owned(texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_sixteen_letters_that_depend_on_the_text() {
        let id = RecallId::of("some text").to_string();
        assert_eq!(id.len(), 16);
        assert_eq!(id, RecallId::of("some text").to_string());
        assert_ne!(id, RecallId::of("some texT").to_string());
        assert!(id.bytes().all(|letter| ALPHABET.contains(&letter)));
        assert_eq!(RecallId::of("some text").tag().len(), TAG_CHARS);
    }
}
