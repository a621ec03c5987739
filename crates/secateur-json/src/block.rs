//! Sixteen bytes at a time: where the bytes are that need handling.
//!
//! Each question is answered by a mask with one bit for each byte. **Invariant:** its lowest bit is exact;
//! bits above it may be missing or too many, so only the lowest is used.

/// Bytes in a block.
pub(super) const BLOCK: usize = 16;

/// The place of the first byte that a mask marks.
#[inline(always)]
pub(super) fn first(mask: u32) -> Option<usize> {
    (mask != 0).then_some(mask.trailing_zeros() as usize)
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

#[derive(Clone, Copy)]
pub(super) struct Block(u64, u64);

impl Block {
    #[inline(always)]
    pub(super) fn at(bytes: &[u8], at: usize) -> Option<Self> {
        let (low, high) = halves(bytes, at)?;
        Some(Self(u64::from_le_bytes(*low), u64::from_le_bytes(*high)))
    }

    /// `"`, `\` and control characters.
    #[inline(always)]
    pub(super) fn specials(self) -> u32 {
        self.mask(|word| {
            let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
            equal(word, b'"') | equal(word, b'\\') | control
        })
    }

    #[cfg(any(test, not(all(target_arch = "x86_64", not(feature = "portable")))))]
    #[inline(always)]
    pub(super) fn backslashes(self) -> u32 {
        self.mask(|word| equal(word, b'\\'))
    }

    /// Bytes beyond ASCII.
    #[cfg(any(test, not(all(target_arch = "x86_64", not(feature = "portable")))))]
    #[inline(always)]
    pub(super) fn non_ascii(self) -> u32 {
        self.mask(|word| word & HIGHS)
    }

    /// A borrow can only mark bytes above a true one, so the lowest mark is exact.
    #[inline(always)]
    fn mask(self, marks: impl Fn(u64) -> u64) -> u32 {
        match (marks(self.0), marks(self.1)) {
            (0, 0) => 0,
            (0, high) => 1 << (8 + high.trailing_zeros() / 8),
            (low, _) => 1 << (low.trailing_zeros() / 8),
        }
    }
}

#[inline(always)]
fn equal(word: u64, byte: u8) -> u64 {
    let zeros = word ^ (ONES * byte as u64);
    zeros.wrapping_sub(ONES) & !zeros & HIGHS
}

/// The two halves of the block at `at`.
#[inline(always)]
fn halves(bytes: &[u8], at: usize) -> Option<(&[u8; 8], &[u8; 8])> {
    let block = bytes.get(at..)?.first_chunk::<BLOCK>()?;
    Some((block.first_chunk()?, block.last_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_that_needs_handling_is_found_whatever_surrounds_it() {
        let plain = [0x20, b'!', b'#', b'[', b']', 0x7f, 0x80, 0xa2, 0xdc, 0xff];
        for filler in plain {
            for marked in 0..=255 {
                for at in 0..BLOCK {
                    let mut bytes = [filler; BLOCK];
                    bytes[at] = marked;
                    bytes[(at + 3) % BLOCK] = b'"';
                    let block = Block::at(&bytes, 0).unwrap();
                    let position = |is: fn(&u8) -> bool| bytes.iter().position(is);
                    let special = position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20);
                    assert_eq!(first(block.specials()), special, "{bytes:?}");
                    let backslash = position(|&byte| byte == b'\\');
                    assert_eq!(first(block.backslashes()), backslash, "{bytes:?}");
                    assert_eq!(first(block.non_ascii()), position(|byte| !byte.is_ascii()));
                }
            }
        }
        assert!(Block::at(&[0; 20], 5).is_none());
    }
}
