//! Removes runs of lines from an arriving result that stand above already.
//!
//! ## What it cuts
//! A file read again after an edit shows mostly what was shown before; the answer of an edit shows the
//! lines of the edit. A run of at least `min_lines` lines and `min_chars` characters that an earlier,
//! untouched result or an earlier call's arguments hold, contiguous and equal, becomes a note. Line
//! numbers and trailing white space are not compared; indentation is.
//!
//! ## When it stays out
//! Results of tools that are not known to show files, commands or searches, and texts that were
//! replaced as a whole. A part that a note points to stays as long as the note does.
//!
//! ## Example
//! 120 lines that were read before become `[120 lines, unchanged, as shown above]`.
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
use shown::Shown;

options! {
    /// Options of `repeated-lines`.
    pub struct RepeatedLines {
        /// Shortest run, in lines.
        min_lines: usize = 3,
        /// Shortest run, in characters.
        min_chars: usize = 120,
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
        let repeats = self.shown.repeats(&self.keys, self.options, size);
        if !repeats.is_empty() {
            let runs = repeats.iter().map(|repeat| {
                let note = format!("[{} lines, unchanged, as shown above]\n", repeat.lines);
                (repeat.first..repeat.first + repeat.lines, note.into())
            });
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
