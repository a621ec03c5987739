//! One oversized tool result, condensed to a budget: what a reader needs stays verbatim.
//!
//! ```text
//! text ─detect─► OutputKind ─split─► units ─weigh (per kind)─► select ─assemble─► pieces
//! ```
//!
//! **Invariant:** kept bytes are bytes of the original; nothing is rewritten.
//! **Invariant:** a note says only what was counted in this text.
//! **Invariant:** the result depends on the text and the budget alone.

#![deny(missing_docs)]

use std::borrow::Cow;
use std::ops::Range;

mod assemble;
mod escapes;
pub mod harness;
mod kind;
mod marks;
mod outcome;
mod select;
mod shapes;
mod timestamp;
mod traits;
mod units;
mod vocabulary;
mod wording;

pub use kind::looks_like_log;
pub use marks::grouped;
pub use outcome::{Outcome, outcome};

/// A stretch of a rewritten text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// This byte range of the original text.
    Keep(Range<usize>),
    /// Words that were not in the text.
    Note(Cow<'static, str>),
}

/// How much may remain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Most characters (Unicode scalar values) of the output, notes included.
    pub max_chars: usize,
}

impl Budget {
    /// A budget of `max_chars` characters.
    #[must_use]
    pub fn chars(max_chars: usize) -> Self {
        Self { max_chars }
    }
}

/// What the text was taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutputKind {
    /// Build or CI log.
    Log,
    /// Output of a test runner.
    TestOutput,
    /// Unified diff.
    Diff,
    /// Directory listing.
    Listing,
    /// One JSON array or object.
    Json,
    /// CSV, TSV, Markdown or database table, or JSON lines.
    Table,
    /// HTML page; only its visible text is kept.
    Html,
    /// Search result, `path:line:text`.
    SearchResult,
    /// File read with line numbers.
    NumberedLines,
    /// Prose, code or anything else.
    Plain,
}

/// The plan for one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condensed {
    /// In output order; kept ranges ascend and are disjoint.
    pub pieces: Vec<Piece>,
    /// What the text was taken for.
    pub kind: OutputKind,
    /// Characters of the original text.
    pub chars_before: usize,
    /// Characters of the output, notes included.
    pub chars_after: usize,
}

impl Condensed {
    /// The condensed text.
    #[must_use]
    pub fn render(&self, text: &str) -> String {
        let mut out = String::with_capacity(self.chars_after + self.chars_after / 8);
        for piece in &self.pieces {
            match piece {
                Piece::Keep(range) => out.push_str(text.get(range.clone()).unwrap_or_default()),
                Piece::Note(note) => out.push_str(note),
            }
        }
        out
    }
}

/// Below this many characters the notes would crowd out the content.
pub const MIN_BUDGET_CHARS: usize = 240;

/// Decides what of `text` stays within `budget`.
///
/// `None` when the text already fits, when the budget is under [`MIN_BUDGET_CHARS`], or when
/// the result would not be smaller.
#[must_use]
pub fn condense(text: &str, budget: &Budget) -> Option<Condensed> {
    let max_chars = budget.max_chars;
    if text.len() <= max_chars || max_chars < MIN_BUDGET_CHARS || u32::try_from(text.len()).is_err()
    {
        return None;
    }
    let chars_before = text.chars().count();
    if chars_before <= max_chars {
        return None;
    }
    let mut layout = kind::read(text, max_chars);
    keep_outcome(text, &mut layout);
    let condensed = assemble::assemble(text, &layout, chars_before, max_chars);
    let smaller =
        condensed.chars_after <= max_chars && rendered_bytes(&condensed.pieces) < text.len();
    smaller.then_some(condensed)
}

/// Lines that show how a run ended come before all others, whatever the kind; data and pages have none.
fn keep_outcome(text: &str, layout: &mut kind::Layout) {
    if matches!(layout.kind, OutputKind::Json | OutputKind::Html) {
        return;
    }
    for line in outcome::by_importance(text) {
        let units = &mut layout.units;
        let first = units.partition_point(|unit| unit.end as usize <= line.start);
        let of_line = units[first..].iter_mut();
        for unit in of_line.take_while(|unit| (unit.start as usize) < line.end) {
            unit.value = u32::MAX;
        }
    }
}

fn rendered_bytes(pieces: &[Piece]) -> usize {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Keep(range) => range.len(),
            Piece::Note(note) => note.len(),
        })
        .sum()
}

#[cfg(test)]
mod properties;
