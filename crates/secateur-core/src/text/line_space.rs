//! White space and numbers at the ends of lines. A line is bytes of a text, cut between characters.

use crate::text::spelling::Spelling;

const SPACES: u64 = 0x2020_2020_2020_2020;

/// How many spaces a line begins with. Eight bytes a step.
#[inline(always)]
pub(crate) fn leading_spaces(line: &[u8]) -> usize {
    let mut spaces = 0;
    while let Some(word) = line.get(spaces..).and_then(<[u8]>::first_chunk::<8>) {
        let others = u64::from_le_bytes(*word) ^ SPACES;
        if others != 0 {
            return spaces + (others.trailing_zeros() / 8) as usize;
        }
        spaces += 8;
    }
    let rest = line.get(spaces..).unwrap_or_default();
    spaces + rest.iter().take_while(|&&byte| byte == b' ').count()
}

/// How many digits a line begins with, and their number if there is at least one and there are at most nine.
#[inline(always)]
pub(crate) fn leading_digits(line: &[u8]) -> (usize, Option<u32>) {
    if let Some(word) = line.first_chunk::<8>() {
        let values = u64::from_le_bytes(*word) ^ (ONES * u64::from(b'0'));
        // The lowest mark is exact: a carry goes up.
        let others = (values.wrapping_add(ONES * 0x76) | values) & (ONES * 0x80);
        if others != 0 {
            let bits = others.trailing_zeros() & !7;
            // Zeros come before the digits.
            let digits = values.checked_shl(64 - bits);
            return ((bits / 8) as usize, digits.map(eight_digits));
        }
    }
    many_digits(line)
}

#[inline(never)]
fn many_digits(line: &[u8]) -> (usize, Option<u32>) {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let value = |number, digit: &u8| number * 10 + u32::from(digit - b'0');
    let number = matches!(digits, 1..=9).then(|| line[..digits].iter().fold(0, value));
    (digits, number)
}

const ONES: u64 = 0x0101_0101_0101_0101;

/// The number of eight digits, given by their values, the first one lowest: neighbours are joined to numbers of two
/// digits, then of four, then of eight.
#[inline]
fn eight_digits(values: u64) -> u32 {
    let twos = (values.wrapping_mul(10 << 8 | 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (twos.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000 << 32 | 1) >> 32) as u32
}

/// White space of one byte.
#[inline]
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

/// A tab, as it is spelled.
#[inline]
pub(crate) fn tab(spelling: Spelling) -> &'static [u8] {
    match spelling {
        Spelling::Text => b"\t",
        Spelling::Json => b"\\t",
    }
}

/// A line without white space at its end.
pub(crate) fn trim_end(mut line: &[u8], spelling: Spelling) -> &[u8] {
    loop {
        let space = match line.last() {
            Some(&byte) if is_space(byte) => 1,
            Some(b't') if spelling == Spelling::Json && ends_with_tab(line) => 2,
            Some(0x80..) => {
                let continued = line.iter().rev().take_while(|byte| **byte & 0xc0 == 0x80);
                let start = line.len().saturating_sub(continued.count() + 1);
                wide_space(&line[start..])
            }
            _ => 0,
        };
        if space == 0 {
            return line;
        }
        line = &line[..line.len() - space];
    }
}

/// Whether a line that JSON spells, and that ends with a `t`, ends with a tab: the backslash before it is none that
/// is escaped itself.
fn ends_with_tab(line: &[u8]) -> bool {
    let before = line[..line.len() - 1].iter().rev();
    before.take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// A line without white space at its start.
#[inline]
pub(crate) fn trim_start(mut line: &[u8], spelling: Spelling) -> &[u8] {
    loop {
        let space = match line.first() {
            Some(&byte) if is_space(byte) => 1,
            Some(b'\\') if spelling == Spelling::Json && line.starts_with(tab(spelling)) => 2,
            Some(0x80..) => wide_space(line),
            _ => 0,
        };
        if space == 0 {
            return line;
        }
        line = &line[space..];
    }
}

/// How many bytes the first character has, if it is white space beyond ASCII; else 0.
fn wide_space(text: &[u8]) -> usize {
    /// No white space is longer.
    const LONGEST: usize = 3;
    let mut starts = (2..=LONGEST).filter_map(|end| text.get(..end));
    let space = starts.find(|start| {
        let character = std::str::from_utf8(start).ok();
        character.is_some_and(|character| character.chars().all(char::is_whitespace))
    });
    space.map_or(0, <[u8]>::len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use secateur_json::escape_into;

    #[test]
    fn counts_spaces_up_to_the_first_other_byte() {
        for spaces in 0..20 {
            for rest in ["", "x", "\t  ", "x   yyyyyyyyyyy", "\u{a0} "] {
                let line = " ".repeat(spaces) + rest;
                assert_eq!(leading_spaces(line.as_bytes()), spaces, "{line:?}");
            }
        }
    }

    #[test]
    fn numbers_are_read_whatever_follows_them() {
        for digits in 0..14 {
            let number = &"92837465019283"[..digits];
            for behind in [
                "",
                "→",
                "\t",
                "x",
                "/",
                ":",
                "→ code and more",
                "\u{ff}",
                "é12",
            ] {
                let line = format!("{number}{behind}");
                let value = matches!(digits, 1..=9).then(|| number.parse().unwrap());
                assert_eq!(leading_digits(line.as_bytes()), (digits, value), "{line}");
            }
        }
        assert_eq!(leading_digits(b"00012345x"), (8, Some(12345)));
        assert_eq!(leading_digits(b"7xxxxxxxxxxx"), (1, Some(7)));
    }

    /// Pieces of lines.
    const PIECES: [&str; 14] = [
        "a", "t", "n", "\\", "\"", "\t", " ", "\r", "\u{b}", "é", "\u{a0}", "\u{2003}", "\u{85}",
        "🙂",
    ];

    proptest::proptest! {
        #[test]
        fn trims_like_the_standard_library(
            pieces in proptest::collection::vec(0..PIECES.len(), 0..12),
        ) {
            let line: String = pieces.iter().map(|&at| PIECES[at]).collect();
            let trimmed = trim_end(line.as_bytes(), Spelling::Text);
            proptest::prop_assert_eq!(trimmed, line.trim_end().as_bytes());
            let trimmed = trim_start(line.as_bytes(), Spelling::Text);
            proptest::prop_assert_eq!(trimmed, line.trim_start().as_bytes());
            let spelled = |text: &str| {
                let mut spelled = String::new();
                escape_into(text, &mut spelled);
                spelled.into_bytes()
            };
            let line = line.replace(['\r', '\u{b}'], "\t");
            let whole = spelled(&line);
            proptest::prop_assert_eq!(trim_end(&whole, Spelling::Json), spelled(line.trim_end()));
            proptest::prop_assert_eq!(trim_start(&whole, Spelling::Json), spelled(line.trim_start()));
        }
    }
}
