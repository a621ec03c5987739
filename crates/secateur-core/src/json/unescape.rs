//! Decoding a string literal and finding the way through it, a block of bytes at a time.
//!
//! The raw bytes are those of a literal that the scanner found valid.

use super::block::{BLOCK, Block, first};
use super::step::{STEP, plain_run};
use super::strings::count_chars;
use super::text::decode_escape;

/// What an escape of two bytes stands for; 0 for all others.
static SHORT: [u8; 256] = {
    let mut short = [0; 256];
    short[b'"' as usize] = b'"';
    short[b'\\' as usize] = b'\\';
    short[b'/' as usize] = b'/';
    short[b'b' as usize] = 0x08;
    short[b'f' as usize] = 0x0c;
    short[b'n' as usize] = b'\n';
    short[b'r' as usize] = b'\r';
    short[b't' as usize] = b'\t';
    short
};

/// The byte that a backslash at `at` and its letter stand for; 0 if they stand for more, or for none.
#[inline(always)]
fn short_escape(raw: &[u8], at: usize) -> u8 {
    raw.get(at + 1).map_or(0, |&kind| SHORT[usize::from(kind)])
}

/// Makes `out` long enough for the decoded text of a literal with so many bytes: no text is longer than its
/// literal, and whole steps are written.
pub(super) fn make_room(out: &mut Vec<u8>, raw_len: usize) {
    if out.len() < raw_len + STEP {
        out.resize(raw_len + STEP, 0);
    }
}

/// Writes the decoded text of `raw` to `out`, where there is room for it, and tells where each line of it ends
/// (behind the newline). Returns how many bytes were written.
pub(super) fn unescape(raw: &[u8], out: &mut [u8], mut line_ends: impl FnMut(usize)) -> usize {
    let (mut from, mut to) = (0, 0);
    while from < raw.len() {
        let step = raw[from..].first_chunk::<STEP>();
        let room = out[to..].first_chunk_mut::<STEP>();
        if let (Some(step), Some(room)) = (step, room) {
            // Whatever stands behind a backslash is written over.
            *room = *step;
            let plain = plain_run(step);
            from += plain;
            to += plain;
            if plain == STEP {
                continue;
            }
        } else if raw[from] != b'\\' {
            out[to] = raw[from];
            from += 1;
            to += 1;
            continue;
        }
        let short = short_escape(raw, from);
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
            line_ends(to);
        }
    }
    to
}

/// Walks on from a place in a literal, given as raw and decoded offset, to the decoded offset `wanted` or
/// behind it, if a character reaches over it; stops at the end of the literal.
#[inline]
pub(super) fn walk(raw: &[u8], mut at: (usize, usize), wanted: usize) -> (usize, usize) {
    while at.1 < wanted && at.0 < raw.len() {
        let ahead = wanted - at.1;
        match raw[at.0..].first_chunk::<STEP>() {
            Some(step) => {
                let plain = plain_run(step).min(ahead);
                at = (at.0 + plain, at.1 + plain);
                if plain == STEP || plain == ahead {
                    continue;
                }
            }
            None if raw[at.0] != b'\\' => {
                at = (at.0 + 1, at.1 + 1);
                continue;
            }
            None => {}
        }
        if short_escape(raw, at.0) != 0 {
            at = (at.0 + 2, at.1 + 1);
            continue;
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
