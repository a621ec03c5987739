//! Sixty-four bytes at a time: one bit for each byte that means something in a string literal.
//!
//! Elsewhere than on x86-64 there are no windows: made by arithmetic on words, they were slower than the
//! byte-by-byte way.

use super::vector::{Lanes, Lanes16};

pub(super) use super::vector::WINDOW;

/// Bytes in a short literal's window.
pub(super) const BLOCK: usize = 16;

/// Bit `n` of each mask is about byte `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) quotes: u64,
    pub(super) backslashes: u64,
    /// Whether any byte is a control character or beyond ASCII, which few windows have.
    pub(super) has_rare: bool,
}

impl Window {
    #[inline(always)]
    pub(super) fn of<L: Lanes>(bytes: &[u8; WINDOW]) -> Self {
        Self {
            quotes: L::mask(bytes, |lanes| lanes.equal(b'"')),
            backslashes: backslashes::<L>(bytes),
            has_rare: L::any(bytes, |lanes| lanes.below(0x20)),
        }
    }
}

#[inline(always)]
pub(super) fn backslashes<L: Lanes>(bytes: &[u8; WINDOW]) -> u64 {
    L::mask(bytes, |lanes| lanes.equal(b'\\'))
}

/// Control characters.
#[inline(always)]
pub(super) fn controls<L: Lanes>(bytes: &[u8; WINDOW]) -> u64 {
    L::mask(bytes, |lanes| lanes.at_most(0x1f))
}

/// Bytes beyond ASCII.
#[inline(always)]
pub(super) fn non_ascii<L: Lanes>(bytes: &[u8; WINDOW]) -> u64 {
    L::mask(bytes, |lanes| lanes.below(0))
}

/// Bytes that continue a character of UTF-8.
#[inline(always)]
pub(super) fn continuations<L: Lanes>(bytes: &[u8; WINDOW]) -> u64 {
    L::mask(bytes, |lanes| lanes.below(0xc0))
}

/// The letters of the escapes that are in nearly every text.
#[inline(always)]
pub(super) fn newlines_and_tabs<L: Lanes>(bytes: &[u8; WINDOW]) -> u64 {
    L::mask(bytes, |lanes| lanes.equal(b'n').or(lanes.equal(b't')))
}

/// The letter of an escaped newline.
#[inline(always)]
pub(super) fn letters_n<L: Lanes>(bytes: &[u8; WINDOW]) -> u64 {
    L::mask(bytes, |lanes| lanes.equal(b'n'))
}

/// The letters of the other escapes of two bytes, `"` and `\` aside.
#[inline(always)]
pub(super) fn rare_escapes<L: Lanes>(bytes: &[u8; WINDOW]) -> u64 {
    L::mask(bytes, |lanes| {
        let b_or_f = lanes.without(4).equal(b'b');
        b_or_f.or(lanes.equal(b'r')).or(lanes.equal(b'/'))
    })
}

/// Bytes that are the letter of `\u0000`.
#[inline(always)]
pub(super) fn letters_u<L: Lanes>(bytes: &[u8; WINDOW]) -> u64 {
    L::mask(bytes, |lanes| lanes.equal(b'u'))
}

/// The place of the first quote, if nothing but plain ASCII comes before it.
#[inline(always)]
pub(super) fn plain_until_quote(bytes: &[u8; BLOCK]) -> Option<usize> {
    let lanes = Lanes16::load(bytes);
    let quotes = u32::from(lanes.equal(b'"').bits());
    let others = u32::from(lanes.equal(b'\\').or(lanes.below(0x20)).bits());
    // All bits below the lowest quote.
    let before = quotes ^ quotes.wrapping_sub(1);
    (quotes != 0 && others & before == 0).then_some(quotes.trailing_zeros() as usize)
}

/// Which of these backslashes escape something; what each escapes is the byte after it. `carry` is 1 if the last
/// byte of the window before escapes the first one of this.
///
/// In a run of backslashes every second one escapes, from its first on: at even places in runs that start at
/// an even place, at odd places in the others. Adding its first bit to a run turns all of it to zero, which
/// distinguishes the two kinds of runs.
#[inline(always)]
pub(super) fn escapes(backslashes: u64, carry: u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    // A first byte that is escaped begins no run.
    let runs = backslashes & !carry;
    let starts = runs & !(runs << 1);
    let odd_runs = runs & runs.wrapping_add(starts & EVEN);
    let even_runs = runs & !odd_runs;
    even_runs & EVEN | odd_runs & !EVEN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::{Task, at_best};

    /// Every byte in every lane, with neighbours of every kind.
    #[test]
    fn exactly_the_bytes_that_mean_something_are_marked() {
        struct Compared;
        impl Task for Compared {
            type Done = ();
            #[inline(always)]
            fn run<L: Lanes>(self) {
                compare::<L>();
            }
        }
        compare::<Lanes16>();
        at_best(Compared);
    }

    fn compare<L: Lanes>() {
        for byte in 0..=255u8 {
            for at in 0..WINDOW {
                for filler in [0x00, 0x1f, 0x20, b'"', b'\\', b'u', 0x7f, 0x80, 0xff] {
                    let mut bytes = [filler; WINDOW];
                    bytes[at] = byte;
                    let expected = |is: fn(u8) -> bool| {
                        let marked = bytes.iter().enumerate().filter(|&(_, &byte)| is(byte));
                        marked.fold(0u64, |bits, (place, _)| bits | 1 << place)
                    };
                    let window = Window {
                        quotes: expected(|byte| byte == b'"'),
                        backslashes: expected(|byte| byte == b'\\'),
                        has_rare: expected(|byte| !(0x20..0x80).contains(&byte)) != 0,
                    };
                    assert_eq!(Window::of::<L>(&bytes), window);
                    assert_eq!(controls::<L>(&bytes), expected(|byte| byte < 0x20));
                    assert_eq!(non_ascii::<L>(&bytes), expected(|byte| byte > 0x7f));
                    let continued = expected(|byte| byte & 0xc0 == 0x80);
                    assert_eq!(continuations::<L>(&bytes), continued);
                    let frequent = expected(|byte| b"nt".contains(&byte));
                    assert_eq!(newlines_and_tabs::<L>(&bytes), frequent);
                    let rare = expected(|byte| b"bfr/".contains(&byte));
                    assert_eq!(rare_escapes::<L>(&bytes), rare);
                    assert_eq!(letters_n::<L>(&bytes), expected(|byte| byte == b'n'));
                    assert_eq!(letters_u::<L>(&bytes), expected(|byte| byte == b'u'));
                }
            }
        }
    }

    #[test]
    fn a_short_plain_literal_ends_at_its_quote() {
        let end = |text: &str| {
            let mut block = [b' '; BLOCK];
            block[..text.len()].copy_from_slice(text.as_bytes());
            plain_until_quote(&block)
        };
        assert_eq!(end("\""), Some(0));
        assert_eq!(end("content\": 1, \"\\"), Some(7));
        assert_eq!(end("fifteen letters\""), Some(15));
        for text in ["", "no end", "a\\\"b\"", "caf\u{e9}\"", "\u{7}\"", "\\n\""] {
            assert_eq!(end(text), None, "{text:?}");
        }
    }
}
