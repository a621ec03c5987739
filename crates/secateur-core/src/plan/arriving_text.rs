//! A text while the strategies on arrival change it: its lines, what is kept of them, and the notes between them.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

use crate::plan::context::PlanContext;
use crate::plan::edit::{CutReason, Piece, StrategyId};
use crate::read::view::PartId;
use crate::text::line_facts::{LineFacts, LineKey};
use crate::text::line_number::Number;
use crate::text::spelling::Spelling;
use secateur_json::strings::count_chars;
use secateur_json::{DecodedLines, LineBuffer, Spelled, spelled_line_ends, unescaped};

/// Memory that is used for one text after the other: the text, its lines, and their facts.
#[derive(Debug, Default)]
pub(crate) struct ScanScratch {
    buffer: LineBuffer,
    memory: LineMemory,
}

#[derive(Debug, Default)]
pub(crate) struct LineMemory {
    lines: Vec<Line>,
    marks: LineFacts,
}

impl ScanScratch {
    /// Keeps memory for the next text.
    pub(crate) fn take_back(&mut self, memory: LineMemory) {
        self.memory = memory;
    }
}

/// One line of an arriving text, as it will be sent: what is kept of it, its newline included, and words of
/// our own before and after it. Small, because a long result has thousands of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// In the decoded text.
    start: u32,
    end: u32,
    /// How much later it starts and ends in `bytes`: one byte for each escape before.
    start_shift: u32,
    end_shift: u32,
    /// How many bytes of its start are not kept.
    cut: u32,
    before: Note,
    after: Note,
}

/// About how long a line is; for making room.
const USUAL_LINE_BYTES: usize = 32;

/// A note that the engine adds: 0 is none, else its number.
type Note = u32;

impl Line {
    /// The same line without its first bytes, none of which is escaped.
    #[must_use]
    pub fn without_start(self, bytes: usize) -> Self {
        let bytes = offset(bytes);
        Self {
            start: self.start + bytes,
            cut: self.cut + bytes,
            ..self
        }
    }

    /// What is kept of it, in the decoded text.
    #[must_use]
    pub fn keep(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Never less than [`ArrivalText::size`].
    #[inline]
    pub(crate) fn most_bytes(&self) -> usize {
        self.end.wrapping_sub(self.start) as usize + 1
    }

    /// The same in the bytes of the text.
    #[inline]
    fn place(&self) -> Range<usize> {
        (self.start + self.start_shift) as usize..(self.end + self.end_shift) as usize
    }
}

/// A text while the strategies on arrival change it.
#[derive(Debug)]
pub struct ArrivalText<'t> {
    bytes: &'t [u8],
    spelling: Spelling,
    /// The text, if its bytes are spelled otherwise and somebody asked.
    decoded: OnceCell<String>,
    /// Whether the text, as received, ends with a newline.
    ends_a_line: bool,
    lines: Vec<Line>,
    /// Whether the lines are those of the text, each with its own end.
    are_whole: bool,
    /// Of the present lines, or none: see [`ArrivalText::scan_for_keys`] and [`ArrivalText::numbers`].
    marks: LineFacts,
    notes: Vec<Cow<'static, str>>,
    whole: Option<Vec<Piece>>,
    chars: usize,
    /// Who saved most characters, why, and how many.
    best: Option<(StrategyId, CutReason, usize)>,
    /// Parts that notes in this text point to.
    cites: Vec<PartId>,
}

impl<'t> ArrivalText<'t> {
    /// The text of a part, read in place if it can be and nobody wants it decoded.
    pub(crate) fn of<'a: 't>(
        context: &PlanContext<'_, 'a>,
        part: PartId,
        wants_decoded: bool,
        scratch: &'t mut ScanScratch,
    ) -> Self {
        let LineMemory { lines, mut marks } = std::mem::take(&mut scratch.memory);
        let mut text = match context.spelled_as_usual(part).filter(|_| !wants_decoded) {
            Some(text) => Self::spelled(text, context.chars(part), lines),
            None => {
                let text = context.lines(part, &mut scratch.buffer);
                Self::new(text, context.chars(part), lines)
            }
        };
        marks.clear();
        text.marks = marks;
        text
    }

    /// A text that is not a part of the body.
    pub(crate) fn in_place(text: Spelled<'t>, scratch: &mut ScanScratch) -> Self {
        let LineMemory { lines, mut marks } = std::mem::take(&mut scratch.memory);
        marks.clear();
        Self {
            marks,
            ..Self::spelled(text, 0, lines)
        }
    }

    /// Gives its memory back for the next text.
    pub(crate) fn into_memory(self) -> LineMemory {
        LineMemory {
            lines: self.lines,
            marks: self.marks,
        }
    }

    /// A text with so many characters. `lines` is memory to be used again.
    pub(crate) fn new(text: DecodedLines<'t>, chars: usize, mut lines: Vec<Line>) -> Self {
        lines.clear();
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
        Self::of_lines(text.bytes, Spelling::Text, chars, lines)
    }

    /// The lines of a literal in its usual spelling, in place.
    pub(crate) fn spelled(text: Spelled<'t>, chars: usize, mut lines: Vec<Line>) -> Self {
        let Spelled { raw, decoded_len } = text;
        lines.clear();
        lines.reserve(raw.len() / USUAL_LINE_BYTES);
        let (mut start, mut start_shift) = (0, 0);
        let found = &mut lines;
        // With places of its own, which need not be kept in memory.
        spelled_line_ends(raw.as_bytes(), move |raw_end, escapes| {
            #[expect(clippy::cast_possible_truncation, reason = "a body has less than 4 GB")]
            let (end, end_shift) = ((raw_end - escapes) as u32, escapes as u32);
            found.push(Line {
                start,
                end,
                start_shift,
                end_shift,
                ..Line::default()
            });
            (start, start_shift) = (end, end_shift);
        });
        let last = lines.last().copied().unwrap_or_default();
        let (start, start_shift) = (last.end, last.end_shift);
        let end = offset(decoded_len);
        if start < end {
            lines.push(Line {
                start,
                end,
                start_shift,
                end_shift: offset(raw.len() - decoded_len),
                ..Line::default()
            });
        }
        Self {
            ends_a_line: start == end,
            ..Self::of_lines(raw.as_bytes(), Spelling::Json, chars, lines)
        }
    }

    fn of_lines(bytes: &'t [u8], spelling: Spelling, chars: usize, lines: Vec<Line>) -> Self {
        Self {
            bytes,
            spelling,
            decoded: OnceCell::new(),
            ends_a_line: bytes.ends_with(b"\n"),
            lines,
            are_whole: true,
            marks: LineFacts::default(),
            notes: Vec::new(),
            whole: None,
            chars,
            best: None,
            cites: Vec::new(),
        }
    }

    /// The text as received. Validates all of it once more, so this is for strategies that need a `str`.
    #[must_use]
    pub fn original(&self) -> &str {
        // What is decoded from UTF-8 is UTF-8.
        let text = simdutf8::basic::from_utf8(self.bytes).unwrap_or_default();
        match self.spelling {
            Spelling::Text => text,
            Spelling::Json => self.decoded.get_or_init(|| unescaped(text)),
        }
    }

    /// How the bytes of lines are written.
    #[must_use]
    pub fn spelling(&self) -> Spelling {
        self.spelling
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

    /// What is kept of a line, its newline included.
    #[must_use]
    #[inline]
    pub fn kept(&self, line: &Line) -> &'t [u8] {
        self.bytes.get(line.place()).unwrap_or_default()
    }

    /// What is kept of a line, without its newline.
    #[must_use]
    #[inline]
    pub fn kept_inside(&self, line: &Line) -> &'t [u8] {
        self.bytes.get(self.inside(line)).unwrap_or_default()
    }

    /// Where in [`ArrivalText::bytes`] the kept part of a line is, without its newline.
    #[inline]
    pub(crate) fn inside(&self, line: &Line) -> Range<usize> {
        let Range { start, end } = line.place();
        let newline = match self.spelling {
            _ if !self.has_newline(line) => 0,
            Spelling::Text => 1,
            Spelling::Json => 2,
        };
        start..end.saturating_sub(newline).max(start)
    }

    /// Whether what is kept of a line ends with the newline of the text.
    #[inline]
    fn has_newline(&self, line: &Line) -> bool {
        match self.spelling {
            Spelling::Text => self.kept(line).ends_with(b"\n"),
            // All lines have one but the last, those of which nothing is kept, and those that were split off, which
            // end in a newline of our own.
            Spelling::Json => {
                line.end > line.start
                    && line.after == 0
                    && (self.ends_a_line || line.place().end < self.bytes.len())
            }
        }
    }

    /// The bytes that the lines are parts of, in their [`ArrivalText::spelling`].
    pub(crate) fn bytes(&self) -> &'t [u8] {
        self.bytes
    }

    /// What is kept of a line, without its newline.
    #[must_use]
    pub fn line(&self, at: usize) -> &'t [u8] {
        self.lines
            .get(at)
            .map_or(&[], |line| self.kept_inside(line))
    }

    /// The line as received, from its start on; what follows it may be here as well.
    #[must_use]
    pub fn uncut(&self, line: &Line) -> &'t [u8] {
        let start = line.place().start.saturating_sub(line.cut as usize);
        self.bytes.get(start..).unwrap_or_default()
    }

    /// Bytes of text that are kept of a line, with a newline even if it has none.
    #[must_use]
    #[inline]
    pub fn size(&self, line: &Line) -> usize {
        line.keep().len() + usize::from(!self.has_newline(line))
    }

    /// Bytes of the text, as long as its lines are whole.
    pub(crate) fn text_len(&self) -> usize {
        self.lines.last().map_or(0, |last| last.keep().end)
    }

    /// What is kept of each line, in the decoded text, and its key, if [`ArrivalText::scan_for_keys`] was called.
    pub(crate) fn keyed_lines(&self) -> impl Iterator<Item = (Range<usize>, LineKey)> {
        let keys = self.marks.keys.iter().copied();
        self.lines.iter().map(Line::keep).zip(keys)
    }

    /// Characters in a range of the text, as long as its lines are whole.
    pub(crate) fn chars_in(&self, range: &Range<usize>) -> usize {
        let raw = self.place_of(range.start)..self.place_of(range.end);
        let escapes = raw.len().saturating_sub(range.len());
        let there = self.bytes.get(raw).unwrap_or_default();
        count_few_chars(there).saturating_sub(escapes)
    }

    /// Where a byte of the decoded text is in `bytes`.
    fn place_of(&self, offset: usize) -> usize {
        let at = self.lines.partition_point(|line| line.keep().end <= offset);
        let Some(line) = self.lines.get(at) else {
            return self.bytes.len();
        };
        let mut place = line.place().start;
        let mut left = offset - line.keep().start;
        if self.spelling == Spelling::Text {
            return place + left;
        }
        while left > 0 {
            let is_escape = self.bytes.get(place) == Some(&b'\\');
            place += 1 + usize::from(is_escape);
            left -= 1;
        }
        place
    }

    /// What one line, as it is kept, is recognised by.
    pub(crate) fn key_of(&self, line: &Line) -> LineKey {
        let line = self.kept_inside(line);
        match self.spelling {
            Spelling::Text => LineKey::of_text(line, &mut Vec::new()),
            Spelling::Json => LineKey::of_spelled(line),
        }
    }

    /// Finds out what each line, as it is kept, is recognised by.
    pub(crate) fn scan_for_keys(&mut self) {
        if self.marks.keys.len() != self.lines.len() {
            self.scan();
        }
    }

    /// What each line, as it is kept, is recognised by, if [`ArrivalText::scan_for_keys`] was called.
    pub(crate) fn keys(&self) -> &[LineKey] {
        &self.marks.keys
    }

    /// The number that each line, as it is kept, begins with.
    pub(crate) fn numbers(&mut self) -> &[Number] {
        if self.marks.numbers.len() != self.lines.len() {
            self.scan();
        }
        &self.marks.numbers
    }

    fn scan(&mut self) {
        let mut marks = std::mem::take(&mut self.marks);
        if self.spelling == Spelling::Json && self.are_whole {
            let bytes = self.bytes;
            // Only the last line may have no newline.
            let rest = if self.ends_a_line {
                usize::MAX
            } else {
                bytes.len()
            };
            let inside = |line: &Line| {
                let Range { start, end } = line.place();
                let newline = usize::from(end != rest) * 2;
                (start, end.saturating_sub(newline))
            };
            marks.scan_in_place(bytes, self.lines.iter().map(inside));
        } else {
            let lines = self.lines.iter().map(|line| self.kept_inside(line));
            marks.scan(lines, self.spelling);
        }
        self.marks = marks;
    }
}

fn count_few_chars(bytes: &[u8]) -> usize {
    if bytes.len() < 16 {
        return bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
    }
    count_chars(bytes)
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

mod changes;
#[cfg(test)]
mod tests;
