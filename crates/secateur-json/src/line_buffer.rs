//! Decoding texts line by line, one after the other into the same memory.

use super::JsonStr;
use super::unescape::{make_room, unescape};

/// Memory for decoded texts. Grows to the longest one, and is not cleared in between.
#[derive(Debug, Default)]
pub struct LineBuffer {
    bytes: Vec<u8>,
    line_ends: Vec<u32>,
}

/// A decoded text, which is UTF-8, and where its lines end (after their newlines); the last one may end
/// without.
#[derive(Clone, Copy, Debug)]
pub struct DecodedLines<'t> {
    /// The text.
    pub bytes: &'t [u8],
    /// Where its lines end.
    pub line_ends: &'t [u32],
}

impl LineBuffer {
    /// The text of a literal.
    pub fn decode<'t>(&'t mut self, text: JsonStr, body: &'t str) -> DecodedLines<'t> {
        let raw = text.raw(body).as_bytes();
        self.line_ends.clear();
        if !text.is_escaped() {
            // A newline would be escaped.
            return DecodedLines {
                bytes: raw,
                line_ends: &self.line_ends,
            };
        }
        make_room(&mut self.bytes, raw.len());
        let line_ends = &mut self.line_ends;
        let length = unescape(raw, &mut self.bytes, |end| line_ends.push(offset(end)));
        DecodedLines {
            bytes: self.bytes.get(..length).unwrap_or_default(),
            line_ends: &self.line_ends,
        }
    }

    /// A text that was decoded elsewhere.
    pub fn hold(&mut self, text: String) -> DecodedLines<'_> {
        self.bytes = text.into_bytes();
        self.line_ends.clear();
        let ends = memchr::memchr_iter(b'\n', &self.bytes).map(|at| offset(at + 1));
        self.line_ends.extend(ends);
        DecodedLines {
            bytes: &self.bytes,
            line_ends: &self.line_ends,
        }
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cursor;

    #[test]
    fn decodes_like_the_literal_itself_and_finds_every_line() {
        let mut buffer = LineBuffer::default();
        let escapes = [
            "\\n",
            "\\\"",
            "\\\\",
            "\\u000a",
            "\\u00e9",
            "\\ud83d\\ude42",
            "\\/",
            "\\b",
        ];
        for escape in escapes {
            for before in 0..40 {
                let filler = "é".repeat(before / 2) + &"x".repeat(before % 2);
                let body = format!("\"{filler}{escape}{escape}plain\\n{filler}\"");
                let text = Cursor::over(&body, 4).string().unwrap();
                let expected = text.decode(&body).into_owned();
                let decoded = buffer.decode(text, &body);
                assert_eq!(decoded.bytes, expected.as_bytes(), "{body}");
                let ends = expected.match_indices('\n').map(|(at, _)| offset(at + 1));
                assert_eq!(decoded.line_ends, ends.collect::<Vec<_>>(), "{body}");
                let held = LineBuffer::default()
                    .hold(expected.clone())
                    .line_ends
                    .to_vec();
                assert_eq!(held, decoded.line_ends);
            }
        }
        let plain = Cursor::over("\"plain\"", 4).string().unwrap();
        assert_eq!(buffer.decode(plain, "\"plain\"").bytes, b"plain");
        assert!(buffer.decode(plain, "\"plain\"").line_ends.is_empty());
    }
}
