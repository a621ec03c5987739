//! Shortening a result the first time it is seen, before any cache holds it.
//!
//! The strategies that work on arrival form a chain over one text, line by line. What they do is a
//! selection of the text's own bytes plus notes, so it becomes one rewrite of the part.
//!
//! **Invariant:** what is decided for a part depends on it and on what came before it, never on what
//! comes later. So the decision is the same in every later request.

use std::borrow::Cow;
use std::ops::Range;

use crate::edit::{Action, Edit, Piece, StrategyId, Why};
use crate::json::strings::count_chars;
use crate::json::{DecodedLines, LineBuffer};
use crate::scene::Scene;
use crate::strategy::Strategy;
use crate::view::PartId;

/// A strategy's memory of what has arrived so far.
pub trait Arrivals {
    /// Looks at a result that has just arrived; may shorten its text.
    fn result(&mut self, scene: &Scene<'_, '_>, part: PartId, text: &mut ArrivalText<'_>);

    /// Looks at a call that has just arrived.
    fn call(&mut self, _scene: &Scene<'_, '_>, _part: PartId) {}

    /// The part's text is not there any more.
    fn forget(&mut self, _part: PartId) {}
}

/// The strategies that work on arrival, one behind the other.
pub(crate) struct Chain<'o> {
    links: Vec<Box<dyn Arrivals + 'o>>,
    /// Scratch: the text of the part that is looked at.
    buffer: LineBuffer,
}

impl<'o> Chain<'o> {
    pub(crate) fn of(strategies: &[&'o dyn Strategy]) -> Self {
        let links = strategies.iter().filter_map(|strategy| strategy.arrivals());
        Self {
            links: links.collect(),
            buffer: LineBuffer::default(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    pub(crate) fn call(&mut self, scene: &Scene<'_, '_>, part: PartId) {
        for link in &mut self.links {
            link.call(scene, part);
        }
    }

    pub(crate) fn forget(&mut self, part: PartId) {
        for link in &mut self.links {
            link.forget(part);
        }
    }

    /// What is left of a result; `None` if nothing was saved.
    pub(crate) fn result(&mut self, scene: &Scene<'_, '_>, part: PartId) -> Option<Shortened> {
        let text = scene.lines(part, &mut self.buffer);
        let mut arriving = ArrivalText::new(text, scene.chars(part));
        for link in &mut self.links {
            link.result(scene, part, &mut arriving);
        }
        if arriving.is_replaced() {
            for link in &mut self.links {
                link.forget(part);
            }
        }
        let (chars_after, cites) = (arriving.chars(), arriving.take_cites());
        let (pieces, strategy, why) = arriving.finish()?;
        let edit = Edit {
            action: Action::Rewrite(part, pieces),
            strategy,
            why,
            chars_before: scene.chars(part),
            chars_after,
        };
        Some(Shortened { edit, cites })
    }
}

/// A result that was shortened on arrival.
pub(crate) struct Shortened {
    pub(crate) edit: Edit,
    /// Parts that notes in it point to.
    pub(crate) cites: Vec<PartId>,
}

/// One line of an arriving text, as it will be sent: what is kept of it, its newline included, and words of
/// our own before and behind it. Small, because a long result has thousands of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    start: u32,
    end: u32,
    before: Note,
    after: Note,
}

/// Words of our own: 0 is none, else the number of the note.
type Note = u32;

impl Line {
    /// A line that keeps these bytes.
    #[must_use]
    pub fn new(keep: Range<usize>) -> Self {
        Self {
            start: offset(keep.start),
            end: offset(keep.end),
            ..Self::default()
        }
    }

    /// The same line from a later byte on.
    #[must_use]
    pub fn from(self, start: usize) -> Self {
        Self {
            start: offset(start),
            ..self
        }
    }

    /// What is kept of it.
    #[must_use]
    pub fn keep(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A text on its way through the chain.
#[derive(Debug)]
pub struct ArrivalText<'t> {
    text: &'t [u8],
    lines: Vec<Line>,
    notes: Vec<Cow<'static, str>>,
    whole: Option<Vec<Piece>>,
    chars: usize,
    /// Who saved how many characters, and why.
    savings: Vec<(StrategyId, Why, usize)>,
    /// Parts that notes in this text point to.
    cites: Vec<PartId>,
}

impl<'t> ArrivalText<'t> {
    /// A text with so many characters.
    pub(crate) fn new(text: DecodedLines<'t>, chars: usize) -> Self {
        let mut lines = Vec::with_capacity(text.line_ends.len() + 1);
        let mut start = 0;
        lines.extend(text.line_ends.iter().map(|&end| Line {
            start: std::mem::replace(&mut start, end),
            end,
            ..Line::default()
        }));
        let end = offset(text.bytes.len());
        if start < end {
            lines.push(Line {
                start,
                end,
                ..Line::default()
            });
        }
        Self {
            text: text.bytes,
            lines,
            notes: Vec::new(),
            whole: None,
            chars,
            savings: Vec::new(),
            cites: Vec::new(),
        }
    }

    /// The text as it came in. Looks through all of it once more, so this is for those who need a `str`.
    #[must_use]
    pub fn original(&self) -> &'t str {
        // What is decoded from UTF-8 is UTF-8.
        simdutf8::basic::from_utf8(self.text).unwrap_or_default()
    }

    /// The bytes of the text as it came in.
    #[must_use]
    pub fn bytes(&self) -> &'t [u8] {
        self.text
    }

    /// Characters of the text as it will be sent.
    #[must_use]
    pub fn chars(&self) -> usize {
        self.chars
    }

    /// Whether the text was replaced as a whole, so that it has no lines any more.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        self.whole.is_some()
    }

    /// The lines as they will be sent.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// What is kept of a line, without its newline.
    #[must_use]
    pub fn line(&self, at: usize) -> &'t [u8] {
        let line = self.lines.get(at).copied().unwrap_or_default();
        let kept = self.text.get(line.keep()).unwrap_or_default();
        kept.strip_suffix(b"\n").unwrap_or(kept)
    }

    /// Takes something off the start of each line: `cut` gets what is kept of it, its newline included, and
    /// tells how many bytes and characters go.
    pub fn cut_starts(
        &mut self,
        mut cut: impl FnMut(&[u8]) -> (usize, usize),
        strategy: StrategyId,
        why: Why,
    ) {
        let mut saved = 0;
        for line in &mut self.lines {
            let kept = self.text.get(line.keep()).unwrap_or_default();
            let (bytes, chars) = cut(kept);
            line.start += offset(bytes);
            saved += chars;
        }
        self.chars = self.chars.saturating_sub(saved);
        self.savings.push((strategy, why, saved));
    }

    /// Puts other lines in the place of the present ones.
    pub fn set_lines(&mut self, lines: Vec<Line>, strategy: StrategyId, why: Why) {
        self.lines = lines;
        let note = |note: Note| self.note(note).map_or(0, |words| words.chars().count());
        let chars =
            |line: &Line| note(line.before) + chars_of(self.text, line.keep()) + note(line.after);
        let now = self.lines.iter().map(chars).sum();
        self.count(now, strategy, why);
    }

    /// Puts a note in the place of each of these runs of lines, which are in order and disjoint.
    pub fn replace_runs(
        &mut self,
        runs: impl IntoIterator<Item = (Range<usize>, Cow<'static, str>)>,
        strategy: StrategyId,
        why: Why,
    ) {
        let mut lines = Vec::with_capacity(self.lines.len());
        let (mut next, mut now) = (0, self.chars);
        for (run, words) in runs {
            lines.extend_from_slice(&self.lines[next..run.start]);
            next = run.end;
            now += words.chars().count();
            for line in &self.lines[run.clone()] {
                let note = |note: Note| self.note(note).map_or(0, |words| words.chars().count());
                let gone = note(line.before) + chars_of(self.text, line.keep()) + note(line.after);
                now = now.saturating_sub(gone);
            }
            let start = self.lines[run.start].start;
            let before = self.add_note(words);
            lines.push(Line {
                start,
                end: start,
                before,
                after: 0,
            });
        }
        lines.extend_from_slice(&self.lines[next..]);
        self.lines = lines;
        self.count(now, strategy, why);
    }

    /// Replaces the whole text.
    pub fn replace(&mut self, pieces: Vec<Piece>, strategy: StrategyId, why: Why) {
        let chars = |piece: &Piece| match piece {
            Piece::Keep(range) => chars_of(self.text, range.clone()),
            Piece::Note(words) => words.chars().count(),
        };
        let now = pieces.iter().map(chars).sum();
        self.lines.clear();
        self.whole = Some(pieces);
        self.count(now, strategy, why);
    }

    /// A line that keeps a stretch of another one, which gives the words before it to the new line, and ends
    /// in a newline of our own.
    pub fn split_off(&mut self, line: &mut Line, keep: Range<usize>) -> Line {
        let after = self.add_note(Cow::Borrowed("\n"));
        Line {
            before: std::mem::take(&mut line.before),
            after,
            ..Line::new(keep)
        }
    }

    fn add_note(&mut self, words: Cow<'static, str>) -> Note {
        self.notes.push(words);
        offset(self.notes.len())
    }

    fn note(&self, note: Note) -> Option<&Cow<'static, str>> {
        self.notes.get((note as usize).checked_sub(1)?)
    }

    /// Notes that words in this text point to `sources`, which must then stay as long as they do.
    pub fn cite(&mut self, sources: impl IntoIterator<Item = PartId>) {
        self.cites.extend(sources);
    }

    /// The parts that words in this text point to, each once, in order.
    pub(crate) fn take_cites(&mut self) -> Vec<PartId> {
        let mut cites = std::mem::take(&mut self.cites);
        cites.sort_unstable();
        cites.dedup();
        cites
    }

    fn count(&mut self, now: usize, strategy: StrategyId, why: Why) {
        self.savings
            .push((strategy, why, self.chars.saturating_sub(now)));
        self.chars = now;
    }

    /// The pieces, and the strategy that saved most; `None` if nothing was saved.
    pub(crate) fn finish(mut self) -> Option<(Vec<Piece>, StrategyId, Why)> {
        let &(strategy, why, saved) = self.savings.iter().max_by_key(|(_, _, saved)| *saved)?;
        if saved == 0 {
            return None;
        }
        let pieces = match self.whole.take() {
            Some(pieces) => pieces,
            None => self.pieces(),
        };
        Some((pieces, strategy, why))
    }

    /// Lines as pieces, neighbours joined.
    fn pieces(&mut self) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::with_capacity(self.lines.len());
        let mut run = 0..0;
        for line in &self.lines {
            let keep = line.keep();
            if line.before != 0 {
                flush(&mut run, &mut pieces);
                pieces.extend(take_note(&mut self.notes, line.before));
            }
            if run.end == keep.start {
                run.end = keep.end;
            } else if !keep.is_empty() {
                flush(&mut run, &mut pieces);
                run = keep;
            }
            if line.after != 0 {
                flush(&mut run, &mut pieces);
                pieces.extend(take_note(&mut self.notes, line.after));
            }
        }
        flush(&mut run, &mut pieces);
        pieces
    }
}

/// Puts a run of kept bytes behind the pieces and empties it.
fn flush(run: &mut Range<usize>, pieces: &mut Vec<Piece>) {
    if run.start < run.end {
        pieces.push(Piece::Keep(run.clone()));
    }
    run.start = run.end;
}

fn take_note(notes: &mut [Cow<'static, str>], note: Note) -> Option<Piece> {
    let words = notes.get_mut((note as usize).checked_sub(1)?)?;
    Some(Piece::Note(std::mem::take(words)))
}

fn chars_of(text: &[u8], range: Range<usize>) -> usize {
    let bytes = text.get(range).unwrap_or_default();
    if bytes.len() < 16 {
        return bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
    }
    count_chars(bytes)
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
