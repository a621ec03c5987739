//! The words that stand where a tool's output was.
//!
//! **Invariant:** the words depend on the output they replace and on nothing else (no counter, no
//! turn number, no clock), so that they are the same bytes in every request.

use std::borrow::Cow;
use std::fmt::Write;

/// How a cleared output is told to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// A fixed text.
    #[default]
    Plain,
    /// That the tool ran, whether it failed, how large its output was, that it was cleared for
    /// space, and its first line where there is room.
    Described,
}

/// What is known of a cleared output.
#[derive(Clone, Copy, Debug)]
pub struct Cleared<'o> {
    /// The tool's name.
    pub tool: Option<&'o str>,
    /// Whether the client marked it as failed; `None` where the dialect has no such mark.
    pub is_error: Option<bool>,
    /// Its length in characters.
    pub chars: usize,
    /// Its text, of which only the beginning is looked at.
    pub start: &'o str,
}

const DESCRIBED: &str = "[Tool output cleared to save space: ";
const MAX_NAME_CHARS: usize = 64;
const MAX_LINE_CHARS: usize = 120;

/// How much of an output's beginning is looked at for its first line, in bytes.
pub const MAX_START_BYTES: usize = 1024;

/// How much of it mostly holds the first line, and how much nearly always.
pub const USUAL_START_BYTES: [usize; 2] = [96, 192];

/// Whether a description of an output that begins like this needs no more of it.
#[must_use]
pub fn has_first_line(start: &str) -> bool {
    let line = start.trim_start();
    memchr::memchr(b'\n', line.as_bytes()).is_some()
        || line.trim_end().chars().nth(MAX_LINE_CHARS - 1).is_some()
}

/// The longest a description can be, in characters. Longer texts are no descriptions.
const MAX_DESCRIBED_CHARS: usize = 400;

/// Whether a text is a description that was put there before.
#[must_use]
pub fn is_described(text: &str) -> bool {
    text.len() <= MAX_DESCRIBED_CHARS * 4 && text.starts_with(DESCRIBED) && text.ends_with(']')
}

/// Whether a text of this length can be a description, so that others need not be decoded.
#[must_use]
pub fn may_be_described(chars: usize) -> bool {
    chars > DESCRIBED.len() && chars <= MAX_DESCRIBED_CHARS
}

/// A description of the output that is shorter than the output: with its first line, without it, or
/// none if even that is too long.
#[must_use]
pub fn describe(output: Cleared<'_>) -> Option<Cow<'static, str>> {
    let mut words = String::with_capacity(MAX_DESCRIBED_CHARS);
    words.push_str(DESCRIBED);
    match output.tool.filter(|tool| !tool.is_empty()) {
        Some(tool) => words.push_str(first_chars(tool, MAX_NAME_CHARS)),
        None => words.push_str("the tool"),
    }
    words.push_str(match output.is_error {
        Some(true) => " ran and failed, and returned ",
        Some(false) => " ran, reported no error, and returned ",
        None => " ran and returned ",
    });
    // Writing to a String cannot fail.
    let _ = write!(words, "{} characters.", output.chars);
    // No text has more characters than bytes.
    let fits = |words: &str| words.len() < output.chars || words.chars().count() < output.chars;
    let line = output.start.lines().map(str::trim).find(|l| !l.is_empty());
    if let Some(line) = line {
        let short = words.len();
        words.push_str(" It began: ");
        words.push_str(first_chars(line, MAX_LINE_CHARS));
        words.push(']');
        if fits(&words) {
            return Some(words.into());
        }
        words.truncate(short);
    }
    words.push(']');
    fits(&words).then(|| words.into())
}

fn first_chars(text: &str, most: usize) -> &str {
    // No text has more characters than bytes.
    if text.len() <= most {
        return text;
    }
    let end = text.char_indices().nth(most);
    end.map_or(text, |(at, _)| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(text: &str) -> Cleared<'_> {
        Cleared {
            tool: Some("Bash"),
            is_error: Some(false),
            chars: text.chars().count(),
            start: text,
        }
    }

    #[test]
    fn says_what_ran_how_it_ended_how_large_it_was_and_why_it_is_gone() {
        let text = format!("\n  running 3 tests \n{}", "x".repeat(500));
        let words = describe(output(&text)).unwrap();
        assert_eq!(
            words,
            "[Tool output cleared to save space: Bash ran, reported no error, and returned 520 \
             characters. It began: running 3 tests]"
        );
        let failed = describe(Cleared {
            is_error: Some(true),
            ..output(&text)
        });
        assert!(failed.unwrap().contains("Bash ran and failed"));
        let untold = describe(Cleared {
            is_error: None,
            ..output(&text)
        });
        assert!(
            untold
                .unwrap()
                .contains("Bash ran and returned 520 characters.")
        );
        let unnamed = describe(Cleared {
            tool: None,
            ..output(&text)
        });
        assert!(unnamed.unwrap().contains("the tool ran"));
    }

    #[test]
    fn a_beginning_that_has_the_first_line_is_enough() {
        let blank = [String::new(), " \n\t\n ".to_owned(), "\n".repeat(70)];
        let lines = [
            "short".to_owned(),
            "é".repeat(119),
            "é".repeat(120),
            "x".repeat(119) + " ",
            "x ".repeat(90),
        ];
        for (blank, line) in blank.iter().flat_map(|b| lines.iter().map(move |l| (b, l))) {
            for end in ["", "\n", " \nmore\n", " more"] {
                let text = format!("{blank}{line}{end}{}", "\n.".repeat(300));
                for bytes in 0..text.len().min(300) {
                    let start = &text[..text.floor_char_boundary(bytes)];
                    let short = Cleared {
                        start,
                        ..output(&text)
                    };
                    if has_first_line(start) {
                        assert_eq!(describe(short), describe(output(&text)), "{start:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn is_always_shorter_than_what_it_replaces() {
        for length in 0..400 {
            let text = "é".repeat(length);
            if let Some(words) = describe(output(&text)) {
                assert!(words.chars().count() < length, "{length}");
            }
        }
        assert!(describe(output("short")).is_none());
        let long_line = "y".repeat(10_000);
        assert!(describe(output(&long_line)).unwrap().chars().count() < MAX_DESCRIBED_CHARS);
    }

    #[test]
    fn knows_its_own_words() {
        let text = "漢".repeat(600);
        let words = describe(output(&text)).unwrap();
        assert!(is_described(&words) && may_be_described(words.chars().count()));
        assert!(!is_described("[Tool output cleared"));
    }
}
