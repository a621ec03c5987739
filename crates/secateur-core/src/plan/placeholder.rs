//! The note that takes the place of a tool's output.
//!
//! **Invariant:** a note depends on the output that it replaces and on its call, and on nothing else (no counter, no
//! turn number, no clock), so that it is the same bytes in every request.
//! **Invariant:** a note never says that a call succeeded. It quotes what the output itself says.

use std::borrow::Cow;

use super::recall_id::without_tag;
use secateur_condense::grouped;

/// What a note says about a cleared output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// A fixed text.
    #[default]
    Plain,
    /// What was removed (the command, the file, the search), how large it was, its outcome in its own words, and that
    /// it was removed for space.
    Described,
}

/// What an output was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject<'o> {
    /// What a command printed; the command line, where it is known.
    Command(Option<&'o str>),
    /// A file's content: its path, and the first and the last line that were asked for.
    File(&'o str, Option<(u64, u64)>),
    /// What a search found; what was searched for, where it is known.
    Search(Option<&'o str>),
    /// The answer of a tool that changed a file; its path, where it is known.
    Edit(Option<&'o str>),
    /// Another agent's report.
    Report,
    /// Anything else.
    Other,
}

/// What is known of a cleared output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cleared<'o> {
    /// The tool's name.
    pub tool: Option<&'o str>,
    /// What it was.
    pub subject: Subject<'o>,
    /// Whether the client marked it as failed.
    pub is_error: bool,
    /// Its length in characters.
    pub chars: usize,
    /// Quoted lines that show how it ended.
    pub outcome: &'o [&'o str],
    /// Whether one of them reports an outcome; otherwise they only mention trouble.
    pub is_report: bool,
    /// Its first line, if no line shows how it ended.
    pub first_line: Option<&'o str>,
}

const REMOVED: &str = " removed to save space (";
const SIZE_END: &str = " characters).";
const MAX_NAME_CHARS: usize = 64;
const MAX_SUBJECT_CHARS: usize = 80;
const MAX_LINE_CHARS: usize = 120;

/// Outcome lines take up to so many characters of a note, all together.
pub(crate) const USUAL_OUTCOME_CHARS: usize = 240;
/// The first and the last of them may take up to so many.
pub(crate) const MAX_OUTCOME_CHARS: usize = 500;

/// How much of an output's beginning is searched for its first line, in bytes.
pub(crate) const MAX_START_BYTES: usize = 1024;

/// The longest that a note can be, in characters. Longer texts are no notes.
const MAX_NOTE_CHARS: usize = 1000;
const MIN_NOTE_CHARS: usize = OPENINGS[0].len() + REMOVED.len() + SIZE_END.len();

/// How notes begin.
const OPENINGS: [&str; 4] = ["[Output", "[Content of ", "[Results of ", "[Report of "];

/// Whether a text is a note that was put there before: all of it is one note, on one line, and what it says was removed
/// is longer than itself. A longer text that holds such words is none.
#[must_use]
pub(crate) fn is_note(text: &str) -> bool {
    let text = without_tag(text);
    let is_one = text.len() <= MAX_NOTE_CHARS * 4
        && OPENINGS.iter().any(|opening| text.starts_with(opening))
        && text.ends_with(']')
        && !text.contains('\n');
    let removed = || {
        let (_, rest) = text.split_once(REMOVED)?;
        let (size, _) = rest.split_once(SIZE_END)?;
        size.replace(',', "").parse::<usize>().ok()
    };
    let chars = || text.chars().count();
    is_one && chars() <= MAX_NOTE_CHARS && removed().is_some_and(|removed| removed > chars())
}

/// Whether a text of this length can be a note, so that others need not be decoded.
#[must_use]
pub(crate) fn may_be_note(chars: usize) -> bool {
    (MIN_NOTE_CHARS..=MAX_NOTE_CHARS).contains(&chars)
}

/// A note for the output that is shorter than the output: all of it, with the last outcome line alone, without any, the
/// size alone, or none if even that is too long.
#[must_use]
pub(crate) fn describe(output: &Cleared<'_>) -> Option<Cow<'static, str>> {
    let bare = Cleared {
        outcome: &[],
        first_line: None,
        ..*output
    };
    let last_alone = Cleared {
        outcome: output.outcome.last().map_or(&[], std::slice::from_ref),
        ..bare
    };
    // No text has more characters than bytes.
    let fits = |note: &String| note.len() < output.chars || note.chars().count() < output.chars;
    let forms = [output, &last_alone, &bare];
    let shortest = || format!("[Output{REMOVED}{}{SIZE_END}]", grouped(output.chars));
    let mut notes = forms.into_iter().map(spell);
    notes
        .find(fits)
        .or_else(|| Some(shortest()).filter(fits))
        .map(Cow::Owned)
}

fn spell(output: &Cleared<'_>) -> String {
    let tool = output.tool.filter(|tool| !tool.is_empty());
    let tool = first_chars(tool.unwrap_or("a tool"), MAX_NAME_CHARS);
    let mut note = String::with_capacity(320);
    match output.subject {
        Subject::Command(line) => {
            note.push_str("[Output of ");
            note.push_str(tool);
            push_code(&mut note, line);
        }
        Subject::File(path, lines) => {
            note.push_str("[Content of ");
            push_path(&mut note, path);
            if let Some((first, last)) = lines {
                note.push_str(&format!(" (lines {first}-{last})"));
            }
        }
        Subject::Search(wanted) => {
            note.push_str("[Results of ");
            note.push_str(tool);
            push_code(&mut note, wanted);
        }
        Subject::Edit(path) => {
            note.push_str("[Output of ");
            note.push_str(tool);
            if let Some(path) = path {
                note.push_str(" on ");
                push_path(&mut note, path);
            }
        }
        Subject::Report => {
            note.push_str("[Report of ");
            note.push_str(tool);
        }
        Subject::Other => {
            note.push_str("[Output of ");
            note.push_str(tool);
        }
    }
    note.push_str(REMOVED);
    note.push_str(&grouped(output.chars));
    note.push_str(SIZE_END);
    if output.is_error {
        note.push_str(" The tool reported an error.");
    }
    push_quotes(&mut note, output);
    note.push_str(match output.subject {
        Subject::Command(_) => " Run it again if you need all of it.]",
        Subject::File(..) => " Read the file again if you need it.]",
        Subject::Search(_) => " Search again if you need them.]",
        Subject::Other => " Call it again if you need it.]",
        Subject::Edit(_) | Subject::Report => "]",
    });
    note
}

/// What the output said: how it ended, or its first line.
fn push_quotes(note: &mut String, output: &Cleared<'_>) {
    let lead = match output.subject {
        Subject::Command(_) if output.is_report => " Outcome: ",
        // Lines of a file, of hits or of a diff do not show an outcome.
        _ => " It included: ",
    };
    for (number, line) in output.outcome.iter().enumerate() {
        note.push_str(if number == 0 { lead } else { "; " });
        push_quoted(note, line, usize::MAX);
    }
    if let Some(line) = output.first_line.filter(|_| output.outcome.is_empty()) {
        note.push_str(" It began: ");
        push_quoted(note, line, MAX_LINE_CHARS);
    }
    if !output.outcome.is_empty() || output.first_line.is_some() {
        note.push('.');
    }
}

fn push_quoted(note: &mut String, line: &str, most: usize) {
    let cut = first_chars(line, most);
    note.push('"');
    note.push_str(cut);
    if cut.len() < line.len() {
        note.push('…');
    }
    note.push('"');
}

/// A command or a pattern: its first line, up to a limit.
fn push_code(note: &mut String, code: Option<&str>) {
    let Some(code) = code.map(str::trim).filter(|code| !code.is_empty()) else {
        return;
    };
    let line = code.lines().next().unwrap_or_default().trim_end();
    let cut = first_chars(line, MAX_SUBJECT_CHARS);
    note.push_str(" `");
    note.push_str(cut);
    if cut.len() < code.len() {
        note.push('…');
    }
    note.push('`');
}

/// A path; of a long one the end.
fn push_path(note: &mut String, path: &str) {
    let path = path.lines().next().unwrap_or_default();
    let skipped = path.chars().count().saturating_sub(MAX_SUBJECT_CHARS);
    let start = path.char_indices().nth(skipped).map_or(0, |(at, _)| at);
    if skipped > 0 {
        note.push('…');
    }
    note.push_str(&path[start..]);
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

    const FAILED: [&str; 2] = [
        "test parse::case_97 ... FAILED",
        "test result: FAILED. 396 passed; 4 failed; 0 ignored",
    ];

    fn output(subject: Subject<'_>, chars: usize) -> Cleared<'_> {
        Cleared {
            tool: Some("Bash"),
            subject,
            is_error: false,
            chars,
            outcome: &[],
            is_report: true,
            first_line: None,
        }
    }

    /// A failed test run was once cleared to "ran, reported no error".
    #[test]
    fn a_failed_run_is_quoted() {
        let run = Cleared {
            outcome: &FAILED,
            ..output(Subject::Command(Some("./run_tests.sh")), 11_413)
        };
        assert_eq!(
            describe(&run).unwrap(),
            "[Output of Bash `./run_tests.sh` removed to save space (11,413 characters). Outcome: \
             \"test parse::case_97 ... FAILED\"; \"test result: FAILED. 396 passed; 4 failed; 0 \
             ignored\". Run it again if you need all of it.]"
        );
        let marked = Cleared {
            is_error: true,
            ..run
        };
        let note = describe(&marked).unwrap();
        assert!(note.contains("characters). The tool reported an error. Outcome: "));
    }

    #[test]
    fn each_subject_is_named() {
        let note = |subject| describe(&output(subject, 5_210)).unwrap().into_owned();
        let removed = "removed to save space (5,210 characters).";
        assert_eq!(
            note(Subject::File("src/a.py", Some((1, 120)))),
            format!(
                "[Content of src/a.py (lines 1-120) {removed} Read the file again if you need it.]"
            )
        );
        assert_eq!(
            note(Subject::Search(Some("fn main"))),
            format!("[Results of Bash `fn main` {removed} Search again if you need them.]")
        );
        assert_eq!(
            note(Subject::Edit(Some("a.rs"))),
            format!("[Output of Bash on a.rs {removed}]")
        );
        assert_eq!(note(Subject::Report), format!("[Report of Bash {removed}]"));
        let began = Cleared {
            tool: None,
            first_line: Some("{\"id\": 1,"),
            ..output(Subject::Other, 5_210)
        };
        assert_eq!(
            describe(&began).unwrap(),
            format!(
                "[Output of a tool {removed} It began: \"{{\"id\": 1,\". Call it again if you need it.]"
            )
        );
    }

    #[test]
    fn long_commands_and_paths_are_cut() {
        let command = "echo é\nrm x";
        let note = describe(&output(Subject::Command(Some(command)), 9_000)).unwrap();
        assert!(note.contains(" `echo é…` "), "{note}");
        let long = "x".repeat(10_000);
        for subject in [
            Subject::Command(Some(&long)),
            Subject::File(&long, None),
            Subject::Search(Some(&long)),
        ] {
            let note = describe(&output(subject, 90_000)).unwrap();
            assert!(note.chars().count() < 260, "{note}");
        }
    }

    #[test]
    fn is_always_shorter_than_what_it_replaces() {
        for chars in 0..400 {
            let run = Cleared {
                outcome: &FAILED,
                first_line: Some("é"),
                ..output(Subject::Command(Some("./run")), chars)
            };
            if let Some(note) = describe(&run) {
                assert!(note.chars().count() < chars, "{chars}");
            }
        }
        assert!(describe(&output(Subject::Other, 30)).is_none());
    }

    #[test]
    fn notes_are_known_by_their_whole_shape() {
        let outcome = "漢".repeat(MAX_OUTCOME_CHARS);
        let run = Cleared {
            outcome: &[&outcome],
            is_error: true,
            ..output(Subject::Command(Some("./run")), 90_000)
        };
        let note = describe(&run).unwrap().into_owned();
        assert!(is_note(&note) && may_be_note(note.chars().count()));
        assert!(is_note(&format!("{note} [recall:abcdefghjkmnpqrs]")));
        let shortest = describe(&output(Subject::Other, 60)).unwrap();
        assert!(
            is_note(&shortest) && may_be_note(shortest.chars().count()),
            "{shortest}"
        );
        // Results that only look like one.
        for text in [
            format!("a log\n{note}"),
            format!("{note}\nmore"),
            format!("{note}{note}")
                .replace('[', " ")
                .replacen(' ', "[", 1)
                + &"]".repeat(900),
            note.replace("90,000", "90"),
            note.replace("90,000", "many"),
            "[Output removed to save space.]".to_owned(),
        ] {
            assert!(!is_note(&text), "{text}");
        }
    }
}
