//! Decoding texts line by line, one after the other into the same memory.

use super::JsonStr;
use super::block::{BLOCK, equal};
use super::text::decode_escape;

/// What an escape of two bytes stands for; 0 for all others.
static SHORT: [u8; 256] = {
    let mut short = [0; 256];
    short[b'"' as usize] = b'"';
    short[b'\\' as usize] = b'\\';
    short[b'/' as usize] = b'/';
    short[b'n' as usize] = b'\n';
    short[b'r' as usize] = b'\r';
    short[b't' as usize] = b'\t';
    short
};

/// Memory for decoded texts. Grows to the longest one, and is not cleared in between.
#[derive(Debug, Default)]
pub(crate) struct LineBuffer {
    bytes: Vec<u8>,
    line_ends: Vec<u32>,
}

/// A decoded text, which is UTF-8, and where its lines end (behind their newlines); the last one may end
/// without.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodedLines<'t> {
    pub(crate) bytes: &'t [u8],
    pub(crate) line_ends: &'t [u32],
}

impl LineBuffer {
    /// The text of a literal.
    pub(crate) fn decode<'t>(&'t mut self, text: JsonStr, body: &'t str) -> DecodedLines<'t> {
        let raw = text.raw(body).as_bytes();
        self.line_ends.clear();
        if !text.is_escaped() {
            // A newline would be escaped.
            return DecodedLines {
                bytes: raw,
                line_ends: &self.line_ends,
            };
        }
        // No text is longer than its literal, and whole blocks are written.
        let room = raw.len() + BLOCK;
        if self.bytes.len() < room {
            self.bytes.resize(room, 0);
        }
        let length = unescape(raw, &mut self.bytes, &mut self.line_ends);
        DecodedLines {
            bytes: self.bytes.get(..length).unwrap_or_default(),
            line_ends: &self.line_ends,
        }
    }

    /// A text that was decoded elsewhere.
    pub(crate) fn hold(&mut self, text: String) -> DecodedLines<'_> {
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

/// Returns how many bytes were written. `out` is a block longer than `raw`, which the scanner found valid.
fn unescape(raw: &[u8], out: &mut [u8], line_ends: &mut Vec<u32>) -> usize {
    let (mut from, mut to) = (0, 0);
    while from < raw.len() {
        let block = raw[from..].first_chunk::<BLOCK>();
        let room = out[to..].first_chunk_mut::<BLOCK>();
        if let (Some(block), Some(room)) = (block, room) {
            // Whatever stands behind a backslash is written over.
            *room = *block;
            let plain = before_backslash(block);
            from += plain;
            to += plain;
            if plain == BLOCK {
                continue;
            }
        } else if raw[from] != b'\\' {
            out[to] = raw[from];
            from += 1;
            to += 1;
            continue;
        }
        let short = raw
            .get(from + 1)
            .map_or(0, |&kind| SHORT[usize::from(kind)]);
        let is_newline = if short != 0 {
            out[to] = short;
            from += 2;
            to += 1;
            short == b'\n'
        } else {
            let (character, length) = decode_escape(raw, from);
            from += length;
            to += character.encode_utf8(&mut out[to..]).len();
            character == '\n'
        };
        if is_newline {
            line_ends.push(offset(to));
        }
    }
    to
}

/// How many bytes of a block stand before its first backslash.
#[inline(always)]
fn before_backslash(block: &[u8; BLOCK]) -> usize {
    let (low, high) = block.split_at(BLOCK / 2);
    let marks = |half: &[u8]| {
        let word = half
            .first_chunk::<8>()
            .map_or(0, |word| u64::from_le_bytes(*word));
        equal(word, b'\\')
    };
    match (marks(low), marks(high)) {
        (0, 0) => BLOCK,
        (0, high) => 8 + (high.trailing_zeros() / 8) as usize,
        (low, _) => (low.trailing_zeros() / 8) as usize,
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Cursor;

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
