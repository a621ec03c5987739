//! What a line is recognised by: a hash of its content.

use crate::strategy::line_hash::line_hash;

/// A line's content as a hash that is the same on every machine. The lowest bit tells whether the line is
/// long enough to say something: short lines (`}`) are no place to start a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineKey(u64);

const SHORTEST_ANCHOR: usize = 8;

impl LineKey {
    /// A line that is not there any more. Like no other line.
    pub(super) const GONE: Self = Self(0);

    pub(super) fn of(line: &str) -> Self {
        let content = content(line);
        let is_anchor = match content.as_bytes().first() {
            Some(first) if first.is_ascii_graphic() => content.len() >= SHORTEST_ANCHOR,
            _ => content.trim_start().len() >= SHORTEST_ANCHOR,
        };
        // The second lowest bit keeps it apart from a line that is gone.
        Self(line_hash(content.as_bytes()) & !1 | 2 | u64::from(is_anchor))
    }

    pub(super) fn is_anchor(self) -> bool {
        self.0 & 1 == 1
    }

    /// A number below 2 to the power of `bits`, which is at most 32.
    pub(super) fn slot(self, bits: u32) -> usize {
        (self.0 >> 32) as usize & ((1 << bits) - 1)
    }
}

/// The line without the number of a listing or of a search hit, and without trailing white space.
fn content(line: &str) -> &str {
    let bytes = line.as_bytes();
    let spaces = bytes.iter().take_while(|&&byte| byte == b' ').count();
    let digits = bytes[spaces..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let rest = spaces + digits;
    let from = match bytes.get(rest) {
        Some(0xe2) if bytes[rest..].starts_with("→".as_bytes()) => rest + "→".len(),
        Some(b'\t' | b':' | b'-') if digits > 0 => rest + 1,
        _ => 0,
    };
    let code = &line[from..];
    match code.as_bytes().last() {
        Some(last) if last.is_ascii_graphic() => code,
        _ => code.trim_end(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_trailing_space_do_not_count_and_indentation_does() {
        let key = LineKey::of("    let a = b;");
        for same in [
            "  12→    let a = b;  ",
            "12\t    let a = b;",
            "7:    let a = b;\r",
            "9-    let a = b;",
        ] {
            assert_eq!(LineKey::of(same), key, "{same}");
        }
        for other in ["  let a = b;", "    let a = c;", "x7:    let a = b;"] {
            assert_ne!(LineKey::of(other), key, "{other}");
        }
    }

    #[test]
    fn only_lines_that_say_something_are_anchors() {
        assert!(LineKey::of("   return 1").is_anchor());
        assert!(!LineKey::of("        }").is_anchor());
        assert!(!LineKey::of("\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}}").is_anchor());
        assert_ne!(LineKey::of(""), LineKey::GONE);
    }

    #[test]
    fn lines_that_differ_in_one_byte_have_different_keys() {
        for length in 1..70 {
            let line = "x".repeat(length);
            for at in 0..length {
                let mut other = line.clone();
                other.replace_range(at..=at, "y");
                assert_ne!(LineKey::of(&line), LineKey::of(&other), "{length} {at}");
            }
            assert_ne!(LineKey::of(&line), LineKey::of(&"x".repeat(length + 1)));
        }
    }
}
