//! What a user turn says: its texts, the chunks in them, and the question outside the chunks.

use std::borrow::Cow;
use std::ops::Range;

use secateur_rank::chunks::{BlockRun, Chunks, question_among};

use crate::read::view::{PartId, TurnId};

/// One part of a turn. Parts without text count, so that blocks which follow each other are known.
pub(super) struct TextPart<'a> {
    pub(super) part: PartId,
    pub(super) text: Cow<'a, str>,
    pub(super) chunks: Option<Chunks>,
    /// The text is a document's: it is context, and asks nothing.
    pub(super) is_document: bool,
}

/// The texts of a user turn.
pub(super) struct UserTurn<'a> {
    pub(super) turn: TurnId,
    pub(super) texts: Vec<TextPart<'a>>,
    /// Texts that are one chunk each, where no text holds several.
    pub(super) run: Option<BlockRun>,
    /// Whether what the turn asks decides about other texts too: its other texts, tool results, an earlier turn.
    pub(super) is_shared: bool,
    /// Whether an earlier turn has context and waits for a question. Then this turn must be known for what it is.
    pub(super) ends_waiting: bool,
}

impl UserTurn<'_> {
    pub(super) fn has_chunks(&self) -> bool {
        self.run.is_some()
            || self
                .texts
                .iter()
                .any(|text_part| text_part.chunks.is_some())
    }

    /// The text outside the chunks, before and after the texts of `places`.
    pub(super) fn beside(&self, places: Range<usize>) -> (String, String) {
        (
            self.outside(0..places.start),
            self.outside(places.end..self.texts.len()),
        )
    }

    /// What is asked outside the chunks.
    pub(super) fn question(&self) -> String {
        question_among("", &self.outside(0..self.texts.len())).to_owned()
    }

    fn outside(&self, places: Range<usize>) -> String {
        let mut all = String::new();
        for place in places {
            let is_chunk = self
                .run
                .as_ref()
                .is_some_and(|run| run.blocks.contains(&place));
            let Some(text_part) = self.texts.get(place) else {
                continue;
            };
            if is_chunk || text_part.is_document {
                continue;
            }
            for text in text_part.around() {
                all.push_str(text);
                all.push_str("\n\n");
            }
        }
        all
    }
}

impl TextPart<'_> {
    /// What comes before and after the chunks of the text.
    pub(super) fn around(&self) -> [&str; 2] {
        match &self.chunks {
            Some(chunks) => chunks.around(&self.text).into(),
            None => [&self.text, ""],
        }
    }
}
