//! A string literal in place: its decoded text, and the way back to the raw bytes.

use std::borrow::Cow;

use super::Span;
use super::unescape::{decode_escape, first_chars, make_room, unescape, walk};

/// A string literal that the scanner found. Knows where it is, owns nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonStr {
    /// The raw bytes between the quotes.
    pub span: Span,
    excess: Excess,
}

/// A text as most writers spell it in JSON: newlines, tabs, quotes and backslashes have a backslash before them,
/// and nothing else has. Texts that are spelled so are equal where their raw bytes are.
#[derive(Clone, Copy, Debug)]
pub struct Spelled<'a> {
    /// The bytes between the quotes.
    pub raw: &'a str,
    /// Bytes of the text that they spell.
    pub decoded_len: usize,
}

/// What the raw bytes of a literal are beyond its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Excess {
    /// Raw bytes less decoded characters.
    pub(super) chars: u32,
    /// Raw bytes less decoded bytes: more than nothing wherever an escape is.
    pub(super) bytes: u32,
    /// Whether there are escapes of other things than newlines, tabs, quotes and backslashes.
    pub(super) has_others: bool,
}

impl JsonStr {
    pub(super) fn new(span: Span, excess: Excess) -> Self {
        Self { span, excess }
    }

    /// The bytes between the quotes, as they are written.
    #[must_use]
    pub fn raw(self, body: &str) -> &str {
        self.span.of(body)
    }

    /// The literal with its quotes.
    #[must_use]
    pub fn quoted(self) -> Span {
        Span::new(self.span.start - 1, self.span.end + 1)
    }

    /// Whether any escape is in it.
    #[must_use]
    pub fn is_escaped(self) -> bool {
        self.excess.bytes > 0
    }

    /// The text in place, if everything that is escaped must be, and is in its short form.
    pub fn spelled_as_usual(self, body: &str) -> Option<Spelled<'_>> {
        (!self.excess.has_others).then(|| Spelled {
            raw: self.raw(body),
            decoded_len: self.decoded_len(),
        })
    }

    /// How many characters (Unicode scalar values) the decoded text has. Reads nothing.
    #[must_use]
    pub fn chars(self) -> usize {
        self.span.len() - self.excess.chars as usize
    }

    /// How many characters the literal has with its quotes, if a compact writer would spell it as it is. Reads
    /// nothing.
    pub fn compact_chars(self) -> Option<usize> {
        let continuing = (self.excess.chars - self.excess.bytes) as usize;
        (!self.excess.has_others).then(|| self.span.len() - continuing + 2)
    }

    /// How many bytes the decoded text has. Reads nothing.
    #[must_use]
    pub fn decoded_len(self) -> usize {
        self.span.len() - self.excess.bytes as usize
    }

    /// How many bytes the last `chars` characters of the decoded text have, or all if it has fewer. Costs
    /// what that much text costs, however long the literal is.
    pub fn bytes_of_last_chars(self, body: &str, chars: usize) -> usize {
        let raw = self.raw(body);
        let mut reach = likely_reach(raw.len(), self.chars(), chars);
        loop {
            let from = clean_start(raw, raw.len().saturating_sub(reach));
            let tail = &raw[from..];
            let (tail_chars, tail_bytes) = first_chars(tail, usize::MAX);
            if let Some(more) = tail_chars.checked_sub(chars) {
                return tail_bytes - first_chars(tail, more).1;
            }
            if from == 0 {
                return tail_bytes;
            }
            reach = reach.saturating_mul(2);
        }
    }

    /// Whether the decoded text ends with these words. Looks at the end only; `None` if that is not enough.
    pub fn ends_with(self, body: &str, words: &str) -> Option<bool> {
        let raw = self.raw(body);
        // Most texts end with another character, and no escape is longer than six bytes.
        let last = raw.as_bytes().last_chunk::<6>();
        if let Some(last) = last
            && !last.contains(&b'\\')
            && words.as_bytes().last().is_some_and(|end| *end != last[5])
        {
            return Some(false);
        }
        let from = clean_start(raw, raw.len().saturating_sub(2 * words.len()));
        let mut end = Vec::new();
        unescape_into(&raw[from..], &mut end);
        let is_enough = from == 0 || end.len() >= words.len();
        is_enough.then(|| end.ends_with(words.as_bytes()))
    }

    /// How many bytes the first `chars` characters of the decoded text have, or all if it has fewer.
    pub fn bytes_of_chars(self, body: &str, chars: usize) -> usize {
        first_chars(self.raw(body), chars).1
    }

    /// The decoded text. Borrowed where nothing is escaped.
    #[must_use]
    #[inline]
    pub fn decode(self, body: &str) -> Cow<'_, str> {
        let raw = self.raw(body);
        if self.is_escaped() {
            Cow::Owned(unescaped(raw))
        } else {
            Cow::Borrowed(raw)
        }
    }

    /// The decoded characters, one by one. Allocates nothing.
    #[must_use]
    pub fn decoded_chars(self, body: &str) -> DecodedChars<'_> {
        DecodedChars {
            raw: self.raw(body),
        }
    }

    /// The decoded text up to about `max_bytes`: never more, except for one character. Costs what
    /// that much text costs, however long the literal is.
    #[must_use]
    pub fn decode_start(self, body: &str, max_bytes: usize) -> Cow<'_, str> {
        let raw = self.raw(body);
        if !self.is_escaped() {
            return Cow::Borrowed(&raw[..raw.floor_char_boundary(max_bytes)]);
        }
        let mut out = String::with_capacity(max_bytes.min(raw.len()));
        let mut rest = raw;
        while out.len() < max_bytes && !rest.is_empty() {
            let room = rest.floor_char_boundary(max_bytes - out.len());
            let at = memchr::memchr(b'\\', &rest.as_bytes()[..room]).unwrap_or(room);
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            if rest.starts_with('\\') && out.len() < max_bytes {
                let (character, length) = decode_escape(rest.as_bytes(), 0);
                out.push(character);
                rest = &rest[length..];
            } else if at == 0 {
                break;
            }
        }
        Cow::Owned(out)
    }

    /// Whether the decoded text is `text`.
    #[must_use]
    pub fn is(self, body: &str, text: &str) -> bool {
        if self.is_escaped() {
            self.decode(body) == text
        } else {
            self.raw(body) == text
        }
    }

    /// Puts offsets in the body in the place of offsets in the decoded text, which ascend. `None` if one of them lies
    /// inside a character or after the end, or they do not ascend.
    pub fn body_offsets(self, body: &str, offsets: &mut [usize]) -> Option<()> {
        #[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
        {
            /// With fewer bytes to each offset, looking at all of them is quicker than walking from one to the next.
            const CLOSE: usize = 256;
            if self.span.len() <= offsets.len() * CLOSE
                && let Some(text) = self.spelled_as_usual(body)
            {
                let are_there =
                    super::spelled_offsets::spelled_offsets(text.raw.as_bytes(), offsets);
                let base = self.span.start as usize;
                offsets.iter_mut().for_each(|offset| *offset += base);
                return are_there.then_some(());
            }
        }
        let mut map = self.offsets(body);
        for offset in offsets {
            *offset = map.body_offset(*offset)? as usize;
        }
        Some(())
    }

    /// A map from offsets in the decoded text to offsets in the body.
    #[must_use]
    pub fn offsets(self, body: &str) -> OffsetMap<'_> {
        OffsetMap {
            raw: self.raw(body),
            base: self.span.start,
            is_escaped: self.is_escaped(),
            decoded_len: self.decoded_len(),
            raw_at: 0,
            decoded_at: 0,
        }
    }
}

/// The text that the bytes between the quotes of a literal spell.
#[must_use]
pub fn unescaped(raw: &str) -> String {
    let mut out = Vec::new();
    unescape_into(raw, &mut out);
    // What is decoded from UTF-8 is UTF-8.
    String::from_utf8(out).unwrap_or_default()
}

/// Puts the decoded text into a vector of its own.
fn unescape_into(raw: &str, out: &mut Vec<u8>) {
    make_room(out, raw.len());
    let length = unescape(raw.as_bytes(), out, |_| {});
    out.truncate(length);
}

/// The decoded characters of a string literal.
#[derive(Clone, Debug)]
pub struct DecodedChars<'a> {
    raw: &'a str,
}

impl<'a> DecodedChars<'a> {
    /// Skips the characters before the next escape. Every newline is one.
    #[inline]
    pub fn skip_to_escape(&mut self) -> &'a str {
        let end = memchr::memchr(b'\\', self.raw.as_bytes()).unwrap_or(self.raw.len());
        self.take_raw(end)
    }

    /// Skips the characters before the next space or escape.
    #[inline]
    pub fn skip_to_space(&mut self) -> &'a str {
        let mut bytes = self.raw.bytes();
        let end = bytes.position(|byte| matches!(byte, b' ' | b'\\'));
        self.take_raw(end.unwrap_or(self.raw.len()))
    }

    #[inline]
    fn take_raw(&mut self, end: usize) -> &'a str {
        let (taken, rest) = self.raw.split_at_checked(end).unwrap_or_default();
        self.raw = rest;
        taken
    }
}

impl Iterator for DecodedChars<'_> {
    type Item = char;

    #[inline]
    fn next(&mut self) -> Option<char> {
        let (character, length) = match *self.raw.as_bytes().first()? {
            b'\\' => decode_escape(self.raw.as_bytes(), 0),
            ascii @ 0..0x80 => (char::from(ascii), 1),
            _ => {
                let character = self.raw.chars().next()?;
                (character, character.len_utf8())
            }
        };
        self.raw = self.raw.get(length..).unwrap_or_default();
        Some(character)
    }
}

/// Walks decoded offsets, in ascending order, to body offsets. Linear over all calls together.
#[derive(Debug)]
pub struct OffsetMap<'a> {
    raw: &'a str,
    base: u32,
    is_escaped: bool,
    decoded_len: usize,
    raw_at: usize,
    decoded_at: usize,
}

impl OffsetMap<'_> {
    /// The body offset of the character that starts at byte `decoded` of the decoded text (its end
    /// included). `None` if that lies inside a character, after the end, or before the last
    /// offset asked for.
    pub fn body_offset(&mut self, decoded: usize) -> Option<u32> {
        if decoded < self.decoded_at {
            return None;
        }
        if !self.is_escaped {
            self.raw_at = decoded;
            self.decoded_at = decoded;
        }
        self.skip_ahead(decoded);
        let raw = self.raw.as_bytes();
        (self.raw_at, self.decoded_at) = walk(raw, (self.raw_at, self.decoded_at), decoded);
        let on_boundary = match raw.get(self.raw_at) {
            Some(&byte) => byte & 0xc0 != 0x80,
            None => self.raw_at == raw.len(),
        };
        if self.decoded_at != decoded || !on_boundary {
            return None;
        }
        Some(self.base + u32::try_from(self.raw_at).ok()?)
    }

    /// Goes to a place shortly before an offset that is near the end, if that is far away.
    fn skip_ahead(&mut self, decoded: usize) {
        const FAR: usize = 512;
        if decoded.saturating_sub(self.decoded_at) <= FAR {
            return;
        }
        let Some(behind) = self.decoded_len.checked_sub(decoded) else {
            return;
        };
        let likely = likely_reach(self.raw.len(), self.decoded_len, behind);
        for reach in [likely, behind.saturating_mul(2)] {
            let near = self.raw.len().saturating_sub(reach);
            // Walking there must take longer than walking back from the end.
            if near < self.raw_at.saturating_add(reach.max(FAR)) {
                return;
            }
            let from = clean_start(self.raw, near);
            let tail = walk(self.raw.as_bytes(), (from, 0), usize::MAX);
            let decoded_from = self.decoded_len.saturating_sub(tail.1);
            if from > self.raw_at && decoded_from <= decoded {
                (self.raw_at, self.decoded_at) = (from, decoded_from);
                return;
            }
        }
    }
}

/// In how many raw bytes so much of the text most likely is: as everywhere in the literal, and a little more.
fn likely_reach(raw: usize, all: usize, wanted: usize) -> usize {
    let reach = wanted.saturating_mul(raw) / all.max(1);
    reach.saturating_add(reach / 16).saturating_add(64)
}

/// The last place at or before `at` that is not inside a character, an escape, or a pair of escapes.
fn clean_start(raw: &str, at: usize) -> usize {
    /// What the second escape of a pair can have before it.
    const REACH: usize = 11;
    let mut at = raw.floor_char_boundary(at);
    loop {
        let before = &raw.as_bytes()[at.saturating_sub(REACH)..at];
        match memchr::memchr(b'\\', before) {
            Some(escape) => at = at.saturating_sub(REACH) + escape,
            None => return at,
        }
    }
}

#[cfg(test)]
mod tests;
