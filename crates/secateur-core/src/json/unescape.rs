//! Decoding a string literal and finding the way through it, a block of bytes at a time.
//!
//! The raw bytes are those of a literal that the scanner found valid.

use super::block::{BLOCK, Block, equal, first};
use super::strings::count_chars;
use super::text::decode_escape;

/// What an escape of two bytes stands for; 0 for all others.
static SIMPLE: [u8; 256] = {
    let mut simple = [0; 256];
    simple[b'"' as usize] = b'"';
    simple[b'\\' as usize] = b'\\';
    simple[b'/' as usize] = b'/';
    simple[b'b' as usize] = 0x08;
    simple[b'f' as usize] = 0x0c;
    simple[b'n' as usize] = b'\n';
    simple[b'r' as usize] = b'\r';
    simple[b't' as usize] = b'\t';
    simple
};

/// Puts the decoded text of `raw` into `out`, which is emptied first, and tells where each line of it ends
/// (behind the newline).
pub(crate) fn unescape(raw: &str, out: &mut Vec<u8>, mut line_ends: impl FnMut(usize)) {
    let raw = raw.as_bytes();
    out.clear();
    // No text is longer than its literal.
    out.resize(raw.len(), 0);
    let (mut from, mut to) = (0, 0);
    while from < raw.len() {
        // Escapes stand close in code, so that a word is looked at and not a block.
        let word = raw[from..].first_chunk::<8>();
        let room = out[to..].first_chunk_mut::<8>();
        if let (Some(word), Some(room)) = (word, room) {
            // Whatever stands behind a backslash is written over.
            *room = *word;
            let marks = equal(u64::from_le_bytes(*word), b'\\');
            if marks == 0 {
                from += 8;
                to += 8;
                continue;
            }
            let plain = (marks.trailing_zeros() / 8) as usize;
            from += plain;
            to += plain;
        } else if raw[from] != b'\\' {
            out[to] = raw[from];
            from += 1;
            to += 1;
            continue;
        }
        let simple = raw
            .get(from + 1)
            .map_or(0, |&kind| SIMPLE[usize::from(kind)]);
        if simple != 0 {
            out[to] = simple;
            from += 2;
            to += 1;
            if simple == b'\n' {
                line_ends(to);
            }
        } else {
            let (character, length) = decode_escape(raw, from);
            from += length;
            to += character.encode_utf8(&mut out[to..]).len();
            if character == '\n' {
                line_ends(to);
            }
        }
    }
    out.truncate(to);
}

/// Walks on from a place in a literal, given as raw and decoded offset, to the decoded offset `wanted` or
/// behind it, if a character reaches over it; stops at the end of the literal.
#[inline]
pub(super) fn walk(raw: &[u8], mut at: (usize, usize), wanted: usize) -> (usize, usize) {
    while at.1 < wanted && at.0 < raw.len() {
        let ahead = wanted - at.1;
        match Block::at(raw, at.0) {
            Some(block) => {
                let plain = first(block.backslashes()).unwrap_or(BLOCK).min(ahead);
                at = (at.0 + plain, at.1 + plain);
                if plain == BLOCK || plain == ahead {
                    continue;
                }
            }
            None if raw[at.0] != b'\\' => {
                at = (at.0 + 1, at.1 + 1);
                continue;
            }
            None => {}
        }
        let (character, length) = decode_escape(raw, at.0);
        at = (at.0 + length, at.1 + character.len_utf8());
    }
    at
}

/// Characters and bytes of the decoded text.
pub(super) fn measure(raw: &str) -> (usize, usize) {
    let bytes = raw.as_bytes();
    let (mut from, mut decoded_chars, mut decoded_bytes) = (0, 0, 0);
    while from < bytes.len() {
        let end = memchr::memchr(b'\\', &bytes[from..]).map_or(bytes.len(), |at| from + at);
        decoded_chars += count_chars(&bytes[from..end]);
        decoded_bytes += end - from;
        from = end;
        if from < bytes.len() {
            let (character, length) = decode_escape(bytes, from);
            decoded_chars += 1;
            decoded_bytes += character.len_utf8();
            from += length;
        }
    }
    (decoded_chars, decoded_bytes)
}

/// How many bytes the first `chars` characters of the decoded text have, or all if it has fewer.
pub(super) fn bytes_of_chars(raw: &str, chars: usize) -> usize {
    let bytes = raw.as_bytes();
    let (mut from, mut to, mut left) = (0, 0, chars);
    while left > 0 && from < bytes.len() {
        if let Some(block) = Block::at(bytes, from) {
            let looked_at = first(block.backslashes() | block.non_ascii());
            let plain = looked_at.unwrap_or(BLOCK).min(left);
            from += plain;
            to += plain;
            left -= plain;
            if plain == BLOCK || left == 0 {
                continue;
            }
        }
        let (length, decoded) = match bytes[from] {
            b'\\' => {
                let (character, length) = decode_escape(bytes, from);
                (length, character.len_utf8())
            }
            0..0x80 => (1, 1),
            0x80..0xe0 => (2, 2),
            0xe0..0xf0 => (3, 3),
            0xf0.. => (4, 4),
        };
        from += length;
        to += decoded;
        left -= 1;
    }
    to
}
