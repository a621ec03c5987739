//! White space at the ends of lines. A line is bytes of a text, cut between characters.

const SPACES: u64 = 0x2020_2020_2020_2020;

/// How many spaces a line begins with. Eight bytes a step.
#[inline]
pub(super) fn leading_spaces(line: &[u8]) -> usize {
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

/// White space of one byte.
#[inline]
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

/// A line without white space at its end.
#[inline]
pub(super) fn trim_end(line: &[u8]) -> &[u8] {
    let trailing = line.iter().rev().take_while(|byte| is_space(**byte));
    let trimmed = &line[..line.len() - trailing.count()];
    match trimmed.last() {
        Some(0x80..) => text(line).trim_end().as_bytes(),
        _ => trimmed,
    }
}

/// A line without white space at its start, which is known to begin with so many spaces.
#[inline]
pub(super) fn trim_start(line: &[u8], spaces: usize) -> &[u8] {
    let rest = line.get(spaces..).unwrap_or_default();
    let others = rest.iter().take_while(|byte| is_space(**byte)).count();
    match rest.get(others) {
        Some(0x80..) => text(line).trim_start().as_bytes(),
        _ => &rest[others..],
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn trims_like_the_standard_library() {
        for line in [
            "",
            "  ",
            "a",
            "  a b\t ",
            "\u{a0} é \u{a0} ",
            " \t\u{2003}x\u{2003}",
            "\u{b}x\u{c}",
        ] {
            let bytes = line.as_bytes();
            assert_eq!(trim_end(bytes), line.trim_end().as_bytes(), "{line:?}");
            let start = trim_start(bytes, leading_spaces(bytes));
            assert_eq!(start, line.trim_start().as_bytes(), "{line:?}");
        }
    }
}
