//! The lines of a file read, with the numbers that a listing gives them.

use std::ops::Range;

use super::index::Index;
use crate::arrival::Spelling;
use crate::hash::line_hash;
use crate::json::DecodedLines;
#[cfg(test)]
use crate::json::LineBuffer;
use crate::line_space::{leading_spaces, trim_end, trim_start};

/// A line with fewer characters says too little to be recognised by.
const MIN_DISTINCTIVE_BYTES: usize = 8;

/// A line ends where the next one starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    start: u32,
    /// Behind the number, without white space at the end.
    code: (u32, u32),
    /// In a listing: its number. `None` there means a line around the listing.
    pub(super) number: Option<u32>,
    /// Lines of one segment follow each other without a gap.
    pub(super) segment: u32,
    /// The hash of a line of the file that says enough to be recognised by; else 0.
    hash: u64,
}

/// A read's text, cut into lines.
#[derive(Debug)]
pub(super) struct Lines {
    text: Vec<u8>,
    lines: Vec<Line>,
    pub(super) is_listing: bool,
    index: Index,
}

impl Lines {
    /// The lines of a text.
    pub(super) fn of(text: DecodedLines<'_>) -> Self {
        let DecodedLines {
            bytes: text,
            line_ends,
        } = text;
        let mut lines = Vec::with_capacity(line_ends.len() + 1);
        let whole = offset(text.len());
        let first = &text[..line_ends.first().map_or(text.len(), |&end| end as usize)];
        let is_listing = !first.is_empty() && number(without_line_end(first)).is_some();
        let (mut start, mut segment, mut last) = (0, 0, None);
        for &end in line_ends.iter().chain([&whole]) {
            if start == end {
                continue;
            }
            let raw = &text[start as usize..end as usize];
            let line = trim_end(raw, Spelling::Text);
            let numbered = if is_listing { number(line) } else { None };
            let (code_from, number) = match numbered {
                Some((number, length)) => (length, Some(number)),
                None => (0, None),
            };
            if is_listing
                && (number.is_none() || last.map(|last: u32| last.saturating_add(1)) != number)
            {
                segment += 1;
            }
            last = number;
            let code = &line[code_from..];
            let is_distinctive = (number.is_some() || !is_listing)
                && trim_start(&code[leading_spaces(code)..], Spelling::Text).len()
                    >= MIN_DISTINCTIVE_BYTES;
            lines.push(Line {
                start,
                code: (start + offset(code_from), start + offset(line.len())),
                number,
                segment,
                hash: if is_distinctive {
                    line_hash(code).max(1)
                } else {
                    0
                },
            });
            start = end;
        }
        let index = Index::of(lines.iter().map(|line| line.hash));
        Self {
            text: text.to_vec(),
            lines,
            is_listing,
            index,
        }
    }

    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn line(&self, at: usize) -> &Line {
        &self.lines[at]
    }

    /// Whether it is a line of the file.
    pub(super) fn is_of_file(&self, at: usize) -> bool {
        !self.is_listing || self.lines[at].number.is_some()
    }

    pub(super) fn code(&self, at: usize) -> &[u8] {
        let (start, end) = self.lines[at].code;
        &self.text[start as usize..end as usize]
    }

    /// The lines here and there that are alike, and the only ones of their kind on either side, in the order
    /// of those here.
    pub(super) fn twins<'t>(&'t self, there: &'t Self) -> impl Iterator<Item = (usize, usize)> {
        self.index.singles().filter_map(|here| {
            let at = there.index.find(self.lines[here].hash)?;
            (self.code(here) == there.code(at)).then_some((here, at))
        })
    }

    /// From the first byte of the first to the last byte of the last line.
    pub(super) fn bytes(&self, lines: Range<usize>) -> Range<usize> {
        let start = |at: usize| self.lines.get(at).map(|line| line.start as usize);
        if lines.is_empty() || lines.end > self.lines.len() {
            return 0..0;
        }
        start(lines.start).unwrap_or(0)..start(lines.end).unwrap_or(self.text.len())
    }

    /// Sorted stretches as disjoint ones.
    pub(super) fn merged(&self, sorted: Vec<Range<usize>>) -> Vec<Range<usize>> {
        let mut merged: Vec<Range<usize>> = Vec::new();
        for stretch in sorted {
            match merged.last_mut() {
                Some(last) if stretch.start <= last.end => last.end = last.end.max(stretch.end),
                _ => merged.push(stretch),
            }
        }
        merged
    }

    /// How a note calls a stretch.
    pub(super) fn name(&self, lines: Range<usize>) -> String {
        let numbers = (
            self.lines.get(lines.start).and_then(|line| line.number),
            self.lines
                .get(lines.end.wrapping_sub(1))
                .and_then(|line| line.number),
        );
        match numbers {
            (Some(first), Some(last)) => format!("[Lines {first}-{last}"),
            _ => format!("[{} lines", lines.len()),
        }
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The number at the start of a listing's line, and how many bytes it and its separator take:
/// `12→`, `12<tab>`, `12|`, `12:`.
#[inline]
fn number(bytes: &[u8]) -> Option<(u32, usize)> {
    let is_indent = |byte: &&u8| matches!(byte, b' ' | b'\t');
    let spaces = leading_spaces(bytes);
    let start = spaces + bytes[spaces..].iter().take_while(is_indent).count();
    let mut end = start;
    let mut number: u32 = 0;
    while let Some(digit @ b'0'..=b'9') = bytes.get(end) {
        number = number
            .checked_mul(10)?
            .checked_add(u32::from(digit - b'0'))?;
        end += 1;
    }
    if end == start {
        return None;
    }
    match bytes.get(end) {
        Some(b'\t' | b'|' | b':') => Some((number, end + 1)),
        Some(_) if bytes[end..].starts_with("→".as_bytes()) => Some((number, end + "→".len())),
        Some(_) => None,
        // White space at the end is cut off before, so an empty line of `cat -n` is a bare number.
        None => Some((number, end)),
    }
}

/// A line without its newline and the carriage return before it.
fn without_line_end(line: &[u8]) -> &[u8] {
    match line.strip_suffix(b"\n") {
        Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
        None => line,
    }
}

#[cfg(test)]
impl Lines {
    /// The lines of a text.
    pub(super) fn of_text(text: &str) -> Self {
        Self::of(LineBuffer::default().hold(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_knows_its_numbers_and_its_gaps() {
        let lines = Lines::of_text("     9→\tfn a() {\n    10→\n    11→}\n    40→end\n\n<note>\n");
        assert!(lines.is_listing);
        let numbers: Vec<_> = (0..lines.len()).map(|at| lines.line(at).number).collect();
        assert_eq!(numbers, [Some(9), Some(10), Some(11), Some(40), None, None]);
        assert_eq!(lines.code(0), b"\tfn a() {");
        assert_eq!(lines.line(0).segment, lines.line(2).segment);
        assert_ne!(lines.line(2).segment, lines.line(3).segment);
        assert_eq!(lines.name(0..3), "[Lines 9-11");
    }

    #[test]
    fn every_usual_separator_is_known() {
        for line in ["12→x", "  12\tx", "12|x", "12:x", "12"] {
            assert_eq!(
                number(line.as_bytes()).map(|(number, _)| number),
                Some(12),
                "{line}"
            );
        }
        for line in ["x", "12 x", "", "12.5", "-1:x"] {
            assert_eq!(number(line.as_bytes()), None, "{line}");
        }
    }
}
