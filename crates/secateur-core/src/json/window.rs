//! Sixty-four bytes at a time: one bit for each byte that means something in a string literal.
//!
//! The bits come from SSE2, which every x86-64 has. Elsewhere there are no windows: made by arithmetic on words,
//! they were slower than the byte-by-byte way.

/// Bytes in a window.
pub(super) const WINDOW: usize = 64;

/// Bytes that the machine looks at in one step.
pub(super) const BLOCK: usize = 16;

/// Bit `n` of each mask speaks of byte `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) quotes: u64,
    pub(super) backslashes: u64,
    /// Whether any byte is a control character or beyond ASCII, which few windows have.
    pub(super) has_rare: bool,
}

impl Window {
    #[inline(always)]
    pub(super) fn of(bytes: &[u8; WINDOW]) -> Self {
        Self {
            quotes: mask(bytes, |lanes| lanes.equal(b'"')),
            backslashes: backslashes(bytes),
            has_rare: blocks(bytes)
                .iter()
                .map(|block| Lanes::load(block).below(0x20))
                .reduce(Lanes::or)
                .is_some_and(|marks| marks.bits() != 0),
        }
    }
}

#[inline(always)]
pub(super) fn backslashes(bytes: &[u8; WINDOW]) -> u64 {
    mask(bytes, |lanes| lanes.equal(b'\\'))
}

/// Control characters.
#[inline(always)]
pub(super) fn controls(bytes: &[u8; WINDOW]) -> u64 {
    mask(bytes, |lanes| lanes.at_most(0x1f))
}

/// Bytes beyond ASCII.
#[inline(always)]
pub(super) fn non_ascii(bytes: &[u8; WINDOW]) -> u64 {
    mask(bytes, |lanes| lanes.below(0))
}

/// Bytes that continue a character of UTF-8.
#[inline(always)]
pub(super) fn continuations(bytes: &[u8; WINDOW]) -> u64 {
    mask(bytes, |lanes| lanes.below(0xc0))
}

/// The letters of the escapes that are in nearly every text.
#[inline(always)]
pub(super) fn newlines_and_tabs(bytes: &[u8; WINDOW]) -> u64 {
    mask(bytes, |lanes| lanes.equal(b'n').or(lanes.equal(b't')))
}

/// The letters of the other escapes of two bytes, `"` and `\` aside.
#[inline(always)]
pub(super) fn rare_escapes(bytes: &[u8; WINDOW]) -> u64 {
    mask(bytes, |lanes| {
        let b_or_f = lanes.without(4).equal(b'b');
        b_or_f.or(lanes.equal(b'r')).or(lanes.equal(b'/'))
    })
}

/// Bytes that are the letter of `\u0000`.
#[inline(always)]
pub(super) fn letters_u(bytes: &[u8; WINDOW]) -> u64 {
    mask(bytes, |lanes| lanes.equal(b'u'))
}

/// The place of the first quote, if nothing but plain ASCII stands before it.
#[inline(always)]
pub(super) fn plain_until_quote(bytes: &[u8; BLOCK]) -> Option<usize> {
    let lanes = Lanes::load(bytes);
    let quotes = u32::from(lanes.equal(b'"').bits());
    let others = u32::from(lanes.equal(b'\\').or(lanes.below(0x20)).bits());
    // All bits below the lowest quote.
    let before = quotes ^ quotes.wrapping_sub(1);
    (quotes != 0 && others & before == 0).then_some(quotes.trailing_zeros() as usize)
}

#[inline(always)]
fn mask(bytes: &[u8; WINDOW], marks: impl Fn(Lanes) -> Lanes) -> u64 {
    let blocks = blocks(bytes).iter().enumerate();
    blocks.fold(0, |mask, (index, block)| {
        mask | u64::from(marks(Lanes::load(block)).bits()) << (BLOCK * index)
    })
}

#[inline(always)]
fn blocks(bytes: &[u8; WINDOW]) -> &[[u8; BLOCK]] {
    bytes.as_chunks().0
}

use vector::Lanes;

#[expect(
    unsafe_code,
    reason = "the compiler offers no movemask to safe code; measured in benches/engine.rs, fuzzed in scanner"
)]
mod vector {
    use core::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_min_epu8, _mm_movemask_epi8,
        _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    };

    /// Sixteen bytes, or their marks: all bits of a marked byte are set.
    #[derive(Clone, Copy)]
    pub(super) struct Lanes(__m128i);

    /// These instructions touch registers only.
    macro_rules! sse2 {
        ($call:expr) => {
            // SAFETY: the one condition is that the machine has SSE2, which belongs to x86-64.
            unsafe { $call }
        };
    }

    impl Lanes {
        #[inline(always)]
        pub(super) fn load(bytes: &[u8; 16]) -> Self {
            // One load for the compiler.
            let word = u128::from_le_bytes(*bytes);
            Self(sse2!(_mm_set_epi64x((word >> 64) as i64, word as i64)))
        }

        #[inline(always)]
        pub(super) fn equal(self, byte: u8) -> Self {
            Self(sse2!(_mm_cmpeq_epi8(self.0, all(byte))))
        }

        #[inline(always)]
        pub(super) fn at_most(self, byte: u8) -> Self {
            let least = sse2!(_mm_min_epu8(self.0, all(byte)));
            Self(sse2!(_mm_cmpeq_epi8(least, self.0)))
        }

        /// Bytes that, read as signed numbers, are below this one: all beyond ASCII are below zero.
        #[inline(always)]
        pub(super) fn below(self, byte: u8) -> Self {
            Self(sse2!(_mm_cmplt_epi8(self.0, all(byte))))
        }

        /// The bytes with these bits cleared.
        #[inline(always)]
        pub(super) fn without(self, bits: u8) -> Self {
            Self(sse2!(_mm_and_si128(self.0, all(!bits))))
        }

        #[inline(always)]
        pub(super) fn or(self, other: Self) -> Self {
            Self(sse2!(_mm_or_si128(self.0, other.0)))
        }

        #[inline(always)]
        pub(super) fn bits(self) -> u16 {
            sse2!(_mm_movemask_epi8(self.0)) as u16
        }
    }

    #[inline(always)]
    fn all(byte: u8) -> __m128i {
        sse2!(_mm_set1_epi8(byte.cast_signed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte in every lane, with neighbours of every kind.
    #[test]
    fn exactly_the_bytes_that_mean_something_are_marked() {
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
                    assert_eq!(Window::of(&bytes), window);
                    assert_eq!(controls(&bytes), expected(|byte| byte < 0x20));
                    assert_eq!(non_ascii(&bytes), expected(|byte| byte > 0x7f));
                    let continued = expected(|byte| byte & 0xc0 == 0x80);
                    assert_eq!(continuations(&bytes), continued);
                    let frequent = expected(|byte| b"nt".contains(&byte));
                    assert_eq!(newlines_and_tabs(&bytes), frequent);
                    let rare = expected(|byte| b"bfr/".contains(&byte));
                    assert_eq!(rare_escapes(&bytes), rare);
                    assert_eq!(letters_u(&bytes), expected(|byte| byte == b'u'));
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
