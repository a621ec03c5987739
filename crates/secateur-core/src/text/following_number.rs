//! The number that a listing's next line most likely begins with: one more than that of the line above, as wide.
//!
//! **Invariant:** a line is taken only if it begins with exactly these bytes, so the result is the same as that of reading its
//! number.

use crate::text::line_number::Number;

/// As many bytes as are compared. Numbers with more bytes are read.
pub(crate) const REACH: usize = 16;

/// The number expected in front of the next line, as the bytes that would spell it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FollowingNumber {
    /// The bytes up to where the code begins; the other bytes do not count.
    bytes: [u64; 2],
    counts: [u64; 2],
    /// What adding one to the last digit adds to the bytes.
    step: [u64; 2],
    /// How many more numbers follow before another digit than the last one changes.
    left: u32,
    /// How many bytes count.
    length: u32,
    number: Number,
}

impl FollowingNumber {
    /// Nothing is expected: no text has such bytes.
    pub(crate) const NONE: Self = Self {
        bytes: [u64::MAX; 2],
        counts: [u64::MAX; 2],
        step: [0; 2],
        left: 0,
        length: 0,
        number: Number::NONE,
    };

    /// What follows a line that begins with these bytes, the first `length` of them its number and what belongs to it.
    #[inline]
    pub(crate) fn after(start: [u64; 2], number: Number, length: usize) -> Self {
        let last_digit = number.spaces as usize + usize::from(number.digits).wrapping_sub(1);
        let left = 9 - number.value % 10;
        if !number.is_there() || length > REACH || last_digit >= length || left == 0 {
            return Self::NONE;
        }
        let step = words(1 << (last_digit * 8));
        let counts = words(u128::MAX >> ((REACH - length) * 8));
        let byte = |at: usize| (start[at] & counts[at]) + step[at];
        Self {
            bytes: [byte(0), byte(1)],
            counts,
            step,
            left,
            length: u32::try_from(length).unwrap_or(0),
            number: Number {
                value: number.value + 1,
                ..number
            },
        }
    }

    /// The number of a line that begins with these bytes, and where its code begins, if it is the expected one. From
    /// then on the next one is expected.
    #[inline(always)]
    pub(crate) fn take(&mut self, start: [u64; 2]) -> Option<(Number, usize)> {
        let differs = |at: usize| (start[at] ^ self.bytes[at]) & self.counts[at];
        if differs(0) | differs(1) != 0 {
            return None;
        }
        let taken = (self.number, self.length as usize);
        self.left -= 1;
        if self.left == 0 {
            (self.bytes, self.counts) = (Self::NONE.bytes, Self::NONE.counts);
        } else {
            self.bytes[0] += self.step[0];
            self.bytes[1] += self.step[1];
            self.number.value += 1;
        }
        Some(taken)
    }
}

/// The halves of sixteen bytes.
#[expect(clippy::cast_possible_truncation, reason = "the lower half")]
fn words(bytes: u128) -> [u64; 2] {
    [bytes as u64, (bytes >> 64) as u64]
}
