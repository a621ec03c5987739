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

    /// The key of a line, which is text.
    pub(super) fn of(line: &[u8]) -> Self {
        let content = content(line);
        let indent = content.iter().take_while(|byte| is_space(**byte)).count();
        let is_anchor = match content.get(indent) {
            Some(0x80..) => text(content).trim_start().len() >= SHORTEST_ANCHOR,
            _ => content.len() - indent >= SHORTEST_ANCHOR,
        };
        // The second lowest bit keeps it apart from a line that is gone.
        Self(line_hash(content) & !1 | 2 | u64::from(is_anchor))
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
fn content(line: &[u8]) -> &[u8] {
    let spaces = line.iter().take_while(|&&byte| byte == b' ').count();
    let mut rest = spaces;
    while line.get(rest).is_some_and(u8::is_ascii_digit) {
        rest += 1;
    }
    let from = match line.get(rest) {
        Some(0xe2) if line[rest..].starts_with("→".as_bytes()) => rest + "→".len(),
        Some(b'\t' | b':' | b'-') if rest > spaces => rest + 1,
        _ => 0,
    };
    let code = &line[from..];
    let trailing = code
        .iter()
        .rev()
        .take_while(|byte| is_space(**byte))
        .count();
    let trimmed = &code[..code.len() - trailing];
    match trimmed.last() {
        Some(0x80..) => text(code).trim_end().as_bytes(),
        _ => trimmed,
    }
}

/// White space of one byte.
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

/// The bytes are those of a text, cut between characters.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
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
