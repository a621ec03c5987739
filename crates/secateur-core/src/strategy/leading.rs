//! What lines begin with.

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
}
