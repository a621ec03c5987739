//! Finds the RAG chunks in a text and the question that they should answer.
//!
//! Three families of layout are known, from the most explicit to the least: runs of elements
//! (`elements`), numbered runs (`numbered`) and blocks cut by a repeated line (`ruled`). `blocks` finds the same
//! where each chunk is a text of its own.
//! A text that could be cut in two ways is refused: a wrong cut would tear a chunk apart.

mod blocks;
mod elements;
mod lines;
mod numbered;
mod question;
mod ruled;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use blocks::{BlockRun, find_block_run};
pub use question::{asks_about_all, question_among};

/// Fewer chunks than this are not a run.
pub const MIN_CHUNKS: usize = 3;

/// One chunk, as byte ranges of the searched text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkSpan {
    /// Everything that goes when the chunk goes: tags, numbering, heading and text, without the separator.
    pub extent: Range<usize>,
    /// The text to rank: inside the tags, after the number. Lies within `extent`.
    pub inner: Range<usize>,
    /// The title or source name, where the layout gives one. Lies within `extent`.
    pub title: Option<Range<usize>>,
}

/// The layout that was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `<document>…</document>` and its kin, one after the other.
    Elements,
    /// `Document [3](Title: …)`, `[3] …`, `Source 3:`, `## Result 3`.
    Numbered,
    /// Blocks between repeated `---` or `***` lines, or under one repeated heading.
    Ruled,
}

/// The chunks of one text. Extents are sorted, disjoint, in bounds and on character boundaries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunks {
    /// The recognised layout.
    pub form: Form,
    /// At least [`MIN_CHUNKS`] chunks, in the order of the text.
    pub spans: Vec<ChunkSpan>,
}

/// Why a text has no usable chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyNot {
    /// Nothing in the text looks like a run of chunks.
    NoChunks,
    /// There is a run, but it is shorter than [`MIN_CHUNKS`].
    TooFew,
    /// The text can be cut in more than one way, or the cut would leave a stray tag.
    Ambiguous,
}

/// Finds the run of chunks in `text`. Linear in the length of the text.
///
/// # Errors
/// [`WhyNot`] when there is no run of at least [`MIN_CHUNKS`] chunks with one clear delimiter.
pub fn find_chunks(text: &str) -> Result<Chunks, WhyNot> {
    let tree = elements::read(text);
    let few_elements = match elements::run(text, &tree) {
        Err(WhyNot::NoChunks) => false,
        Err(WhyNot::TooFew) => true,
        decided => return decided,
    };
    let region = elements::only_container(text, &tree);
    let lines = lines::split(text, region.bounds.clone());
    let numbered = numbered::find(text, &lines, &region);
    let ruled = ruled::find(text, &lines, &region);
    match (numbered, ruled) {
        (Ok(a), Ok(b)) if a.spans.len() >= b.spans.len() => Ok(a),
        (Ok(_), Ok(_)) | (Err(WhyNot::Ambiguous), _) => Err(WhyNot::Ambiguous),
        (Ok(a), Err(_)) => Ok(a),
        (Err(_), Ok(b)) => Ok(b),
        (Err(_), Err(WhyNot::Ambiguous)) => Err(WhyNot::Ambiguous),
        (Err(WhyNot::TooFew), Err(_)) => Err(WhyNot::TooFew),
        _ if few_elements => Err(WhyNot::TooFew),
        (Err(_), Err(why)) => Err(why),
    }
}

/// The part of the text that a line-based layout may use.
#[derive(Debug, Clone)]
struct Region {
    bounds: Range<usize>,
    /// True inside a container element, where everything is context and nothing is question.
    closed: bool,
}

impl Chunks {
    /// The question: the text outside the chunks, narrowed to what is asked where that is marked
    /// (a `Question:` line, a `<question>` element, a last paragraph that ends with a question mark).
    /// Empty when there is no text outside the chunks.
    #[must_use]
    pub fn question<'t>(&self, text: &'t str) -> &'t str {
        let (before, after) = self.around(text);
        question_among(before, after)
    }

    /// What to delete so that only the chunks in `keep` stay, in their original order.
    ///
    /// The ranges are sorted and disjoint. Between two kept chunks the separator in front of the
    /// later one stays, all other separators go with the dropped chunks; text outside the run stays.
    /// `keep` may be in any order; indices out of range are ignored. With nothing kept, the whole run goes.
    #[must_use]
    pub fn cuts(&self, keep: &[usize]) -> Vec<Range<usize>> {
        let (Some(first), Some(last)) = (self.spans.first(), self.spans.last()) else {
            return Vec::new();
        };
        let mut kept: Vec<usize> = keep
            .iter()
            .copied()
            .filter(|&i| i < self.spans.len())
            .collect();
        kept.sort_unstable();
        kept.dedup();
        let mut cuts = Vec::new();
        let mut from = first.extent.start;
        let mut previous: Option<usize> = None;
        for &i in &kept {
            let to = match previous {
                None => self.spans[i].extent.start,
                Some(_) => self.spans[i - 1].extent.end,
            };
            if from < to {
                cuts.push(from..to);
            }
            from = self.spans[i].extent.end;
            previous = Some(i);
        }
        if from < last.extent.end {
            cuts.push(from..last.extent.end);
        }
        cuts
    }

    /// The text with the chunks of `order` in that order, each with its exact bytes.
    ///
    /// Separators keep their places: the first two chunks are parted by what parted the first two
    /// chunks of the original. Text outside the run stays byte for byte.
    #[must_use]
    pub fn arranged(&self, text: &str, order: &[usize]) -> String {
        self.pieces(text.len(), order)
            .into_iter()
            .filter_map(|piece| text.get(piece))
            .collect()
    }

    /// The ranges of a text of `text_len` bytes that make up [`Chunks::arranged`], in that order. None
    /// is used twice; places that are out of range or named twice are left out.
    #[must_use]
    pub fn pieces(&self, text_len: usize, order: &[usize]) -> Vec<Range<usize>> {
        let (Some(first), Some(last)) = (self.spans.first(), self.spans.last()) else {
            return std::iter::once(0..text_len).collect();
        };
        let mut pieces: Vec<Range<usize>> = Vec::with_capacity(2 * order.len() + 2);
        pieces.push(0..first.extent.start);
        let mut push = |next: Range<usize>| match pieces.last_mut() {
            Some(before) if before.end == next.start => before.end = next.end,
            _ => pieces.push(next),
        };
        let mut used = vec![false; self.spans.len()];
        let mut place = 0_usize;
        for &i in order {
            let Some(span) = self.spans.get(i).filter(|_| !used[i]) else {
                continue;
            };
            used[i] = true;
            if let Some(before) = place.checked_sub(1) {
                push(self.spans[before].extent.end..self.spans[place].extent.start);
            }
            push(span.extent.clone());
            place += 1;
        }
        push(last.extent.end..text_len);
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    /// The text before the first chunk, and after the last.
    #[must_use]
    pub fn around<'t>(&self, text: &'t str) -> (&'t str, &'t str) {
        match (self.spans.first(), self.spans.last()) {
            (Some(first), Some(last)) => (
                text.get(..first.extent.start).unwrap_or_default(),
                text.get(last.extent.end..).unwrap_or_default(),
            ),
            _ => (text, ""),
        }
    }
}

/// `range` without the white space at both ends.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let part = text.get(range.clone()).unwrap_or_default();
    let start = range.start + (part.len() - part.trim_start().len());
    let end = start + part.trim().len();
    start..end
}
