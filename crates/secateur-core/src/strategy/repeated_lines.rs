//! Removes runs of lines from an arriving result that were shown earlier.
//!
//! ## What it cuts
//! A file read again after an edit shows mostly what was shown before; the answer of an edit shows the
//! lines of the edit. A run of at least `min_lines` lines and `min_chars` characters that an earlier,
//! untouched result or an earlier call's arguments hold, contiguous and equal, becomes a note; runs of
//! the same file have limits of their own. Line numbers and trailing white space are not compared;
//! indentation is. The note says which lines it stands for where they are numbered, else how many, and where they
//! were shown; notes after it that point to the same place are shorter, and so are those of short runs.
//!
//! ## When it stays out
//! Results of tools that are not known to show files, commands or searches, and texts that were
//! replaced as a whole. What a note points to stays as long as the note does.
//!
//! ## Example
//! Lines 40 to 159 that were read before become `[lines 40-159 unchanged since the earlier read of src/a.py]`, and
//! lines 165 to 180 of the same result `[165-180 unchanged]`.
//!
//! Works on arrival, so no cached byte is rewritten.

mod shown;

use std::ops::Range;

use super::{Strategy, Work};
use crate::arrival::Arrivals;
use crate::options::options;
use crate::plan::arriving_text::{ArrivalText, Line, ScanScratch};
use crate::plan::context::PlanContext;
use crate::plan::edit::{CutReason, StrategyId};
use crate::read::view::{PartId, PartKind};
use crate::text::line_facts::LineKey;
use crate::text::line_number::any_leading_number;
use crate::text::line_space::{trim_end, trim_start};
use crate::text::spelling::Spelling;
use crate::tools::class::{ToolClass, file_name};
use crate::tools::facts::ToolFacts;
use secateur_json::Spelled;
use shown::{Length, NewText, Shown};

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

    fn work(&self) -> Work<'_> {
        Work::OnArrival(Box::new(Run {
            options: self,
            shown: Shown::default(),
            spelled: Vec::new(),
            scratch: ScanScratch::default(),
        }))
    }
}

struct Run<'o> {
    options: &'o RepeatedLines,
    shown: Shown,
    /// Scratch: a line as JSON spells it.
    spelled: Vec<u8>,
    scratch: ScanScratch,
}

/// Arguments that put text into a file.
const TEXT_KEYS: [&str; 4] = ["new_string", "content", "new_str", "file_text"];

impl Arrivals for Run<'_> {
    fn call(&mut self, context: &PlanContext<'_, '_>, part: PartId) {
        self.shown.expect(context.view.body().len());
        let args = context.args(part);
        let texts = context.call_args().texts(&args, part, &TEXT_KEYS);
        for text in texts.into_iter().flatten() {
            match text.spelled_as_usual(&args) {
                Some(text) => self.written_in_place(context, part, text),
                None => self.written(context, part, &text.decode(&args)),
            }
        }
    }

    fn result(&mut self, context: &PlanContext<'_, '_>, part: PartId, text: &mut ArrivalText<'_>) {
        if text.is_replaced() || context.tool_class(part).is_none() {
            return;
        }
        self.shown.expect(context.view.body().len());
        text.scan_for_keys();
        let facts = context.tool_facts();
        let length = LongEnough {
            options: self.options,
            facts,
            file: facts.file(part),
        };
        let size = |at: usize| text.lines().get(at).map_or(0, |line| text.size(line));
        let lines = text.lines();
        let most = |at: usize| lines.get(at).map_or(0, Line::most_bytes);
        let place = |at: usize| lines.get(at).map_or(0..0, |line| text.inside(line));
        let new = new_text(context, part, text);
        let shown = &mut self.shown;
        let repeats = shown.take_in(new, text.keys(), place, &length, size, most);
        if repeats.is_empty() {
            return;
        }
        let mut lead = String::new();
        let mut runs = Vec::with_capacity(repeats.len());
        let mut sources = Vec::with_capacity(repeats.len());
        for repeat in &repeats {
            let lines = repeat.first..repeat.first + repeat.lines;
            let place = Place::of(context, part, repeat.source);
            let words = place.words();
            let removed: usize = lines.clone().map(size).sum();
            let fits = |note: &String| note.len() < removed;
            let found = if lead == words {
                Some(note(text, &lines, place.short(), true)).filter(fits)
            } else {
                let long = Some(note(text, &lines, &words, false)).filter(fits);
                if long.is_some() {
                    lead = words;
                }
                long.or_else(|| Some(note(text, &lines, ABOVE, true)).filter(fits))
            };
            if let Some(note) = found {
                runs.push((lines, note.into()));
                sources.push(repeat.source);
            }
        }
        if runs.is_empty() {
            return;
        }
        text.replace_runs(runs, RepeatedLines::ID, CutReason::LinesStandAbove);
        text.cite(sources);
    }

    fn forget(&mut self, part: PartId) {
        self.shown.forget(part);
    }
}

impl Run<'_> {
    /// Takes in a text that a call writes.
    fn written(&mut self, context: &PlanContext<'_, '_>, part: PartId, text: &str) {
        let keys = written_lines(text, &mut self.spelled);
        let new = NewText {
            part,
            body: context.view.body(),
            bytes: text.as_bytes(),
            spelling: Spelling::Text,
        };
        self.shown.add(new, keys, line_places(text));
    }

    /// Takes in a text that a call writes, as its literal spells it.
    fn written_in_place(&mut self, context: &PlanContext<'_, '_>, part: PartId, text: Spelled<'_>) {
        let mut text = ArrivalText::in_place(text, &mut self.scratch);
        text.scan_for_keys();
        let places = text.lines().iter().map(|line| text.inside(line));
        let new = new_text(context, part, &text);
        let keys = written_lines_in_place(&text);
        self.shown.add(new, keys, places);
        self.scratch.take_back(text.into_memory());
    }
}

/// A text of a part, with the bytes that its lines are parts of.
fn new_text<'t>(
    context: &PlanContext<'_, 't>,
    part: PartId,
    text: &ArrivalText<'t>,
) -> NewText<'t> {
    NewText {
        part,
        body: context.view.body(),
        bytes: text.bytes(),
        spelling: text.spelling(),
    }
}

/// Where the lines of a text are, without their newlines.
fn line_places(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = end;
        end += line.len();
        start..start + line.strip_suffix('\n').unwrap_or(line).len()
    })
}

/// The lines of a text that a call writes. Only those that JSON spells without escapes can be found again by their
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

/// The same for a text in JSON spelling, whose keys are known.
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

/// Where lines were shown.
enum Place<'f> {
    /// An earlier read of the same file.
    Read(&'f str),
    /// A call that wrote to this file.
    Written(&'f str),
    /// What else was shown of this file.
    In(&'f str),
    Above,
}

impl<'s> Place<'s> {
    fn of(context: &PlanContext<'s, '_>, part: PartId, source: PartId) -> Self {
        let facts = context.tool_facts();
        let Some(path) = facts.path(source).map(end_of_path) else {
            return Self::Above;
        };
        let is_same = facts.file(source) == facts.file(part);
        match (context.kind(source), facts.class(source)) {
            (PartKind::Call, _) => Self::Written(path),
            // The call of this result names the whole path.
            (_, Some(ToolClass::Read)) if is_same => Self::Read(file_name(path)),
            _ => Self::In(path),
        }
    }

    /// For the first note that points there.
    fn words(&self) -> String {
        match self {
            Self::Read(path) => format!(" unchanged since the earlier read of {path}]\n"),
            Self::Written(path) => format!(" as written to {path} above]\n"),
            Self::In(path) => format!(" as shown of {path} above]\n"),
            Self::Above => ABOVE.to_owned(),
        }
    }

    /// For the notes after it.
    fn short(&self) -> &'static str {
        match self {
            Self::Read(_) => " unchanged]\n",
            Self::Written(_) => " as written]\n",
            Self::In(_) | Self::Above => " as shown]\n",
        }
    }
}

/// For a run that is no longer than the words that say where.
const ABOVE: &str = " as above]\n";

/// The last two components of a path.
fn end_of_path(path: &str) -> &str {
    let mut slashes = path.rmatch_indices(['/', '\\']).map(|(at, _)| at);
    slashes.nth(1).map_or(path, |at| &path[at + 1..])
}

/// The note for these lines, which ends with these words. A short one leaves out what the one before it says.
fn note(text: &ArrivalText<'_>, lines: &Range<usize>, end: &str, is_short: bool) -> String {
    let (count, last) = (lines.len(), lines.end - 1);
    let mut words = String::with_capacity(USUAL_NOTE + end.len());
    let from = number(text, lines.start);
    let to = if count == 1 { from } else { number(text, last) };
    words.push('[');
    let named = |words: &mut String, name: &str| {
        if !is_short {
            words.push_str(name);
        }
    };
    match (from, to) {
        (Some(only), _) if count == 1 => {
            named(&mut words, "line ");
            push_number(&mut words, only);
        }
        (Some(from), Some(to)) if to.checked_sub(from) == Some(count as u64 - 1) => {
            named(&mut words, "lines ");
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
    words.push_str(end);
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

/// The number at the start of a line, in a listing or a search result.
fn number(text: &ArrivalText<'_>, at: usize) -> Option<u64> {
    let line = text.lines().get(at)?;
    any_leading_number(text.uncut(line), text.spelling())
        .or_else(|| any_leading_number(text.kept(line), text.spelling()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use secateur_json::{Cursor, unescaped};

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

    #[test]
    fn a_path_is_named_by_its_end() {
        for (path, end) in [
            ("a.rs", "a.rs"),
            ("src/a.rs", "src/a.rs"),
            ("/repo/src/a.rs", "src/a.rs"),
            ("C:\\repo\\src\\a.rs", "src\\a.rs"),
            ("", ""),
        ] {
            assert_eq!(end_of_path(path), end);
        }
    }

    proptest::proptest! {
        #[test]
        fn a_text_that_is_written_has_the_same_lines_in_place(
            pieces in proptest::collection::vec(0..PIECES.len(), 0..40),
        ) {
            let raw: String = pieces.iter().map(|&at| PIECES[at]).collect();
            let quoted = format!("\"{raw}\"");
            let literal = Cursor::over(&quoted, 1).string().unwrap();
            let mut scratch = ScanScratch::default();
            let spelled = literal.spelled_as_usual(&quoted).unwrap();
            let mut in_place = ArrivalText::in_place(spelled, &mut scratch);
            in_place.scan_for_keys();
            let found: Vec<LineKey> = written_lines_in_place(&in_place).collect();
            let (decoded, mut memory) = (unescaped(&raw), Vec::new());
            let expected: Vec<LineKey> = written_lines(&decoded, &mut memory).collect();
            proptest::prop_assert_eq!(found, expected, "{}", raw);
        }
    }
}
