//! The fast way through a string literal: windows of bits instead of bytes.
//!
//! It knows only literals that are as they should be. Whatever else it meets, it gives up, and the slow way
//! in [`super::cursor`] walks the literal again, byte by byte, to say what is wrong and where.

use super::text::Excess;
use super::unescape::hex4;
use super::vector::{Lanes, Task, at_best};
use super::window::{
    WINDOW, Window, continuations, controls, escapes, letters_u, newlines_and_tabs,
    plain_until_quote, rare_escapes,
};

/// Finds the closing quote of the literal whose first byte is at `at`, and what its raw form has beyond the text.
///
/// `None` if the literal is malformed or cut off.
#[inline]
pub(super) fn closing_quote(bytes: &[u8], at: usize) -> Option<(usize, Excess)> {
    // Keys and names end in the first block.
    let first = bytes.get(at..)?.first_chunk();
    if let Some(end) = first.and_then(plain_until_quote) {
        return Some((at + end, Excess::default()));
    }
    let end = at_best(LongLiteral { bytes, at })?;
    Some((end.at, end.excess))
}

/// The same, if a compact writer would spell every escape of the literal as it is.
pub(super) fn closing_quote_of_compact(bytes: &[u8], at: usize) -> Option<(usize, Excess)> {
    let end = at_best(LongLiteral { bytes, at })?;
    (!end.excess.has_others).then_some((end.at, end.excess))
}

/// As on a machine with the narrow lanes only.
#[cfg(test)]
pub(super) fn closing_quote_narrow(bytes: &[u8], at: usize) -> Option<(usize, Excess)> {
    let end = LongLiteral { bytes, at }.run::<super::vector::Lanes16>()?;
    Some((end.at, end.excess))
}

/// The end of a literal.
struct End {
    at: usize,
    excess: Excess,
}

/// The same for a literal of any length.
struct LongLiteral<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Task for LongLiteral<'_> {
    type Done = Option<End>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Self::Done {
        let Self { bytes, mut at } = self;
        let mut literal = Literal::default();
        let mut last = [0; WINDOW];
        loop {
            let rest = bytes.get(at..)?;
            let window = match rest.first_chunk() {
                Some(window) => window,
                None => {
                    // The padding after the end is control characters, so that a literal that goes on is given up.
                    last[..rest.len()].copy_from_slice(rest);
                    &last
                }
            };
            if let Some(end) = literal.window::<L>(bytes, at, window)? {
                return Some(End {
                    at: at + end,
                    excess: literal.excess,
                });
            }
            at += WINDOW;
        }
    }
}

#[derive(Default)]
struct Literal {
    excess: Excess,
    /// 1 if the last byte of the window before was a backslash that escapes.
    carry: u64,
    /// Where the last `\u` escape of a high surrogate ended, if nothing paired it yet.
    high_until: Option<usize>,
}

impl Literal {
    /// The place of the closing quote in this window, if it is here.
    #[inline(always)]
    fn window<L: Lanes>(
        &mut self,
        bytes: &[u8],
        at: usize,
        window: &[u8; WINDOW],
    ) -> Option<Option<usize>> {
        let Window {
            quotes,
            backslashes,
            has_rare,
        } = Window::of::<L>(window);
        let escapes = escapes(backslashes, self.carry);
        let escaped = escapes << 1 | self.carry;
        self.carry = escapes >> 63;
        let ends = quotes & !escaped;
        let inside = !ends & ends.wrapping_sub(1);
        if has_rare {
            if controls::<L>(window) & inside != 0 {
                return None;
            }
            self.excess.chars += (continuations::<L>(window) & inside).count_ones();
        }
        let others = escaped & inside & !(quotes | backslashes | newlines_and_tabs::<L>(window));
        if others != 0 {
            self.excess.has_others = true;
            let numbered = others & !rare_escapes::<L>(window);
            if numbered & !letters_u::<L>(window) != 0 {
                return None;
            }
            self.numbered(bytes, at, numbered)?;
        }
        let count = (escapes & inside).count_ones();
        self.excess.chars += count;
        self.excess.bytes += count;
        Some((ends != 0).then_some(ends.trailing_zeros() as usize))
    }

    /// Escapes by number: one character for one escape, or for two that are a surrogate pair.
    fn numbered(&mut self, bytes: &[u8], at: usize, mut letters: u64) -> Option<()> {
        while letters != 0 {
            let digits = at + letters.trailing_zeros() as usize + 1;
            letters &= letters - 1;
            let unit = hex4(bytes, digits)?;
            // The backslash is counted like any other, as one byte and one character.
            let pairs = self.high_until.take() == Some(digits - 2);
            if pairs && (0xdc00..0xe000).contains(&unit) {
                self.excess.chars += 5;
                self.excess.bytes += 4;
                continue;
            }
            if (0xd800..0xdc00).contains(&unit) {
                self.high_until = Some(digits + 4);
            }
            self.excess.chars += 4;
            self.excess.bytes += match unit {
                0..0x80 => 4,
                0x80..0x800 => 3,
                _ => 2,
            };
        }
        Some(())
    }
}
