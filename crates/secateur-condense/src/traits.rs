//! What one line is, read in a single pass: its shape, and how much it says about trouble.

use super::vocabulary::{
    COMMANDS, ENDINGS, GOOD_ENDINGS, GOOD_OPENINGS, OPENINGS, OUTCOMES, Role, SOURCE_OPENINGS,
    WORDS,
};
use super::wording::{
    CLASSES, DIGIT, contains_ignoring_case, ends_with_ignoring_case, is_denied, is_emphasised,
    is_used_in_code, is_word, names_a_thing, number_after, number_before,
    starts_with_ignoring_case,
};

/// What was read from one line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Traits {
    /// Equal for lines that differ only in numbers, hashes, paths and blanks.
    pub shape: u64,
    /// How much the line says about trouble, 0 to about 160.
    pub score: u16,
    /// Counts things (`3 failed, 41 passed`).
    pub summary: bool,
    /// Names a command or step.
    pub command: bool,
    /// Says how a run ended (`exit code 1`, `##[error]`).
    pub outcome: bool,
    /// Names a place in a file (`a.rs:12`, `"a.py", line 3`).
    pub location: bool,
    /// Holds nothing but blanks.
    pub blank: bool,
}

const SLOTS: usize = 512;
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const NUMBER_MARK: u64 = 0x23;
const PATH_MARK: u64 = 0x2f2f;
const BLANK_MARK: u64 = 0x20;

/// The vocabulary, hashed when the program is built.
static WORD_SLOTS: [Option<u8>; SLOTS] = {
    let mut slots = [None; SLOTS];
    let mut index = 0;
    while index < WORDS.len() {
        let word = WORDS[index].0.as_bytes();
        let (mut hash, mut at) = (SEED, 0);
        while at < word.len() {
            hash = word_step(hash, word[at]);
            at += 1;
        }
        let mut slot = slot_of(hash);
        while slots[slot].is_some() {
            slot = (slot + 1) % SLOTS;
        }
        assert!(index < 256, "an index fits a byte");
        #[expect(clippy::cast_possible_truncation, reason = "asserted above")]
        {
            slots[slot] = Some(index as u8);
        }
        index += 1;
    }
    slots
};

/// Bytes with which any of the known openings begins.
static IS_OPENING: [bool; 256] = {
    const fn mark(mut bytes: [bool; 256], openings: &[&[u8]]) -> [bool; 256] {
        let mut at = 0;
        while at < openings.len() {
            bytes[openings[at][0] as usize] = true;
            at += 1;
        }
        bytes
    }
    let mut bytes = [false; 256];
    let mut at = 0;
    while at < OPENINGS.len() {
        bytes[OPENINGS[at].0[0] as usize] = true;
        at += 1;
    }
    let bytes = mark(mark(bytes, COMMANDS), OUTCOMES);
    mark(mark(bytes, SOURCE_OPENINGS), GOOD_OPENINGS)
};

/// Reads lines by the vocabulary.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LineReader;

fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95)
}

const fn word_step(hash: u64, byte: u8) -> u64 {
    (hash ^ (byte | 0x20) as u64).wrapping_mul(0x0000_0100_0000_01b3)
}

const fn slot_of(hash: u64) -> usize {
    (hash >> 32) as usize % SLOTS
}

impl LineReader {
    pub(super) fn new() -> Self {
        Self
    }

    /// Reads one line without its line ending, timestamp and escapes.
    pub(super) fn read(&self, line: &[u8]) -> Traits {
        let mut traits = Traits {
            shape: SEED,
            blank: true,
            ..Traits::default()
        };
        let mut weights = Weights::default();
        let mut token_shape = SEED;
        let mut slashes = 0_u32;
        let mut dots = 0_u32;
        let mut at = 0;
        while at < line.len() {
            let byte = line[at];
            if is_word(byte) {
                let start = at;
                let mut hash = SEED;
                let mut classes = 0;
                for &byte in &line[start..] {
                    let class = CLASSES[usize::from(byte)];
                    if class == 0 {
                        break;
                    }
                    classes |= class;
                    hash = word_step(hash, byte);
                    at += 1;
                }
                traits.blank = false;
                if classes & DIGIT != 0 {
                    traits.shape = mix(traits.shape, NUMBER_MARK);
                } else {
                    traits.shape = mix(traits.shape, hash);
                    self.weigh_word(line, start, at, hash, &mut weights);
                }
                continue;
            }
            match byte {
                b' ' | b'\t' => {
                    if slashes > 0 {
                        traits.shape = mix(token_shape, PATH_MARK);
                    }
                    while at + 1 < line.len() && matches!(line[at + 1], b' ' | b'\t') {
                        at += 1;
                    }
                    traits.shape = mix(traits.shape, BLANK_MARK);
                    token_shape = traits.shape;
                    slashes = 0;
                    dots = 0;
                }
                b'\r' => {}
                _ => {
                    traits.blank = false;
                    slashes += u32::from(matches!(byte, b'/' | b'\\'));
                    dots += u32::from(byte == b'.');
                    if byte == b':' && (slashes > 0 || dots > 0) {
                        traits.location |= line.get(at + 1).is_some_and(u8::is_ascii_digit)
                            && at > 0
                            && line[at - 1].is_ascii_alphabetic();
                    }
                    traits.shape = mix(traits.shape, u64::from(byte));
                }
            }
            at += 1;
        }
        if slashes > 0 {
            traits.shape = mix(token_shape, PATH_MARK);
        }
        traits.location |= weights.line_number;
        traits.summary = weights.trouble_counts > 0 || weights.counts >= 2;
        self.finish(line, traits, &weights)
    }

    fn weigh_word(&self, line: &[u8], start: usize, end: usize, hash: u64, weights: &mut Weights) {
        if end - start > 5 && line[end - 1].is_ascii_lowercase() {
            let word = &line[start..end];
            for (ending, weight) in ENDINGS {
                if word.len() > ending.len() && word.ends_with(ending) {
                    weights.add(if is_used_in_code(line, start, end) {
                        weight / 3
                    } else {
                        *weight
                    });
                    return;
                }
            }
        }
        if end - start == 4 && &line[start..end] == b"line" && line[..start].ends_with(b"\", ") {
            weights.line_number = true;
        }
        let mut slot = slot_of(hash);
        while let Some(index) = WORD_SLOTS[slot] {
            let (word, weight, role) = WORDS[usize::from(index)];
            if line[start..end].eq_ignore_ascii_case(word.as_bytes()) {
                weights.add_role(line, start, end, weight, role);
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    fn finish(&self, line: &[u8], mut traits: Traits, weights: &Weights) -> Traits {
        let text = line.trim_ascii();
        let known = text
            .first()
            .is_some_and(|&byte| IS_OPENING[usize::from(byte)]);
        let begins =
            |openings: &[&[u8]]| known && openings.iter().any(|opening| text.starts_with(opening));
        let mut score = weights.top + (weights.sum - weights.top).min(120) / 4;
        if known {
            for (opening, weight) in OPENINGS {
                if text.starts_with(opening) {
                    score = score.max(weight + weights.sum.min(80) / 8);
                }
            }
        }
        traits.outcome = weights.exit_number || begins(OUTCOMES);
        traits.command = begins(COMMANDS);
        if score == 0 {
            return traits;
        }
        if traits.location {
            score += 10;
        }
        if traits.summary {
            score += 15;
        }
        let good =
            begins(GOOD_OPENINGS) || GOOD_ENDINGS.iter().any(|ending| text.ends_with(ending));
        if good && weights.trouble_counts == 0 {
            score /= 10;
        }
        if begins(SOURCE_OPENINGS) {
            score /= 4;
            traits.outcome = false;
        }
        traits.score = score;
        traits
    }
}

#[derive(Debug, Default)]
struct Weights {
    top: u16,
    sum: u16,
    counts: u16,
    trouble_counts: u16,
    line_number: bool,
    exit_number: bool,
}

impl Weights {
    fn add(&mut self, weight: u16) {
        self.top = self.top.max(weight);
        self.sum = self.sum.saturating_add(weight);
    }

    fn add_role(&mut self, line: &[u8], start: usize, end: usize, weight: u16, role: Role) {
        match role {
            Role::Behind(before) => {
                if ends_with_ignoring_case(&line[..start], before.as_bytes()) {
                    self.add(weight);
                }
                return;
            }
            Role::Before(after) => {
                if starts_with_ignoring_case(&line[end..], after.as_bytes()) {
                    self.add(weight);
                }
                return;
            }
            Role::ExitNumber => {
                let before = &line[start.saturating_sub(14)..start];
                let exits = contains_ignoring_case(before, b"exit")
                    || contains_ignoring_case(before, b"return");
                if exits && number_after(line, end).is_some_and(|number| number != 0) {
                    self.exit_number = true;
                    self.add(weight);
                }
                return;
            }
            Role::PlainCount | Role::TroubleCount | Role::Trouble => {}
        }
        let counted = if matches!(role, Role::Trouble) {
            None
        } else {
            number_before(line, start)
        };
        match (role, counted) {
            (Role::PlainCount, None) => {}
            (Role::PlainCount, Some(_)) => {
                self.counts += 1;
                self.add(weight);
            }
            (_, Some(0)) => self.counts += 1,
            (_, Some(_)) => {
                self.counts += 1;
                self.trouble_counts += u16::from(weight >= 30);
                self.add(weight + weight / 4);
            }
            (_, None) => {
                if is_denied(line, start, end) {
                    return;
                }
                if names_a_thing(line, start, end) {
                    self.add(weight / 8);
                } else if is_emphasised(line, start, end) {
                    self.add(weight + weight / 3);
                } else {
                    self.add(weight);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(line: &str) -> u16 {
        LineReader::new().read(line.as_bytes()).score
    }

    #[test]
    fn failures_of_many_ecosystems_score_high() {
        let mut missed = Vec::new();
        for line in [
            "##[error]Process completed with exit code 1.",
            "error[E0308]: mismatched types",
            "thread 'main' panicked at src/main.rs:2:5:",
            "Traceback (most recent call last):",
            "ValueError: invalid literal for int()",
            "FAILED tests/test_a.py::test_b - assert 1 == 2",
            "--- FAIL: TestX (0.00s)",
            "npm ERR! code ERESOLVE",
            "CMake Error at CMakeLists.txt:3 (find_package):",
            "/usr/bin/ld: undefined reference to `main'",
            "java.lang.NullPointerException: x",
            "sh: 1: pnpm: not found",
            "Segmentation fault (core dumped)",
            "Killed",
            "make: *** [all] Error 2",
            "src/a.ts(3,4): error TS2322: Type 'x'",
            "fatal: not a git repository",
            "test result: FAILED. 1 passed; 1 failed",
            "The command exited with status 3",
            "Tests:       1 failed, 2 passed, 3 total",
        ] {
            if score(line) < 50 {
                missed.push((line, score(line)));
            }
        }
        assert_eq!(missed, []);
    }

    #[test]
    fn success_and_mere_names_score_low() {
        for line in [
            "test errors::io::failed_read ... ok",
            "Compiling thiserror v1.0.0",
            "Downloading error-chain v0.12.4",
            "0 errors, 0 warnings",
            "Found no errors",
            "Process completed with exit code 0",
            "cc -Werror -c failure.c",
            "PASS src/error.test.js",
            "test_failed_login PASSED",
            "errors: 0",
        ] {
            assert!(score(line) < 20, "{line}: {}", score(line));
        }
    }

    #[test]
    fn the_shape_ignores_numbers_hashes_and_paths() {
        let shape = |line: &str| LineReader::new().read(line.as_bytes()).shape;
        assert_eq!(
            shape("Downloading a1b2c3 from /x/y (12 kB)"),
            shape("Downloading 99ff0  from /z (3456 kB)")
        );
        assert_ne!(shape("Downloading 12"), shape("Uploading 12"));
    }

    #[test]
    fn counts_make_a_summary_and_places_are_seen() {
        let read = |line: &str| LineReader::new().read(line.as_bytes());
        assert!(read("== 1 failed, 41 passed in 3s ==").summary);
        assert!(read("12 passed, 3 skipped").summary);
        assert!(!read("a plain line").summary);
        assert!(read("src/a.rs:12:5").location);
        assert!(read("  File \"a.py\", line 3, in f").location);
        assert!(!read("at 12:34:56").location);
    }
}
