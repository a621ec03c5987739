//! A string literal in place: its decoded text, and the way back to the raw bytes.

use std::borrow::Cow;

use super::Span;
use super::strings::count_chars;

/// A string literal that the scanner found. Knows where it is, owns nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonStr {
    /// The raw bytes between the quotes.
    pub span: Span,
    /// Raw characters minus decoded characters; 0 means the raw bytes are the text.
    escaped_excess: u32,
}

impl JsonStr {
    pub(super) fn new(span: Span, escaped_excess: u32) -> Self {
        Self {
            span,
            escaped_excess,
        }
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
        self.escaped_excess > 0
    }

    /// How many characters (Unicode scalar values) the decoded text has. Decodes nothing.
    #[must_use]
    pub fn chars(self, body: &str) -> usize {
        count_chars(self.raw(body).as_bytes()) - self.escaped_excess as usize
    }

    /// The decoded text. Borrowed where nothing is escaped.
    #[must_use]
    pub fn decode(self, body: &str) -> Cow<'_, str> {
        let raw = self.raw(body);
        if !self.is_escaped() {
            return Cow::Borrowed(raw);
        }
        let mut out = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
            out.push_str(&rest[..at]);
            let (character, length) = decode_escape(rest.as_bytes(), at);
            out.push(character);
            rest = &rest[at + length..];
        }
        out.push_str(rest);
        Cow::Owned(out)
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
        let mut out = String::new();
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

    /// A map from offsets in the decoded text to offsets in the body.
    #[must_use]
    pub fn offsets(self, body: &str) -> OffsetMap<'_> {
        OffsetMap {
            raw: self.raw(body).as_bytes(),
            base: self.span.start,
            is_escaped: self.is_escaped(),
            raw_at: 0,
            decoded_at: 0,
        }
    }
}

/// The decoded characters of a string literal.
#[derive(Clone, Debug)]
pub struct DecodedChars<'a> {
    raw: &'a str,
}

impl<'a> DecodedChars<'a> {
    /// Skips the characters before the next escape. Every newline is one.
    #[inline]
    pub(crate) fn skip_to_escape(&mut self) -> &'a str {
        let end = memchr::memchr(b'\\', self.raw.as_bytes()).unwrap_or(self.raw.len());
        self.take_raw(end)
    }

    /// Skips the characters before the next space or escape.
    #[inline]
    pub(crate) fn skip_to_space(&mut self) -> &'a str {
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
    raw: &'a [u8],
    base: u32,
    is_escaped: bool,
    raw_at: usize,
    decoded_at: usize,
}

impl OffsetMap<'_> {
    /// The body offset of the character that starts at byte `decoded` of the decoded text (its end
    /// included). `None` if that lies inside a character, behind the end, or before the last
    /// offset asked for.
    pub fn body_offset(&mut self, decoded: usize) -> Option<u32> {
        if decoded < self.decoded_at {
            return None;
        }
        if !self.is_escaped {
            self.raw_at = decoded;
            self.decoded_at = decoded;
        }
        while self.decoded_at < decoded {
            let ahead = decoded - self.decoded_at;
            let rest = &self.raw[self.raw_at..];
            let plain = memchr::memchr(b'\\', &rest[..ahead.min(rest.len())]);
            let step = plain.unwrap_or(ahead.min(rest.len()));
            self.raw_at += step;
            self.decoded_at += step;
            match plain {
                Some(at) => {
                    let (character, length) = decode_escape(rest, at);
                    self.raw_at += length;
                    self.decoded_at += character.len_utf8();
                }
                None if step == 0 => return None,
                None => {}
            }
        }
        let on_boundary = match self.raw.get(self.raw_at) {
            Some(&byte) => byte & 0xc0 != 0x80,
            None => self.raw_at == self.raw.len(),
        };
        if self.decoded_at != decoded || !on_boundary {
            return None;
        }
        Some(self.base + u32::try_from(self.raw_at).ok()?)
    }
}

/// The character and the raw length of the escape at `raw[at]`, which the scanner found valid.
fn decode_escape(raw: &[u8], at: usize) -> (char, usize) {
    let simple = match raw.get(at + 1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            let first = hex4(raw, at + 2).unwrap_or(0xfffd);
            if (0xd800..0xdc00).contains(&first)
                && raw.get(at + 6..at + 8) == Some(b"\\u")
                && let Some(second @ 0xdc00..0xe000) = hex4(raw, at + 8)
            {
                let point = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return (char::from_u32(point).unwrap_or('\u{fffd}'), 12);
            }
            return (char::from_u32(first).unwrap_or('\u{fffd}'), 6);
        }
        Some(&other) => other as char,
        None => '\\',
    };
    (simple, 2)
}

/// Four hexadecimal digits at `at`.
pub(super) fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.iter().try_fold(0, |value, &digit| {
        Some(value << 4 | (digit as char).to_digit(16)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Cursor;

    fn literal(raw: &str) -> (String, JsonStr) {
        let body = format!("\"{raw}\"");
        let found = Cursor::over(&body, 8).string().unwrap();
        (body, found)
    }

    #[test]
    fn decodes_like_serde_json() {
        for raw in [
            "",
            "plain",
            r"caf\u00e9 \/ \\ \n\t\r\b\f \u0000",
            r"\ud83d\ude42 pair",
            "漢\\u6f22🙂\\n",
        ] {
            let (body, text) = literal(raw);
            let expected: String = serde_json::from_str(&body).unwrap();
            assert_eq!(text.decode(&body), expected, "{raw}");
            assert_eq!(text.chars(&body), expected.chars().count(), "{raw}");
            assert_eq!(text.decoded_chars(&body).collect::<String>(), expected);
        }
    }

    #[test]
    fn the_start_of_a_text_is_a_prefix_of_it() {
        for raw in ["", "plain text", r"a\u00e9\n漢\ud83d\ude42\n🙂z", "漢漢漢"] {
            let (body, text) = literal(raw);
            let whole = text.decode(&body);
            for limit in 0..whole.len() + 3 {
                let start = text.decode_start(&body, limit);
                assert!(whole.starts_with(start.as_ref()), "{raw} {limit}: {start}");
                assert!(start.len() < limit + 4, "{raw} {limit}");
                assert!(start.len() + 4 > limit.min(whole.len()), "{raw} {limit}");
            }
        }
    }

    #[test]
    fn a_lone_surrogate_counts_as_one_replacement_character() {
        for raw in [
            r"a\ud800b",
            r"a\ude42b",
            r"a\ud800\nb",
            r"\ud800\ud83d\ude42",
        ] {
            let (body, text) = literal(raw);
            let decoded = text.decode(&body);
            assert!(decoded.contains('\u{fffd}'), "{raw}");
            assert_eq!(text.chars(&body), decoded.chars().count(), "{raw}");
        }
    }

    #[test]
    fn every_character_boundary_leads_back_to_its_raw_byte() {
        let raw = r"a\u00e9漢\ud83d\ude42\n🙂z\ud800";
        let (body, text) = literal(raw);
        let decoded = text.decode(&body).into_owned();
        let mut map = text.offsets(&body);
        for at in 0..=decoded.len() {
            let found = map.body_offset(at);
            assert_eq!(found.is_some(), decoded.is_char_boundary(at), "offset {at}");
            if let Some(body_at) = found {
                let tail = format!("\"{}\"", &body[body_at as usize..body.len() - 1]);
                let tail_text = Cursor::over(&tail, 1).string().unwrap();
                assert_eq!(tail_text.decode(&tail), decoded[at..]);
            } else {
                map = text.offsets(&body);
            }
        }
        assert_eq!(text.offsets(&body).body_offset(decoded.len() + 1), None);
    }

    #[test]
    fn the_map_goes_forward_only() {
        let (body, text) = literal(r"\n12345");
        let mut map = text.offsets(&body);
        assert!(map.body_offset(3).is_some());
        assert_eq!(map.body_offset(2), None);
    }
}
