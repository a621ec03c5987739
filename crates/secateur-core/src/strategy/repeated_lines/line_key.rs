//! What a line is recognised by: a hash of its content.

use crate::hash::line_hash;
use crate::strategy::line_space::{leading_spaces, trim_end, trim_start};

/// A line's content, without its number and trailing white space, as a hash. The
/// lowest bit tells whether the line is long enough to say something: short lines (`}`) are no place to start a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LineKey(u64);

const SHORTEST_ANCHOR: usize = 8;

impl LineKey {
    /// A line that is not there any more. Like no other line.
    pub(crate) const GONE: Self = Self(0);

    /// The key of a line, which is text.
    #[inline]
    pub(crate) fn of(line: &[u8]) -> Self {
        let spaces = leading_spaces(line);
        let (code, spaces) = match line.get(spaces) {
            Some(b'0'..=b'9' | 0xe2) => {
                let code = &line[behind_number(line, spaces)..];
                (code, leading_spaces(code))
            }
            _ => (line, spaces),
        };
        let content = trim_end(code);
        let is_anchor = trim_start(content, spaces).len() >= SHORTEST_ANCHOR;
        // The second lowest bit keeps it apart from a line that is gone.
        Self(line_hash(content) & !1 | 2 | u64::from(is_anchor))
    }

    pub(crate) fn is_anchor(self) -> bool {
        self.0 & 1 == 1
    }

    /// A part of the key that tells most lines apart.
    pub(crate) fn mark(self) -> u8 {
        self.0.to_le_bytes()[1]
    }

    /// A part of the key that tells lines of one slot apart.
    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    pub(crate) fn tag(self) -> u32 {
        self.0 as u32
    }

    /// A number below 2 to the power of `bits`, which is at most 32.
    pub(crate) fn slot(self, bits: u32) -> usize {
        (self.0 >> 32) as usize & ((1 << bits) - 1)
    }
}

/// Where a line goes on behind the number of a listing or of a search hit that may begin here.
fn behind_number(line: &[u8], start: usize) -> usize {
    let rest = &line[start..];
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match rest.get(digits) {
        Some(0xe2) if rest[digits..].starts_with("→".as_bytes()) => start + digits + "→".len(),
        Some(b'\t' | b':' | b'-') if digits > 0 => start + digits + 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(line: &str) -> LineKey {
        LineKey::of(line.as_bytes())
    }

    #[test]
    fn numbers_and_trailing_space_do_not_count_and_indentation_does() {
        let key = key_of("    let a = b;");
        for same in [
            "  12→    let a = b;  ",
            "12\t    let a = b;",
            "7:    let a = b;\r",
            "9-    let a = b;",
        ] {
            assert_eq!(key_of(same), key, "{same}");
        }
        for other in ["  let a = b;", "    let a = c;", "x7:    let a = b;"] {
            assert_ne!(key_of(other), key, "{other}");
        }
    }

    #[test]
    fn only_lines_that_say_something_are_anchors() {
        assert!(key_of("   return 1").is_anchor());
        assert!(!key_of("        }").is_anchor());
        assert!(!key_of("\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}}").is_anchor());
        assert_ne!(key_of(""), LineKey::GONE);
    }

    #[test]
    fn lines_that_differ_in_one_byte_have_different_keys() {
        for length in 1..70 {
            let line = "x".repeat(length);
            for at in 0..length {
                let mut other = line.clone();
                other.replace_range(at..=at, "y");
                assert_ne!(key_of(&line), key_of(&other), "{length} {at}");
            }
            assert_ne!(key_of(&line), key_of(&"x".repeat(length + 1)));
        }
    }
}
