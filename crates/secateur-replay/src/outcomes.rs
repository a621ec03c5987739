//! Whether a request still shows how its commands ended.
//!
//! Of the results of commands that the last request of a session no longer holds whole, the first and the last line
//! that reports passed or failed tests, an exit code other than 0, an error, a panic or a build's result. A line is
//! kept if it is anywhere in the request, verbatim.
//!
//! What such a line is, is written down here once more and not taken from the engine, so that the engine's own notion is
//! measured and not repeated.

use std::collections::HashSet;

use crate::policy::Pruned;
use crate::session::{PartKind, Session};

/// Longer lines are data that mention an outcome.
const MAX_CHARS: usize = 400;

/// The first and the last outcome line of an output, each once, without white space at their ends.
pub fn outcome_lines(output: &str) -> Vec<&str> {
    let mut found = output
        .lines()
        .map(str::trim)
        .filter(|line| is_outcome(line));
    let first = found.next();
    let last = found.next_back();
    let mut lines: Vec<&str> = first.into_iter().chain(last).collect();
    lines.dedup();
    lines
}

/// Whether a tool of this name runs commands.
pub fn runs_commands(tool: &str) -> bool {
    let name = tool.to_lowercase();
    ["bash", "shell", "exec", "command", "terminal"]
        .iter()
        .any(|word| name.contains(word))
}

/// How many outcome lines the changed command results of a session have at a boundary, and how many of these are kept.
pub(crate) fn kept(session: &Session, upto: usize, sent: &Pruned) -> (usize, usize) {
    let texts = sent
        .messages
        .iter()
        .flat_map(|m| &m.parts)
        .map(|p| &*p.text);
    let all: Vec<&str> = texts.collect();
    let whole: HashSet<&str> = all.iter().copied().collect();
    let joined = all.join("\n");
    let before = session.messages[..upto.min(session.messages.len())].iter();
    let results = before.flat_map(|m| &m.parts).filter(|part| {
        let runs = |name: &str| runs_commands(name);
        part.kind == PartKind::ToolResult && part.call.as_ref().is_some_and(|c| runs(&c.name))
    });
    let (mut lines, mut kept) = (0, 0);
    for part in results.filter(|part| !whole.contains(&*part.text)) {
        for line in outcome_lines(&part.text) {
            lines += 1;
            kept += usize::from(joined.contains(line));
        }
    }
    (lines, kept)
}

fn is_outcome(line: &str) -> bool {
    if line.is_empty() || line.chars().count() > MAX_CHARS {
        return false;
    }
    let lower = line.to_lowercase();
    tells_of_tests(line, &lower)
        || has_bad_exit(&lower)
        || tells_of_error(line, &lower)
        || tells_of_build(&lower)
}

fn tells_of_tests(line: &str, lower: &str) -> bool {
    let counted = |word: &str| {
        lower.match_indices(word).any(|(at, _)| {
            let before = lower[..at].trim_end();
            let before = before
                .trim_end_matches("tests")
                .trim_end_matches("test")
                .trim_end();
            before.ends_with(|c: char| c.is_ascii_digit())
        })
    };
    let starts = [
        "ok \t",
        "ok  ",
        "ok\t",
        "FAIL",
        "PASS",
        "--- FAIL",
        "test result:",
    ];
    [" passed", " failed", " passing", " failing"]
        .iter()
        .any(|word| counted(word))
        || starts.iter().any(|start| line.starts_with(start))
        || line.ends_with("FAILED")
}

fn has_bad_exit(lower: &str) -> bool {
    [
        "exit code",
        "exit status",
        "exited with code",
        "exited with status",
        "exit_code",
    ]
    .iter()
    .any(|words| {
        lower.match_indices(words).any(|(at, _)| {
            let rest = lower[at + words.len()..].trim_start_matches([':', ' ', '=', '"']);
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u64>().is_ok_and(|code| code != 0)
        })
    })
}

fn tells_of_error(line: &str, lower: &str) -> bool {
    let starts = ["error", "fatal:", "traceback (most recent", "panic:"];
    let holds = [": error", " error: ", "panicked at", "error ts", "npm err!"];
    let raised = |ending: &str| {
        line.split_once(ending).is_some_and(|(name, _)| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
        })
    };
    starts.iter().any(|start| lower.starts_with(start))
        || holds.iter().any(|words| lower.contains(words))
        || line.contains(" ERROR ")
        || raised("Error:")
        || raised("Exception:")
}

fn tells_of_build(lower: &str) -> bool {
    let starts = [
        "finished ",
        "build success",
        "build fail",
        "build succeeded",
        "compiled ",
    ];
    starts.iter().any(|start| lower.starts_with(start)) || lower.contains("] finished in ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_outcome_line_count() {
        let text = "running 3 tests\ntest a ... ok\n  test b ... FAILED \nerror: two\ntest result: FAILED. 2 passed; 1 failed\nbye\n";
        assert_eq!(
            outcome_lines(text),
            [
                "test b ... FAILED",
                "test result: FAILED. 2 passed; 1 failed"
            ]
        );
        assert_eq!(outcome_lines("a\nexit status 2\nb"), ["exit status 2"]);
        assert_eq!(
            outcome_lines("Exit code 0\nall is well\nProcess exited with code 0"),
            [""; 0]
        );
    }

    #[test]
    fn outcomes_of_many_kinds_are_distinguished_from_other_lines() {
        for line in [
            "ok  \texample.org/a\t(cached)",
            "== 41 passed in 0.3s ==",
            "    Finished release [optimized] target(s) in 42.17s",
            "thread 'main' panicked at src/main.rs:2:5:",
            "error[E0308]: mismatched types",
            "src/a.c:3:1: error: expected ';'",
            "ValueError: bad",
            "[lint] ERROR task failed",
            "The command exited with code 3",
        ] {
            assert_eq!(outcome_lines(line).len(), 1, "{line}");
        }
        for line in [
            "test a ... ok",
            "func run() error {",
            "see error.rs",
            "exit code 0",
            &"error ".repeat(100),
        ] {
            assert_eq!(outcome_lines(line).len(), 0, "{line}");
        }
    }
}
