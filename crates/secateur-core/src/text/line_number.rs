//! The numbers that lines of listings and search hits start with.

use crate::text::line_space::{leading_digits, leading_spaces};
use crate::text::spelling::Spelling;

/// The number of a line in a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    pub(crate) value: u32,
    /// How many spaces precede it.
    pub(crate) spaces: u32,
    pub(crate) digits: u8,
    pub(crate) ended_by: NumberEnd,
}

/// What follows the number of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberEnd {
    /// The line has no number.
    NoNumber,
    /// A tab, as in `cat -n`.
    Tab,
    /// An arrow.
    Arrow,
    /// An arrow that the line can do without: it would look neither numbered nor like a note.
    LooseArrow,
}

impl Number {
    pub(crate) const NONE: Self = Self {
        value: 0,
        spaces: 0,
        digits: 0,
        ended_by: NumberEnd::NoNumber,
    };

    pub(crate) fn is_there(&self) -> bool {
        self.ended_by != NumberEnd::NoNumber
    }
}

/// The arrow that agents put after the number of a line.
pub(crate) const ARROW: &[u8] = "→".as_bytes();

/// What may separate the number of a line from its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    /// A tab, as in `cat -n`.
    Tab,
    /// An arrow, as agents number the lines of a file.
    Arrow,
    /// A colon or a dash, as in the hits of a search.
    Hit,
}

impl Separator {
    /// The separator that a text starts with, and how many bytes it has.
    #[inline(always)]
    pub(crate) fn at_start_of(text: &[u8], spelling: Spelling) -> Option<(Self, usize)> {
        match text {
            [0xe2, 0x86, 0x92, ..] => Some((Self::Arrow, ARROW.len())),
            [b'\\', b't', ..] if spelling == Spelling::Json => Some((Self::Tab, 2)),
            [b'\t', ..] if spelling == Spelling::Text => Some((Self::Tab, 1)),
            [b':' | b'-', ..] => Some((Self::Hit, 1)),
            _ => None,
        }
    }
}

/// The number of a line that JSON spells, which is looked for after `start` spaces, and where the text of the line
/// starts: 0 without a number or an arrow. The number of a search hit is skipped, but the line is not a numbered one.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "a number has at most nine digits, and a body less than 4 GB"
)]
pub(crate) fn leading_number(line: &[u8], start: usize) -> (Number, usize) {
    let (digits, value) = leading_digits(&line[start..]);
    let end = start + digits;
    let (ended_by, length) = match Separator::at_start_of(&line[end..], Spelling::Json) {
        Some((Separator::Arrow, length)) => (NumberEnd::Arrow, length),
        Some((Separator::Tab, length)) if digits > 0 => (NumberEnd::Tab, length),
        Some((Separator::Hit, length)) if digits > 0 => return (Number::NONE, end + length),
        _ => return (Number::NONE, 0),
    };
    let number = value.map_or(Number::NONE, |value| Number {
        value,
        spaces: start as u32,
        digits: digits as u8,
        ended_by,
    });
    (number, end + length)
}

/// The number at the start of a line of a listing or of a search hit, however many digits it has.
pub(crate) fn any_leading_number(line: &[u8], spelling: Spelling) -> Option<u64> {
    let line = &line[leading_spaces(line)..];
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = line.split_at(digits);
    Separator::at_start_of(rest, spelling).filter(|_| !digits.is_empty())?;
    digits.iter().try_fold(0u64, |number, digit| {
        number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
}
