//! The lines of a string literal in place, without decoding it.
//!
//! For literals that are [`Spelled`](super::Spelled) as usual: every escape has two bytes and stands for one.

/// Reports where each line of a literal ends, after its escaped newline, and how many escapes come before there.
/// What follows the last newline is a line without end, and not reported.
pub fn spelled_line_ends(raw: &[u8], found: impl FnMut(usize, usize)) {
    machine::line_ends(raw, found);
}

/// One escape after the other.
#[cfg(any(test, not(all(target_arch = "x86_64", not(feature = "portable")))))]
fn line_ends_one_by_one(raw: &[u8], mut found: impl FnMut(usize, usize)) {
    let (mut at, mut escapes) = (0, 0);
    while let Some(plain) = memchr::memchr(b'\\', raw.get(at..).unwrap_or_default()) {
        at += plain + 2;
        escapes += 1;
        if raw.get(at - 1) == Some(&b'n') {
            found(at, escapes);
        }
    }
}

#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
mod machine {
    use crate::vector::{Lanes, Task, at_best};
    use crate::window::{WINDOW, backslashes, escapes, letters_n};

    pub(super) fn line_ends(raw: &[u8], found: impl FnMut(usize, usize)) {
        at_best(LineEnds { raw, found });
    }

    pub(super) struct LineEnds<'t, F> {
        pub(super) raw: &'t [u8],
        pub(super) found: F,
    }

    impl<F: FnMut(usize, usize)> Task for LineEnds<'_, F> {
        type Done = ();

        #[inline(always)]
        fn run<L: Lanes>(self) {
            let Self { raw, found } = self;
            let mut ends = Ends {
                found,
                escapes: 0,
                carry: 0,
            };
            let (windows, rest) = raw.as_chunks::<WINDOW>();
            for (at, window) in windows.iter().enumerate() {
                ends.window::<L>(at * WINDOW, window);
            }
            let mut last = [0; WINDOW];
            last[..rest.len()].copy_from_slice(rest);
            ends.window::<L>(windows.len() * WINDOW, &last);
        }
    }

    struct Ends<F> {
        found: F,
        /// In the windows before.
        escapes: usize,
        /// 1 if the last byte of the window before was a backslash that escapes.
        carry: u64,
    }

    impl<F: FnMut(usize, usize)> Ends<F> {
        #[inline(always)]
        fn window<L: Lanes>(&mut self, at: usize, window: &[u8; WINDOW]) {
            let backslashes = backslashes::<L>(window);
            if backslashes | self.carry == 0 {
                return;
            }
            let escapes = escapes(backslashes, self.carry);
            let escaped = escapes << 1 | self.carry;
            self.carry = escapes >> 63;
            let mut newlines = escaped & letters_n::<L>(window);
            while newlines != 0 {
                // The newline's own escape comes before its letter.
                let up_to = newlines ^ (newlines - 1);
                let before = self.escapes + (escapes & up_to).count_ones() as usize;
                (self.found)(at + newlines.trailing_zeros() as usize + 1, before);
                newlines &= newlines - 1;
            }
            self.escapes += escapes.count_ones() as usize;
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(feature = "portable"))))]
mod machine {
    pub(super) use super::line_ends_one_by_one as line_ends;
}

/// Pieces of literals that are spelled as usual.
#[cfg(test)]
pub(super) const PIECES: [&str; 9] = [
    "a",
    "n",
    "é",
    "漢",
    "\\n",
    "\\t",
    "\\\"",
    "\\\\",
    " plain words, some of them, and then some more of the same ",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cursor, unescaped};

    proptest::proptest! {
        /// Lines that are found in place are those of the decoded text.
        #[test]
        fn lines_are_found_where_the_decoded_text_has_them(
            pieces in proptest::collection::vec(0..PIECES.len(), 0..160),
        ) {
            let raw: String = pieces.iter().map(|&at| PIECES[at]).collect();
            let quoted = format!("\"{raw}\"");
            let literal = Cursor::over(&quoted, 1).string().unwrap();
            proptest::prop_assert!(literal.spelled_as_usual(&quoted).is_some());
            let decoded = unescaped(&raw);
            let expected: Vec<usize> = decoded.match_indices('\n').map(|(at, _)| at + 1).collect();
            let mut found = Vec::new();
            spelled_line_ends(raw.as_bytes(), |end, escapes| found.push((end, escapes)));
            let ends: Vec<usize> = found.iter().map(|(end, escapes)| end - escapes).collect();
            proptest::prop_assert_eq!(ends, expected);
            for (end, _) in &found {
                proptest::prop_assert!(raw[..*end].ends_with("\\n"));
            }
            let mut slow = Vec::new();
            line_ends_one_by_one(raw.as_bytes(), |end, escapes| slow.push((end, escapes)));
            proptest::prop_assert_eq!(&found, &slow);
            #[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
            {
                use crate::vector::{Lanes16, Task};
                let mut narrow = Vec::new();
                let found_narrow = |end, escapes| narrow.push((end, escapes));
                machine::LineEnds { raw: raw.as_bytes(), found: found_narrow }.run::<Lanes16>();
                proptest::prop_assert_eq!(&found, &narrow);
            }
        }
    }

    #[test]
    fn a_literal_tells_whether_it_is_spelled_as_usual() {
        for (raw, is_usual) in [
            ("", true),
            ("plain", true),
            (r#"\n\t\"\\ é"#, true),
            (r"a\/b", false),
            (r"a\r\n", false),
            (r"\u000a", false),
            (r"\u001b[0m", false),
            (r"\ud83d\ude42", false),
            (r"\b", false),
            (r"\f", false),
        ] {
            let quoted = format!("\"{raw}\"");
            let literal = Cursor::over(&quoted, 1).string().unwrap();
            let found = literal.spelled_as_usual(&quoted);
            assert_eq!(found.is_some(), is_usual, "{raw}");
        }
    }
}
