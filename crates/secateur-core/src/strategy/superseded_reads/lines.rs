//! The lines of a file read, with the numbers that a listing gives them.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use crate::strategy::line_hash::line_hash;

/// A line with fewer characters says too little to be recognised by.
const MIN_DISTINCTIVE_BYTES: usize = 8;

#[derive(Debug)]
pub(super) struct Line {
    /// With its newline.
    bytes: Range<usize>,
    /// Behind the number, without white space at the end.
    code: Range<usize>,
    /// In a listing: its number. `None` there means a line around the listing.
    pub(super) number: Option<u32>,
    /// Lines of one segment follow each other without a gap.
    pub(super) segment: u32,
    /// The hash of a line of the file that says enough to be recognised by.
    hash: Option<u64>,
}

/// Hands a hash through as it is.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0 << 8 | u64::from(byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A read's text, cut into lines.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    text: Cow<'a, str>,
    lines: Vec<Line>,
    pub(super) is_listing: bool,
    index: OnceCell<Index>,
}

/// Distinctive lines by hash; `None` where two share one.
type Index = HashMap<u64, Option<usize>, BuildHasherDefault<AsIs>>;

impl<'a> Lines<'a> {
    pub(super) fn of(text: Cow<'a, str>) -> Self {
        let mut lines = Vec::new();
        let mut at = 0;
        let (mut segment, mut last) = (0, None);
        let is_listing = text
            .lines()
            .next()
            .is_some_and(|first| number(first).is_some());
        for raw in text.split_inclusive('\n') {
            let line = trim_end(raw);
            let numbered = number(line).filter(|_| is_listing);
            let code_from = numbered.map_or(0, |(_, len)| len);
            let number = numbered.map(|(number, _)| number);
            if is_listing
                && (number.is_none() || last.map(|last: u32| last.saturating_add(1)) != number)
            {
                segment += 1;
            }
            last = number;
            let code = line.get(code_from..).unwrap_or_default();
            let is_distinctive = (number.is_some() || !is_listing)
                && code.trim_start().len() >= MIN_DISTINCTIVE_BYTES;
            lines.push(Line {
                bytes: at..at + raw.len(),
                code: at + code_from..at + line.len(),
                number,
                segment,
                hash: is_distinctive.then(|| line_hash(code.as_bytes())),
            });
            at += raw.len();
        }
        Self {
            text,
            lines,
            is_listing,
            index: OnceCell::new(),
        }
    }

    /// Made for texts that are compared with another.
    fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let mut index = Index::with_capacity_and_hasher(self.lines.len(), Default::default());
            for (at, line) in self.lines.iter().enumerate() {
                if let Some(hash) = line.hash {
                    let only = index.entry(hash).or_insert(Some(at));
                    if *only != Some(at) {
                        *only = None;
                    }
                }
            }
            index
        })
    }

    pub(super) fn text(&self) -> &str {
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

    pub(super) fn code(&self, at: usize) -> &str {
        &self.text[self.lines[at].code.clone()]
    }

    /// The one line here that is alike to a line there, which must be the only one of its kind
    /// there too.
    pub(super) fn twin(&self, other: &Self, there: usize) -> Option<usize> {
        let hash = other.lines[there].hash?;
        other.index().get(&hash).copied().flatten()?;
        let here = self.index().get(&hash).copied().flatten()?;
        (self.code(here) == other.code(there)).then_some(here)
    }

    /// From the first byte of the first to the last byte of the last line.
    pub(super) fn bytes(&self, lines: Range<usize>) -> Range<usize> {
        match (
            self.lines.get(lines.start),
            self.lines.get(lines.end.wrapping_sub(1)),
        ) {
            (Some(first), Some(last)) if !lines.is_empty() => first.bytes.start..last.bytes.end,
            _ => 0..0,
        }
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

/// The number at the start of a listing's line, and how many bytes it and its separator take:
/// `12→`, `12<tab>`, `12|`, `12:`.
fn number(line: &str) -> Option<(u32, usize)> {
    let bytes = line.as_bytes();
    let is_indent = |byte: &&u8| matches!(byte, b' ' | b'\t');
    let start = bytes.iter().take_while(is_indent).count();
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

fn trim_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    match line.as_bytes().last() {
        Some(last) if last.is_ascii_graphic() => line,
        _ => line.trim_end(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_knows_its_numbers_and_its_gaps() {
        let lines =
            Lines::of("     9→\tfn a() {\n    10→\n    11→}\n    40→end\n\n<note>\n".into());
        assert!(lines.is_listing);
        let numbers: Vec<_> = (0..lines.len()).map(|at| lines.line(at).number).collect();
        assert_eq!(numbers, [Some(9), Some(10), Some(11), Some(40), None, None]);
        assert_eq!(lines.code(0), "\tfn a() {");
        assert_eq!(lines.line(0).segment, lines.line(2).segment);
        assert_ne!(lines.line(2).segment, lines.line(3).segment);
        assert_eq!(lines.name(0..3), "[Lines 9-11");
    }

    #[test]
    fn every_usual_separator_is_known() {
        for line in ["12→x", "  12\tx", "12|x", "12:x", "12"] {
            assert_eq!(number(line).map(|(number, _)| number), Some(12), "{line}");
        }
        for line in ["x", "12 x", "", "12.5", "-1:x"] {
            assert_eq!(number(line), None, "{line}");
        }
    }
}
