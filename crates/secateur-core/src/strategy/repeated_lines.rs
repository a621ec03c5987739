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
//! replaced as a whole. A part that a note points to stays as long as the note does.
//!
//! ## Example
//! Lines 40 to 159 that were read before become `[40-159 as above]`.
//!
//! Works on arrival, so no cached byte is rewritten.

mod line_key;
mod shown;

use super::{Strategy, options};
use crate::arrival::{ArrivalText, Arrivals};
use crate::edit::{Plan, StrategyId, Why};
use crate::scene::Scene;
use crate::view::PartId;
use line_key::LineKey;
use shown::{Repeat, Shown};

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
            keys: Vec::new(),
        }))
    }
}

struct Run<'o> {
    options: &'o RepeatedLines,
    shown: Shown,
    /// Scratch: the lines of the text that is looked at.
    keys: Vec<LineKey>,
}

/// Arguments that put text into a file.
const TEXT_KEYS: [&str; 4] = ["new_string", "content", "new_str", "file_text"];

impl Arrivals for Run<'_> {
    fn call(&mut self, scene: &Scene<'_, '_>, part: PartId) {
        for text in scene.string_args(part, &TEXT_KEYS) {
            // Only lines that stand in JSON as they are can be found again by their reader.
            let is_spelled = |line: &str| {
                let line = line.trim().as_bytes();
                memchr::memchr3(b'"', b'\\', b'\t', line).is_none()
            };
            self.keys.clear();
            self.keys.extend(text.lines().map(|line| {
                let key = LineKey::of(line.as_bytes());
                if is_spelled(line) { key } else { LineKey::GONE }
            }));
            self.shown.add(part, &self.keys);
        }
    }

    fn result(&mut self, scene: &Scene<'_, '_>, part: PartId, text: &mut ArrivalText<'_>) {
        if text.is_replaced() || scene.tool_class(part).is_none() {
            return;
        }
        self.keys.clear();
        let count = text.lines().len();
        self.keys
            .extend((0..count).map(|at| LineKey::of(text.line_bytes(at))));
        let size = |at: usize| text.line_bytes(at).len() + 1;
        let facts = scene.tool_facts();
        let file = facts.file(part);
        let is_same_file = |source: PartId| file.is_some() && facts.file(source) == file;
        let options = self.options;
        let is_long = |lines: usize, chars: usize, source: PartId| {
            (lines >= options.min_lines && chars >= options.min_chars)
                || (lines >= options.same_file_min_lines
                    && chars >= options.same_file_min_chars
                    && is_same_file(source))
        };
        let repeats = self.shown.repeats(&self.keys, is_long, size);
        if !repeats.is_empty() {
            let note = |repeat: &Repeat| {
                let lines = repeat.first..repeat.first + repeat.lines;
                let words = words(text, lines.start, lines.end);
                (lines, words.into())
            };
            let runs: Vec<_> = repeats.iter().map(note).collect();
            text.replace_runs(runs, RepeatedLines::ID, Why::LinesStandAbove);
            for repeat in &repeats {
                text.cite(repeat.source);
                self.keys[repeat.first..repeat.first + repeat.lines].fill(LineKey::GONE);
            }
        }
        self.shown.add(part, &self.keys);
    }

    fn forget(&mut self, part: PartId) {
        self.shown.forget(part);
    }
}

/// The note for these lines.
fn words(text: &ArrivalText<'_>, first: usize, end: usize) -> String {
    let (count, last) = (end - first, end - 1);
    match (number(text, first), number(text, last)) {
        (Some(only), _) if count == 1 => format!("[{only} as above]\n"),
        (Some(from), Some(to)) if to.checked_sub(from) == Some(last as u64 - first as u64) => {
            format!("[{from}-{to} as above]\n")
        }
        _ if count == 1 => "[1 line as above]\n".to_owned(),
        _ => format!("[{count} lines as above]\n"),
    }
}

/// The number that a line came with, in a listing or a search result.
fn number(text: &ArrivalText<'_>, at: usize) -> Option<u64> {
    let kept = text.lines().get(at)?.keep().start;
    let before = text.original().get(..kept)?;
    let start = memchr::memrchr(b'\n', before.as_bytes()).map_or(0, |newline| newline + 1);
    let whole = text.original().get(start..)?;
    let leading = |line: &str| {
        let line = line.trim_start_matches(' ');
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        line[digits..]
            .starts_with(['→', '\t', ':', '-'])
            .then(|| line[..digits].parse().ok())?
    };
    leading(whole).or_else(|| leading(text.line(at)))
}
