//! The inner loop of the scanner: to the next byte of a string that needs a look.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Marks the bytes of `word` that are `"`, `\` or a control character.
///
/// Exact for the lowest marked byte, which is the only one used: a borrow can only mark bytes above
/// a true one.
#[inline(always)]
fn special_bytes(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let is_quote = quote.wrapping_sub(ONES) & !quote;
    let is_backslash = backslash.wrapping_sub(ONES) & !backslash;
    let is_control = word.wrapping_sub(ONES * 0x20) & !word;
    (is_quote | is_backslash | is_control) & HIGHS
}

/// The offset of the first `"`, `\` or control character at or after `at`, or the end of `bytes`.
#[inline(always)]
pub(super) fn next_special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..at + 8) {
        let Ok(chunk) = <[u8; 8]>::try_from(chunk) else {
            break;
        };
        let marks = special_bytes(u64::from_le_bytes(chunk));
        if marks != 0 {
            return at + (marks.trailing_zeros() / 8) as usize;
        }
        at += 8;
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
pub(crate) fn count_chars(bytes: &[u8]) -> usize {
    // Sums of at most 255 ones fit a byte lane, which lets the compiler use vector registers.
    bytes
        .chunks(192)
        .map(|block| {
            block
                .iter()
                .map(|&byte| u8::from(byte & 0xc0 != 0x80))
                .fold(0u8, u8::wrapping_add) as usize
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_special_byte_wherever_it_stands() {
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
