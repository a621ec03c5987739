//! Finding again what was cut: ids in the report and in placeholders, and the texts behind them.

use std::borrow::Cow;

use crate::plan::edit::{Action, Edit, Effect, Piece, Plan, SkipReason};
pub use crate::plan::recall_id::RecallId;
use crate::plan::recall_id::{TAG_CHARS, without_tag};
use crate::read::error::ReadError;
use crate::read::view::{PartId, PartKind, TurnId, View};
use crate::read::wire;
use crate::request::Request;

/// Where ids are given out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recall {
    /// Nowhere.
    #[default]
    Off,
    /// In the report.
    Report,
    /// In the report, and at the end of the note that replaces a text: `[recall:…]`.
    Placeholder,
}

/// One text that a plan takes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Its id, as in the report.
    pub id: RecallId,
    /// The whole text of what was dropped, cleared or trimmed.
    pub text: String,
    /// The text that replaces it; `None`: nothing.
    pub after: Option<String>,
}

/// What a report's plan takes out of the body that it was made for.
///
/// # Errors
/// It is another body.
pub fn removed(body: &[u8], request: &Request<'_>, plan: &Plan) -> Result<Vec<Removed>, ReadError> {
    let dialect = match request.dialect {
        Some(dialect) => dialect,
        None => wire::detect(body, &request.limits)?,
    };
    let view = wire::read(body, dialect, &request.limits)?;
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
pub(crate) fn tag_cuts(view: &View<'_>, plan: &mut Plan, recall: Recall) -> Vec<Option<RecallId>> {
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

/// Puts the id after the words, where both are still shorter than the text.
fn tag(edit: &mut Edit, id: RecallId) {
    // Around chunks nothing may be added.
    if edit.effect == Effect::SelectsChunks {
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
    match (&edit.action, edit.effect) {
        (Action::InsertTurn(..) | Action::Mark(_), _) | (_, Effect::KeepsContent) => None,
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
