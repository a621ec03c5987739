//! The lines of an output that show how it ended: passed and failed tests, exit codes other than 0, errors, panics,
//! the result of a build. Found by the rules that weigh a log's lines.

use std::borrow::Cow;
use std::ops::Range;

use super::escapes::{may_hold_escapes, visible_runs};
use super::harness;
use super::traits::{LineReader, Traits};
use super::wording::contains_ignoring_case;

/// A line longer than this, in bytes, is no outcome: it is data that mentions one.
const MAX_LINE_BYTES: usize = 400;
/// Least score of a line that reports trouble: `error:`, `FAILED`, and not a name or a type in code.
const REPORT: u16 = 60;
/// Least score of a line that mentions trouble without reporting it.
const MENTION: u16 = 15;

/// What a line says about how a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tells {
    /// An error, a panic, an exit code other than 0.
    Trouble,
    /// Passed or failed tests.
    Tests,
    /// The result of a build or another step.
    Step,
    /// Words of trouble in something else: a name, a line of code.
    Mention,
}

/// The first and the last line of each kind, as places in the text.
#[derive(Debug, Default)]
struct Found {
    /// By [`Tells`].
    first: [Option<Range<usize>>; 4],
    last: [Option<Range<usize>>; 4],
}

/// How an output ended, in its own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome<'t> {
    /// In the order of the text, without white space at their ends.
    pub lines: Vec<&'t str>,
    /// Whether one of them reports an outcome; otherwise they only mention trouble.
    pub is_report: bool,
}

/// The outcome lines of a text: the first and the last, if they fit into `most_chars` characters, and others as long as
/// all fit into `usual_chars`.
#[must_use]
pub fn outcome(text: &str, usual_chars: usize, most_chars: usize) -> Outcome<'_> {
    let mut chosen: Vec<Range<usize>> = Vec::new();
    let mut used = 0;
    let found = find(text);
    for (rank, line) in found.by_importance().enumerate() {
        let room = if rank < 2 { most_chars } else { usual_chars };
        let chars = text[line.clone()].chars().count();
        let is_there = |other: &Range<usize>| text[other.clone()] == text[line.clone()];
        if used + chars <= room && !chosen.iter().any(is_there) {
            used += chars;
            chosen.push(line);
        }
    }
    chosen.sort_by_key(|line| line.start);
    Outcome {
        lines: chosen.into_iter().map(|line| &text[line]).collect(),
        is_report: found.first[..3].iter().any(Option::is_some),
    }
}

/// Places of the outcome lines of a text, the most important first. Some may be named twice.
pub(super) fn by_importance(text: &str) -> impl Iterator<Item = Range<usize>> {
    find(text).by_importance()
}

impl Found {
    fn by_importance(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let Self { first, last } = self;
        let [trouble, tests, step, mention] = [0, 1, 2, 3];
        let first_of_all = first[..3].iter().flatten().min_by_key(|line| line.start);
        let last_of_all = last[..3].iter().flatten().max_by_key(|line| line.start);
        let order = [
            last_of_all.cloned(),
            first_of_all.cloned(),
            first[tests].clone(),
            last[tests].clone(),
            first[trouble].clone(),
            last[trouble].clone(),
            last[step].clone(),
            last[mention].clone(),
            first[mention].clone(),
            first[step].clone(),
        ];
        order.into_iter().flatten()
    }
}

fn find(text: &str) -> Found {
    let reader = LineReader::new();
    let mut found = Found::default();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let at = start;
        start += line.len();
        let trimmed = line.trim();
        let is_data = || trimmed.starts_with(['{', '"']);
        if trimmed.is_empty()
            || trimmed.len() > MAX_LINE_BYTES
            || is_data()
            || harness::is_header(trimmed)
        {
            continue;
        }
        let plain = without_escapes(trimmed);
        if let Some(tells) = tells(&plain, &reader.read(plain.as_bytes())) {
            let from = at + (line.len() - line.trim_start().len());
            let place = from..from + trimmed.len();
            let kind = tells as usize;
            found.first[kind].get_or_insert_with(|| place.clone());
            found.last[kind] = Some(place);
        }
    }
    found
}

/// A line as a terminal shows it.
fn without_escapes(line: &str) -> Cow<'_, str> {
    if !may_hold_escapes(line.as_bytes()) {
        return Cow::Borrowed(line);
    }
    let mut plain = String::with_capacity(line.len());
    visible_runs(line.as_bytes(), 0, line.len(), |from, to| {
        plain.push_str(&line[from..to]);
    });
    Cow::Owned(plain)
}

fn tells(line: &str, traits: &Traits) -> Option<Tells> {
    let bytes = line.as_bytes();
    if counts_tests(bytes) || STARTS_OF_TESTS.iter().any(|start| line.starts_with(start)) {
        return Some(Tells::Tests);
    }
    if traits.outcome || traits.score >= REPORT {
        return Some(Tells::Trouble);
    }
    let is_word = |words: &&str| contains_ignoring_case(bytes, words.as_bytes());
    let starts = |start: &&str| line.starts_with(start);
    if STEPS.iter().any(starts) || (bytes.len() < 160 && STEP_WORDS.iter().any(is_word)) {
        return Some(Tells::Step);
    }
    (traits.score >= MENTION).then_some(Tells::Mention)
}

/// How lines begin that report passed or failed tests without a number.
const STARTS_OF_TESTS: [&str; 9] = [
    "ok  ",
    "ok\t",
    "PASS",
    "FAIL",
    "--- FAIL",
    "test result:",
    "Tests:",
    "Test Suites:",
    "Test Files",
];

/// How lines begin that say how a build or another step ended.
const STEPS: [&str; 8] = [
    "Finished ",
    "BUILD ",
    "Build ",
    "Compiled ",
    "Successfully ",
    "Process exited with code",
    "Done in ",
    "0 issues",
];

/// Words that say it anywhere in a short line.
const STEP_WORDS: [&str; 7] = [
    "finished in ",
    "built in ",
    "build succeeded",
    "build failed",
    "build successful",
    "compiled successfully",
    " 0 issues",
];

/// `41 passed`, `0 failed`, `3 tests passed`, `PASSED`.
fn counts_tests(line: &[u8]) -> bool {
    const WORDS: [&[u8]; 6] = [
        b"passed",
        b"passing",
        b"failed",
        b"failing",
        b"failures",
        b"errors",
    ];
    let follows_number = |at: usize| {
        let before = line[..at].trim_ascii_end();
        let counted = [&b"tests"[..], b"test"]
            .iter()
            .find_map(|word| before.strip_suffix(*word));
        let before = counted.unwrap_or(before).trim_ascii_end();
        before.last().is_some_and(u8::is_ascii_digit)
    };
    let is_counted = |word: &&[u8]| memchr::memmem::find_iter(line, *word).any(follows_number);
    WORDS.iter().any(is_counted) || memchr::memmem::find(line, b"PASSED").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(outcome(text, 200, 400).lines, expected, "{text}");
    }

    #[test]
    fn a_failed_run_is_shown_by_its_first_failure_and_its_summary() {
        let passing: String = (1..400)
            .map(|n| format!("test parse::case_{n} ... ok\n"))
            .collect();
        check(
            &format!(
                "running 400 tests\n{passing}test parse::case_97 ... FAILED\n{passing}test result: FAILED. 396 passed; 4 failed; 0 ignored\n"
            ),
            &[
                "test parse::case_97 ... FAILED",
                "test result: FAILED. 396 passed; 4 failed; 0 ignored",
            ],
        );
    }

    #[test]
    fn runners_and_builds_of_many_kinds_are_understood() {
        check(
            "a\n===== 41 passed in 0.30s =====\n",
            &["===== 41 passed in 0.30s ====="],
        );
        check(
            "a\nok  \texample.org/a\t1.2s\nb\nok  \texample.org/z\t(cached)\n",
            &["ok  \texample.org/a\t1.2s", "ok  \texample.org/z\t(cached)"],
        );
        check(
            "x\n    Finished release [optimized] target(s) in 42.17s\n",
            &["Finished release [optimized] target(s) in 42.17s"],
        );
        check("Exit code 2\nusage\n", &["Exit code 2"]);
        check(
            "thread 'main' panicked at src/main.rs:2:5:\nboom\n",
            &["thread 'main' panicked at src/main.rs:2:5:"],
        );
        check("[lint] $ golangci-lint run\n0 issues.\n", &["0 issues."]);
        check("Tests  12 passed (12)\n", &["Tests  12 passed (12)"]);
    }

    #[test]
    fn what_ended_well_and_a_harness_tell_nothing() {
        check(
            "Chunk ID: 5fa595\nProcess exited with code 0\nOutput:\nCargo.toml\nREADME.md\n",
            &[],
        );
        check("a plain line\nanother\n", &[]);
        check("", &[]);
    }

    #[test]
    fn the_first_and_the_last_line_come_first_when_room_is_short() {
        let text = "error: first\nerror: in between, and longer\n2 passed\nerror: last\n";
        assert_eq!(outcome(text, 0, 25).lines, ["error: first", "error: last"]);
        assert_eq!(outcome(text, 0, 11).lines, ["error: last"]);
        assert_eq!(outcome(text, 5, 5).lines, [""; 0]);
        assert_eq!(outcome(text, 31, 31).lines.len(), 3);
    }

    #[test]
    fn what_only_mentions_trouble_is_no_report() {
        let code = outcome("func run() error {\n    x\n}\n", 200, 400);
        assert!(!code.is_report, "{code:?}");
        assert!(outcome("a\nerror: b\n", 200, 400).is_report);
        let coloured = outcome("a\n\u{1b}[0;31mERROR: gone\u{1b}[0m\n", 200, 400);
        assert_eq!(coloured.lines, ["\u{1b}[0;31mERROR: gone\u{1b}[0m"]);
        assert_eq!(
            outcome("{\"error\": \"none\"}\n", 200, 400),
            Outcome::default()
        );
    }
}
