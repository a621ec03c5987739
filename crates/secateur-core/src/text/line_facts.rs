//! The facts about a line that strategies on arrival need, found in one scan: its line number and a hash of its
//! content.
//!
//! Lines are scanned in JSON spelling. The facts do not depend on how the literal spells a line.

use crate::text::following_number::FollowingNumber;
use crate::text::hash::LineHasher;
use crate::text::line_number::{ARROW, Number, NumberEnd, leading_number};
use crate::text::line_space::{leading_spaces, trim_end, trim_start};
use crate::text::spelling::Spelling;

/// The facts about the lines of a text, line by line.
#[derive(Debug, Default)]
pub(crate) struct LineFacts {
    pub(crate) keys: Vec<LineKey>,
    pub(crate) numbers: Vec<Number>,
    /// Scratch: a line as JSON spells it.
    spelled: Vec<u8>,
}

impl LineFacts {
    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.numbers.clear();
    }

    /// Replaces the present facts by those of these lines, which have no newlines.
    pub(crate) fn scan<'t>(
        &mut self,
        lines: impl ExactSizeIterator<Item = &'t [u8]>,
        spelling: Spelling,
    ) {
        self.clear();
        let Self {
            keys,
            numbers,
            spelled,
        } = self;
        keys.reserve(lines.len());
        numbers.reserve(lines.len());
        let mut scanner = LineScanner::new();
        for line in lines {
            let line = as_json((line, spelling), spelled);
            let (key, number) = scanner.scan(line, 0, line.len());
            keys.push(key);
            numbers.push(number);
        }
    }

    /// The same for lines of a literal in its usual spelling, given by where each starts and where it ends, its newline
    /// left out.
    pub(crate) fn scan_in_place(
        &mut self,
        raw: &[u8],
        lines: impl ExactSizeIterator<Item = (usize, usize)>,
    ) {
        self.keys.clear();
        self.keys.resize(lines.len(), LineKey::GONE);
        self.numbers.resize(lines.len(), Number::NONE);
        let mut scanner = LineScanner::new();
        let places = self.keys.iter_mut().zip(&mut self.numbers);
        for ((key, number), (start, end)) in places.zip(lines) {
            (*key, *number) = scanner.scan(raw, start, end);
        }
    }
}

/// A line of text as JSON spells it, except for control characters other than tabs: no literal that is read in place
/// has them.
fn spell<'s>(line: &'s [u8], spelled: &'s mut Vec<u8>) -> &'s [u8] {
    if memchr::memchr3(b'"', b'\\', b'\t', line).is_none() {
        return line;
    }
    spelled.clear();
    for &byte in line {
        match byte {
            b'"' | b'\\' => spelled.extend([b'\\', byte]),
            b'\t' => spelled.extend(b"\\t"),
            _ => spelled.push(byte),
        }
    }
    spelled
}

/// Whether two lines have the same content: what two equal [`LineKey`]s make likely. Line numbers and trailing white
/// space are not compared.
pub(crate) fn have_same_content(one: (&[u8], Spelling), other: (&[u8], Spelling)) -> bool {
    if one == other {
        return true;
    }
    let (mut spelled_one, mut spelled_other) = (Vec::new(), Vec::new());
    content(as_json(one, &mut spelled_one)) == content(as_json(other, &mut spelled_other))
}

/// A line as JSON spells it.
fn as_json<'s>((line, spelling): (&'s [u8], Spelling), spelled: &'s mut Vec<u8>) -> &'s [u8] {
    match spelling {
        Spelling::Json => line,
        Spelling::Text => spell(line, spelled),
    }
}

/// What [`LineScanner::scan`] makes a key of: a line without its number and trailing white space.
fn content(line: &[u8]) -> &[u8] {
    let (_, start) = leading_number(line, leading_spaces(line));
    trim_end(&line[start..], Spelling::Json)
}

/// A line's content, without its number and trailing white space, as a hash. The
/// lowest bit is set if the line is long enough to start a run; short lines (`}`) are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LineKey(u64);

const SHORTEST_ANCHOR: usize = 8;

impl LineKey {
    /// A removed line. Equal to the key of no line.
    pub(crate) const GONE: Self = Self(0);

    /// The key of a line of text. `spelled` is memory to be used again.
    pub(crate) fn of_text(line: &[u8], spelled: &mut Vec<u8>) -> Self {
        Self::of_spelled(spell(line, spelled))
    }

    /// The key of a line as JSON spells it.
    pub(crate) fn of_spelled(line: &[u8]) -> Self {
        LineScanner::new().scan(line, 0, line.len()).0
    }

    #[inline]
    pub(crate) fn is_anchor(self) -> bool {
        self.0 & 1 == 1
    }

    /// A part of the key that differs between most lines.
    #[inline]
    pub(crate) fn mark(self) -> u8 {
        self.0.to_le_bytes()[1]
    }

    /// A number below this one, which is a power of two.
    #[inline]
    pub(crate) fn literal(self, literals: usize) -> usize {
        (self.0 >> 32) as usize & (literals - 1)
    }
}

/// What a byte may be where it is: the first one of a number or an arrow; the first one of content, no white space
/// and nothing that looks like a number or a note; the last one of white space.
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'0'..=b'9' => NUMBER,
            b't' => WORD | TRIMMED,
            b'[' | b'\\' => 0,
            b'!'..=b'~' => WORD,
            b'\t'..=b'\r' | b' ' => TRIMMED,
            0xe2 => NUMBER | TRIMMED,
            0x80.. => TRIMMED,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

const NUMBER: u8 = 1;
const WORD: u8 = 2;
const TRIMMED: u8 = 4;

#[inline(always)]
fn class(byte: Option<&u8>) -> u8 {
    byte.map_or(0, |&byte| CLASSES[usize::from(byte)])
}

/// Scans lines in JSON spelling, one after the other.
struct LineScanner {
    hasher: &'static LineHasher,
    following: FollowingNumber,
}

impl LineScanner {
    fn new() -> Self {
        Self {
            hasher: LineHasher::of_process(),
            following: FollowingNumber::NONE,
        }
    }

    /// Scans a line of `raw`, which is followed by its newline or by nothing.
    #[inline(always)]
    fn scan(&mut self, raw: &[u8], start: usize, end: usize) -> (LineKey, Number) {
        let first = words_at(raw, start);
        let (mut number, length) = match self.following.take(first) {
            Some(taken) => taken,
            None => self.read_number(raw, start, end, first),
        };
        let code = start + length;
        let spaces = spaces(raw, code, words_at(raw, code));
        let mut end = end.max(code);
        if class(raw.get(end.wrapping_sub(1))) & TRIMMED != 0 && may_end_with_space(raw, end) {
            end = code + trim_end(&raw[code..end], Spelling::Json).len();
        }
        let mut inside = code + spaces;
        if raw.get(inside) == Some(&b'\\') && raw.get(inside + 1) == Some(&b't') && inside < end {
            inside += 2;
        }
        let (is_anchor, is_loose) = if class(raw.get(inside)) & WORD != 0 && inside < end {
            (is_long(raw, inside, end), true)
        } else {
            says_something(raw.get(inside..end).unwrap_or_default())
        };
        if number.ended_by == NumberEnd::Arrow && is_loose {
            number.ended_by = NumberEnd::LooseArrow;
        }
        // The second lowest bit distinguishes it from `GONE`.
        let key = self.hasher.hash_at(raw, code, end) & !1 | 2 | u64::from(is_anchor);
        (LineKey(key), number)
    }

    /// The number of a line, where there is one, and how many bytes it has with what belongs to it.
    #[inline(always)]
    fn read_number(
        &mut self,
        raw: &[u8],
        start: usize,
        end: usize,
        first: [u64; 2],
    ) -> (Number, usize) {
        let spaces = spaces(raw, start, first);
        if class(raw.get(start + spaces)) & NUMBER == 0 {
            return (Number::NONE, 0);
        }
        let (number, length) = leading_number(raw.get(start..end).unwrap_or_default(), spaces);
        self.following = FollowingNumber::after(first, number, length);
        (number, length)
    }
}

/// The bytes from a place on as words, and zeros after the last one.
#[inline(always)]
fn words_at(raw: &[u8], at: usize) -> [u64; 2] {
    match raw.get(at..).and_then(<[u8]>::first_chunk::<16>) {
        Some(bytes) => {
            let (words, _) = bytes.as_chunks::<8>();
            [u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])]
        }
        None => last_words_at(raw, at),
    }
}

#[cold]
#[inline(never)]
fn last_words_at(raw: &[u8], at: usize) -> [u64; 2] {
    let word = |at: usize| {
        let rest = raw.get(at..).unwrap_or_default();
        let shifted = rest.iter().take(8).enumerate();
        shifted.fold(0, |word, (place, byte)| {
            word | u64::from(*byte) << (8 * place)
        })
    };
    [word(at), word(at + 8)]
}

/// How many spaces follow from `at`, given the first 16 bytes there. A line is never followed by one.
#[inline(always)]
fn spaces(raw: &[u8], at: usize, [first, second]: [u64; 2]) -> usize {
    const SPACES: u64 = 0x2020_2020_2020_2020;
    if first != SPACES {
        return ((first ^ SPACES).trailing_zeros() / 8) as usize;
    }
    if second != SPACES {
        return 8 + ((second ^ SPACES).trailing_zeros() / 8) as usize;
    }
    leading_spaces(&raw[at..])
}

/// Whether the end, with a byte that may be the last one of white space, has to be checked: most words that end
/// with a `t` do not end with a tab.
#[inline(always)]
fn may_end_with_space(raw: &[u8], end: usize) -> bool {
    raw.get(end - 1) != Some(&b't') || raw.get(end.wrapping_sub(2)) == Some(&b'\\')
}

/// Whether content that begins with a word is long enough for an anchor.
#[inline(always)]
fn is_long(raw: &[u8], start: usize, end: usize) -> bool {
    // No text is shorter than half of how it is spelled.
    match end - start {
        ..SHORTEST_ANCHOR => false,
        SHORTEST_ANCHOR..16 => {
            let (first, last) = (word(raw, start), word(raw, end - SHORTEST_ANCHOR));
            let has_escape = has_backslash(first) || has_backslash(last);
            !has_escape || text_len(&raw[start..end]) >= SHORTEST_ANCHOR
        }
        _ => true,
    }
}

/// The eight bytes at a place where there are so many.
#[inline(always)]
fn word(raw: &[u8], at: usize) -> u64 {
    let bytes = raw.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[inline(always)]
fn has_backslash(word: u64) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let others = word ^ (ONES * b'\\' as u64);
    others.wrapping_sub(ONES) & !others & (ONES << 7) != 0
}

/// Whether a line's content, from its first other byte than a space on, is long enough for an anchor, and whether it
/// would look neither numbered nor like a note.
#[inline(never)]
fn says_something(content: &[u8]) -> (bool, bool) {
    let content = trim_start(content, Spelling::Json);
    let is_long = content.len() >= 2 * SHORTEST_ANCHOR || text_len(content) >= SHORTEST_ANCHOR;
    let looks_otherwise =
        matches!(content.first(), Some(b'0'..=b'9' | b'[')) || content.starts_with(ARROW);
    (is_long, !looks_otherwise)
}

/// Bytes of a text that JSON spells so.
fn text_len(spelled: &[u8]) -> usize {
    let (mut at, mut length) = (0, 0);
    while let Some(&byte) = spelled.get(at) {
        at += 1 + usize::from(byte == b'\\');
        length += 1;
    }
    length
}

#[cfg(test)]
mod tests;
