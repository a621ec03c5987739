//! Decoding a string literal and finding the way through it, a block of bytes at a time.
//!
//! The raw bytes are those of a literal that the scanner found valid.

use super::step::{STEP, plain_ascii_run, plain_run};
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

/// The first characters of the decoded text, or all if it has fewer: how many they are, and how many bytes they have.
pub(super) fn first_chars(raw: &str, most: usize) -> (usize, usize) {
    let bytes = raw.as_bytes();
    let (mut from, mut decoded, mut left) = (0, 0, most);
    while left > 0 && from < bytes.len() {
        if let Some(step) = bytes[from..].first_chunk::<STEP>() {
            let plain = plain_ascii_run(step).min(left);
            from += plain;
            decoded += plain;
            left -= plain;
            if plain == STEP || left == 0 {
                continue;
            }
        }
        let (length, character) = match bytes[from] {
            b'\\' if short_escape(bytes, from) != 0 => (2, 1),
            b'\\' => {
                let (character, length) = decode_escape(bytes, from);
                (length, character.len_utf8())
            }
            0..0x80 => (1, 1),
            _ => {
                // Where one character is beyond ASCII, the next ones often are.
                while left > 1
                    && bytes
                        .get(from + utf8_len(bytes[from]))
                        .is_some_and(|byte| *byte >= 0x80)
                {
                    decoded += utf8_len(bytes[from]);
                    from += utf8_len(bytes[from]);
                    left -= 1;
                }
                (utf8_len(bytes[from]), utf8_len(bytes[from]))
            }
        };
        from += length;
        decoded += character;
        left -= 1;
    }
    (most - left, decoded)
}

/// How many bytes a character has, by its first.
#[inline(always)]
fn utf8_len(first: u8) -> usize {
    match first {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
    }
}
