//! Removes runs of lines from an arriving result that stand above already.
//!
//! ## What it cuts
//! A file read again after an edit shows mostly what was shown before; the answer of an edit shows the
//! lines of the edit. A run of at least `min_lines` lines and `min_chars` characters that an earlier,
//! untouched result or an earlier call's arguments hold, contiguous and equal, becomes a note; runs of
//! the same file have limits of their own. Line numbers and trailing white space are not compared;
//! indentation is. The note says which lines it stands for where they are numbered, else how many.
//!
//! ## When it stays out
//! Results of tools that are not known to show files, commands or searches, and texts that were
//! replaced as a whole. What a note points to stays as long as the note does.
//!
//! ## Example
//! Lines 40 to 159 that were read before become `[40-159 as above]`.
//!
//! Works on arrival, so no cached byte is rewritten.

mod shown;

use super::{Strategy, options};
use crate::arrival::{ArrivalText, Arrivals, Line, LookScratch, Spelling};
use crate::edit::{Plan, StrategyId, Why};
use crate::json::Spelled;
use crate::line_marks::LineKey;
use crate::line_space::{leading_spaces, tab, trim_end, trim_start};
use crate::scene::Scene;
use crate::tool_facts::ToolFacts;
use crate::view::PartId;
use shown::{Length, Repeat, Shown};

options! {
    /// Options of `repeated-lines`.
    pub struct RepeatedLines {
        /// Shortest run, in lines.
        min_lines: usize = 3,
        /// Shortest run, in characters.
        min_chars: usize = 120,
        /// Shortest run that what was shown or written of the same file holds, in lines.
        same_file_min_lines: usize = 3,
        /// The same, in characters.
        same_file_min_chars: usize = 120,
    }
}

impl RepeatedLines {
    /// Its id.
    pub const ID: StrategyId = StrategyId("repeated-lines");
}

impl Strategy for RepeatedLines {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn plan(&self, _: &Scene<'_, '_>) -> Plan {
        Plan::default()
    }

    fn arrivals(&self) -> Option<Box<dyn Arrivals + '_>> {
        Some(Box::new(Run {
            options: self,
            shown: Shown::default(),
            spelled: Vec::new(),
            scratch: LookScratch::default(),
        }))
    }
}

struct Run<'o> {
    options: &'o RepeatedLines,
    shown: Shown,
    /// Scratch: a line as JSON spells it.
    spelled: Vec<u8>,
    scratch: LookScratch,
}

/// Arguments that put text into a file.
const TEXT_KEYS: [&str; 4] = ["new_string", "content", "new_str", "file_text"];

impl Arrivals for Run<'_> {
    fn call(&mut self, scene: &Scene<'_, '_>, part: PartId) {
        self.shown.expect(scene.view.body().len());
        let args = scene.args(part);
        match scene.call_args().texts(&args, part, &TEXT_KEYS) {
            Some(texts) => {
                for text in texts {
                    match text.spelled_as_usual(&args) {
                        Some(text) => self.written_in_place(part, text),
                        None => self.written(part, &text.decode(&args)),
                    }
                }
            }
            None => {
                for text in scene.string_args(part, &TEXT_KEYS) {
                    self.written(part, &text);
                }
            }
        }
    }

    fn result(&mut self, scene: &Scene<'_, '_>, part: PartId, text: &mut ArrivalText<'_>) {
        if text.is_replaced() || scene.tool_class(part).is_none() {
            return;
        }
        self.shown.expect(scene.view.body().len());
        text.look_for_keys();
        let facts = scene.tool_facts();
        let length = LongEnough {
            options: self.options,
            facts,
            file: facts.file(part),
        };
        let size = |at: usize| text.lines().get(at).map_or(0, |line| text.size(line));
        let lines = text.lines();
        let most = |at: usize| lines.get(at).map_or(0, Line::most_bytes);
        let shown = &mut self.shown;
        let repeats = shown.take_in(part, text.keys(), &length, size, most);
        if repeats.is_empty() {
            return;
        }
        let note = |repeat: &Repeat| {
            let lines = repeat.first..repeat.first + repeat.lines;
            let words = words(text, lines.start, lines.end);
            (lines, words.into())
        };
        let runs: Vec<_> = repeats.iter().map(note).collect();
        text.replace_runs(runs, RepeatedLines::ID, Why::LinesStandAbove);
        text.cite(repeats.iter().map(|repeat| repeat.source));
    }

    fn forget(&mut self, part: PartId) {
        self.shown.forget(part);
    }
}

impl Run<'_> {
    /// Takes in a text that a call writes.
    fn written(&mut self, part: PartId, text: &str) {
        let keys = written_lines(text, &mut self.spelled);
        self.shown.add(part, keys);
    }

    /// The same of a text where it stands.
    fn written_in_place(&mut self, part: PartId, text: Spelled<'_>) {
        let mut text = ArrivalText::in_place(text, &mut self.scratch);
        text.look_for_keys();
        self.shown.add(part, written_lines_in_place(&text));
        self.scratch.take_back(text.into_memory());
    }
}

/// The lines of a text that a call writes. Only those that stand in JSON as they are can be found again by their
/// reader.
fn written_lines<'t>(text: &'t str, spelled: &'t mut Vec<u8>) -> impl Iterator<Item = LineKey> {
    let is_plain = |line: &str| memchr::memchr3(b'"', b'\\', b'\t', line.as_bytes()).is_none();
    text.lines().map(move |line| {
        if is_plain(line) || is_plain(line.trim()) {
            LineKey::of_text(line.as_bytes(), spelled)
        } else {
            LineKey::GONE
        }
    })
}

/// The same of a text that JSON spells, whose keys were looked for.
fn written_lines_in_place(text: &ArrivalText<'_>) -> impl Iterator<Item = LineKey> {
    let is_plain = |line: &[u8]| memchr::memchr(b'\\', line).is_none();
    let lines = text.lines().iter().map(|line| text.kept_inside(line));
    lines.zip(text.keys()).map(move |(line, key)| {
        let trimmed = || trim_start(trim_end(line, Spelling::Json), Spelling::Json);
        if is_plain(line) || is_plain(trimmed()) {
            *key
        } else {
            LineKey::GONE
        }
    })
}

/// The limits for runs of a result that is about this file.
struct LongEnough<'o> {
    options: &'o RepeatedLines,
    facts: &'o ToolFacts,
    file: Option<usize>,
}

impl Length for LongEnough<'_> {
    fn is_enough(&self, lines: usize, chars: usize, source: PartId) -> bool {
        let is_same_file = || self.file.is_some() && self.facts.file(source) == self.file;
        self.is_long(lines, chars) || (self.is_long_in_file(lines, chars) && is_same_file())
    }

    fn shortest_line(&self) -> usize {
        let options = self.options;
        let anywhere = (options.min_lines <= 1).then_some(options.min_chars);
        let in_file = self.file.is_some() && options.same_file_min_lines <= 1;
        let in_file = in_file.then_some(options.same_file_min_chars);
        let limits = [anywhere, in_file].into_iter().flatten();
        limits.min().unwrap_or(usize::MAX)
    }

    fn counts_beyond(&self, chars: usize) -> bool {
        chars < self.options.min_chars.max(self.options.same_file_min_chars)
    }
}

impl LongEnough<'_> {
    fn is_long(&self, lines: usize, chars: usize) -> bool {
        lines >= self.options.min_lines && chars >= self.options.min_chars
    }

    fn is_long_in_file(&self, lines: usize, chars: usize) -> bool {
        lines >= self.options.same_file_min_lines && chars >= self.options.same_file_min_chars
    }
}

/// The note for these lines.
fn words(text: &ArrivalText<'_>, first: usize, end: usize) -> String {
    let (count, last) = (end - first, end - 1);
    let mut words = String::with_capacity(USUAL_NOTE);
    let from = number(text, first);
    let to = if count == 1 { from } else { number(text, last) };
    words.push('[');
    match (from, to) {
        (Some(only), _) if count == 1 => push_number(&mut words, only),
        (Some(from), Some(to)) if to.checked_sub(from) == Some(last as u64 - first as u64) => {
            push_number(&mut words, from);
            words.push('-');
            push_number(&mut words, to);
        }
        _ if count == 1 => words.push_str("1 line"),
        _ => {
            push_number(&mut words, count as u64);
            words.push_str(" lines");
        }
    }
    words.push_str(" as above]\n");
    words
}

/// Writes a number in digits. There are many notes.
fn push_number(words: &mut String, number: u64) {
    if number >= 10 {
        push_number(words, number / 10);
    }
    words.push(char::from(b'0' + (number % 10) as u8));
}

/// Room for a note.
const USUAL_NOTE: usize = 32;

/// The number that a line came with, in a listing or a search result.
fn number(text: &ArrivalText<'_>, at: usize) -> Option<u64> {
    let line = text.lines().get(at)?;
    leading_number(text.uncut(line), text.spelling())
        .or_else(|| leading_number(text.kept(line), text.spelling()))
}

/// The number at the start of a line, if a separator stands behind it.
fn leading_number(line: &[u8], spelling: Spelling) -> Option<u64> {
    let line = &line[leading_spaces(line)..];
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = line.split_at(digits);
    let is_separated = matches!(rest.first(), Some(b':' | b'-'))
        || rest.starts_with("→".as_bytes())
        || rest.starts_with(tab(spelling));
    if !is_separated || digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| {
        number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Cursor, unescaped};

    /// Pieces of literals that are spelled as usual.
    const PIECES: [&str; 10] = [
        "a",
        " ",
        "12→",
        "7:",
        "\\n",
        "\\t",
        "\\\"",
        "\\\\",
        "\u{a0}",
        "let name = value;",
    ];

    proptest::proptest! {
        #[test]
        fn a_text_that_is_written_has_the_same_lines_where_it_stands(
            pieces in proptest::collection::vec(0..PIECES.len(), 0..40),
        ) {
            let raw: String = pieces.iter().map(|&at| PIECES[at]).collect();
            let quoted = format!("\"{raw}\"");
            let literal = Cursor::over(&quoted, 1).string().unwrap();
            let mut scratch = LookScratch::default();
            let spelled = literal.spelled_as_usual(&quoted).unwrap();
            let mut in_place = ArrivalText::in_place(spelled, &mut scratch);
            in_place.look_for_keys();
            let found: Vec<LineKey> = written_lines_in_place(&in_place).collect();
            let (decoded, mut memory) = (unescaped(&raw), Vec::new());
            let expected: Vec<LineKey> = written_lines(&decoded, &mut memory).collect();
            proptest::prop_assert_eq!(found, expected, "{}", raw);
        }
    }
}
