//! The inner loop of the scanner: to the next byte of a string that needs handling.

use super::block::{BLOCK, Block, first};
use super::step::{Steps, Work, do_at_best};

/// The offset of the first `"`, `\` or control character at or after `at`, or the end of `bytes`.
#[inline(always)]
pub fn next_special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(block) = Block::at(bytes, at) {
        if let Some(special) = first(block.specials()) {
            return at + special;
        }
        at += BLOCK;
    }
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            return at;
        }
        at += 1;
    }
    at
}

/// The offset of the first byte at or after `at` that is not JSON white space.
#[inline(always)]
pub(super) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// How many characters start in `bytes` (UTF-8 bytes that are not continuations).
#[must_use]
pub fn count_chars(bytes: &[u8]) -> usize {
    do_at_best(CountChars(bytes))
}

struct CountChars<'b>(&'b [u8]);

impl Work for CountChars<'_> {
    type Done = usize;

    #[inline(always)]
    fn run<S: Steps>(self) -> usize {
        // Sums of at most 255 ones fit a byte lane, which lets the compiler use vector registers.
        let (blocks, rest) = self.0.as_chunks::<192>();
        let starts = |sum: u8, byte: &u8| sum.wrapping_add(u8::from(byte & 0xc0 != 0x80));
        let whole = blocks
            .iter()
            .map(|block| usize::from(block.iter().fold(0, starts)));
        whole.sum::<usize>() + usize::from(rest.iter().fold(0, starts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_special_byte_wherever_it_is() {
        for special in [b'"', b'\\', 0x00, 0x1f, b'\n'] {
            for at in 0..40 {
                let mut bytes = vec![b'a'; 40];
                bytes[at] = special;
                assert_eq!(next_special(&bytes, 0), at, "{special} at {at}");
            }
        }
        for plain in [0x20, b'!', b'#', b'[', b']', 0x7f, 0x80, 0xa2, 0xdc, 0xff] {
            assert_eq!(next_special(&[plain; 40], 0), 40, "{plain}");
        }
    }

    #[test]
    fn counts_characters_like_the_standard_library() {
        let text = "aé漢🙂\n".repeat(301);
        assert_eq!(count_chars(text.as_bytes()), text.chars().count());
        assert_eq!(count_chars(b""), 0);
    }
}
