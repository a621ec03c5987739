//! Decoding a string literal and finding the way through it, a block of bytes at a time.
//!
//! The raw bytes are those of a literal that the scanner found valid.

use super::step::{STEP, Steps, Unit, Work, do_at_best, do_here};

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

/// Writes the decoded text of `raw` to `out`, where there is room for it, and reports where each line of it ends
/// (after the newline). Returns how many bytes were written.
pub(super) fn unescape(raw: &[u8], out: &mut [u8], line_ends: impl FnMut(usize)) -> usize {
    do_at_best(Unescape {
        raw,
        out,
        line_ends,
    })
}

struct Unescape<'t, F> {
    raw: &'t [u8],
    out: &'t mut [u8],
    line_ends: F,
}

impl<F: FnMut(usize)> Work for Unescape<'_, F> {
    type Done = usize;

    #[inline(always)]
    fn run<S: Steps>(self) -> usize {
        let Self {
            raw,
            out,
            mut line_ends,
        } = self;
        let (mut from, mut to) = (0, 0);
        while from < raw.len() {
            let step = raw[from..].first_chunk::<STEP>();
            let room = out[to..].first_chunk_mut::<STEP>();
            if let (Some(step), Some(room)) = (step, room) {
                // Whatever comes after a backslash is written over.
                *room = *step;
                let plain = S::plain_run(step);
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
}

/// Walks on from a place in a literal, given as raw and decoded offset, to the decoded offset `wanted` or
/// after it, if a character reaches over it; stops at the end of the literal.
pub(super) fn walk(raw: &[u8], at: (usize, usize), wanted: usize) -> (usize, usize) {
    let walk = Walk { raw, at, wanted };
    if wanted.saturating_sub(at.1) <= STEP {
        do_here(walk)
    } else {
        do_at_best(walk)
    }
}

struct Walk<'t> {
    raw: &'t [u8],
    at: (usize, usize),
    wanted: usize,
}

impl Work for Walk<'_> {
    type Done = (usize, usize);

    #[inline(always)]
    fn run<S: Steps>(self) -> (usize, usize) {
        let Self {
            raw,
            mut at,
            wanted,
        } = self;
        while at.1 < wanted && at.0 < raw.len() {
            if wanted - at.1 > STEP {
                let passed = S::stride(&raw[at.0..], Unit::Bytes, wanted - at.1);
                at = (at.0 + passed.raw, at.1 + passed.bytes);
            }
            let until = raw.len().min(at.0 + STEP);
            while at.1 < wanted && at.0 < until {
                at = walk_a_step::<S>(raw, at, wanted - at.1);
            }
        }
        at
    }
}

/// Over what comes before the next escape, and over that, unless `ahead` bytes of text come first.
#[inline(always)]
fn walk_a_step<S: Steps>(raw: &[u8], at: (usize, usize), ahead: usize) -> (usize, usize) {
    let plain = match raw[at.0..].first_chunk::<STEP>() {
        Some(step) => S::plain_run(step).min(ahead),
        None => usize::from(raw[at.0] != b'\\'),
    };
    let at = (at.0 + plain, at.1 + plain);
    if raw.get(at.0) != Some(&b'\\') || plain == ahead {
        return at;
    }
    if short_escape(raw, at.0) != 0 {
        return (at.0 + 2, at.1 + 1);
    }
    let (character, length) = decode_escape(raw, at.0);
    (at.0 + length, at.1 + character.len_utf8())
}

/// The first characters of the decoded text, or all if it has fewer: how many they are, and how many bytes they have.
pub(super) fn first_chars(raw: &str, most: usize) -> (usize, usize) {
    let raw = raw.as_bytes();
    do_at_best(FirstChars { raw, most })
}

struct FirstChars<'t> {
    raw: &'t [u8],
    most: usize,
}

impl Work for FirstChars<'_> {
    type Done = (usize, usize);

    #[inline(always)]
    fn run<S: Steps>(self) -> (usize, usize) {
        let Self { raw, most } = self;
        let (mut from, mut decoded, mut left) = (0, 0, most);
        while left > 0 && from < raw.len() {
            let passed = S::stride(&raw[from..], Unit::Chars, left);
            from += passed.raw;
            decoded += passed.bytes;
            left -= passed.chars();
            let until = raw.len().min(from + STEP);
            while left > 0 && from < until {
                // Where one character is beyond ASCII, the next ones often are.
                if raw[from].is_ascii()
                    && let Some(step) = raw[from..].first_chunk::<STEP>()
                {
                    let plain = S::plain_ascii_run(step).min(left);
                    from += plain;
                    decoded += plain;
                    left -= plain;
                    if plain == STEP || left == 0 {
                        continue;
                    }
                }
                let (length, character) = character_at(raw, from);
                from += length;
                decoded += character;
                left -= 1;
            }
        }
        (most - left, decoded)
    }
}

/// How many raw bytes and how many bytes of text the character at `at` has.
#[inline(always)]
fn character_at(raw: &[u8], at: usize) -> (usize, usize) {
    match raw[at] {
        b'\\' if short_escape(raw, at) != 0 => (2, 1),
        b'\\' => {
            let (character, length) = decode_escape(raw, at);
            (length, character.len_utf8())
        }
        first => (utf8_len(first), utf8_len(first)),
    }
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

/// The character and the raw length of the escape at `raw[at]`, which the scanner found valid.
pub(super) fn decode_escape(raw: &[u8], at: usize) -> (char, usize) {
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
