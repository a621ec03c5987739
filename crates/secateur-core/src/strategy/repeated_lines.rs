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

use std::collections::HashMap;

use super::{Strategy, options};
use crate::arrival::{ArrivalText, Arrivals};
use crate::edit::{Plan, StrategyId, Why};
use crate::scene::Scene;
use crate::view::PartId;

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
        }))
    }
}

struct Run<'o> {
    options: &'o RepeatedLines,
    shown: Shown,
}

/// Arguments that put text into a file.
const TEXT_KEYS: [&str; 4] = ["new_string", "content", "new_str", "file_text"];

impl Arrivals for Run<'_> {
    fn call(&mut self, scene: &Scene<'_, '_>, part: PartId) {
        for text in scene.string_args(part, &TEXT_KEYS) {
            // Only lines that stand in JSON as they are can be found again by their reader.
            let spelled = |line: &str| !line.trim().contains(['"', '\\', '\t']);
            let hashes = text
                .lines()
                .map(|line| if spelled(line) { hash(line) } else { 0 })
                .collect();
            let is_anchor: Vec<bool> = text.lines().map(anchors).collect();
            self.shown.add(part, hashes, |at| is_anchor[at]);
        }
    }

    fn result(&mut self, scene: &Scene<'_, '_>, part: PartId, text: &mut ArrivalText<'_>) {
        if text.is_replaced() || scene.tool_class(part).is_none() {
            return;
        }
        let count = text.lines().len();
        let mut hashes: Vec<u64> = (0..count).map(|at| hash(text.line(at))).collect();
        let is_anchor: Vec<bool> = (0..count).map(|at| anchors(text.line(at))).collect();
        let sizes = |at: usize| text.line(at).len() + 1;
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
        let repeats = self.shown.repeats(&hashes, &is_anchor, is_long, sizes);
        if !repeats.is_empty() {
            let mut lines = Vec::with_capacity(count);
            let mut next = 0;
            for repeat in &repeats {
                lines.extend_from_slice(&text.lines()[next..repeat.first]);
                let end = repeat.first + repeat.lines;
                let mut note = text.lines()[repeat.first].clone();
                note.keep.end = note.keep.start;
                note.before = Some(words(text, repeat.first, end).into());
                note.after = None;
                lines.push(note);
                hashes[repeat.first..end].fill(0);
                next = end;
            }
            lines.extend_from_slice(&text.lines()[next..]);
            text.set_lines(lines, RepeatedLines::ID, Why::LinesStandAbove);
            for repeat in &repeats {
                text.cite(repeat.source);
            }
        }
        self.shown.add(part, hashes, |at| is_anchor[at]);
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
    let kept = text.lines().get(at)?.keep.start;
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

/// A run of lines found earlier.
struct Repeat {
    first: usize,
    lines: usize,
    source: PartId,
}

/// Where a line stands: text number and line number.
type Spot = (u32, u32);

/// Places remembered for one line: the newest.
const SPOTS_PER_LINE: usize = 6;

/// All lines that are whole in the context, as hashes; 0 is a line that is not there.
#[derive(Default)]
struct Shown {
    texts: Vec<(PartId, Vec<u64>)>,
    gone: Vec<bool>,
    spots: HashMap<u64, Vec<Spot>, Passed>,
    texts_of: HashMap<PartId, Vec<usize>>,
}

impl Shown {
    /// The runs that live texts hold; at each line the longest of the candidates, greedy from the top.
    fn repeats(
        &self,
        hashes: &[u64],
        is_anchor: &[bool],
        is_long: impl Fn(usize, usize, PartId) -> bool,
        size: impl Fn(usize) -> usize,
    ) -> Vec<Repeat> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < hashes.len() {
            let best = is_anchor[at].then(|| self.longest(&hashes[at..])).flatten();
            match best {
                Some((lines, source))
                    if is_long(lines, (at..at + lines).map(&size).sum(), source) =>
                {
                    found.push(Repeat {
                        first: at,
                        lines,
                        source,
                    });
                    at += lines;
                }
                _ => at += 1,
            }
        }
        found
    }

    /// The longest run at the start of `hashes` that stands in a live text, newest first.
    fn longest(&self, hashes: &[u64]) -> Option<(usize, PartId)> {
        let spots = self.spots.get(hashes.first()?)?;
        let mut best: Option<(usize, PartId)> = None;
        for &(text, line) in spots
            .iter()
            .rev()
            .filter(|(text, _)| !self.gone[*text as usize])
        {
            let (part, there) = &self.texts[text as usize];
            let same = hashes
                .iter()
                .zip(&there[line as usize..])
                .take_while(|(a, b)| a == b)
                .count();
            if best.is_none_or(|(lines, _)| same > lines) {
                best = Some((same, *part));
            }
        }
        best
    }

    fn add(&mut self, part: PartId, hashes: Vec<u64>, is_anchor: impl Fn(usize) -> bool) {
        let number = self.texts.len();
        for (at, &hash) in hashes.iter().enumerate() {
            if hash != 0 && is_anchor(at) {
                let spots = self.spots.entry(hash).or_default();
                if spots.len() == SPOTS_PER_LINE {
                    spots.remove(0);
                }
                spots.push((index(number), index(at)));
            }
        }
        self.texts.push((part, hashes));
        self.gone.push(false);
        self.texts_of.entry(part).or_default().push(number);
    }

    fn forget(&mut self, part: PartId) {
        for &number in self.texts_of.get(&part).into_iter().flatten() {
            self.gone[number] = true;
        }
    }
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The line without the number of a listing or of a search hit, and without trailing white space.
fn content(line: &str) -> &str {
    let trimmed = line.trim_start_matches(' ');
    let rest = trimmed.trim_start_matches(|character: char| character.is_ascii_digit());
    let is_numbered = rest.len() < trimmed.len();
    let code = match rest.chars().next() {
        Some('→') => Some(&rest['→'.len_utf8()..]),
        Some('\t' | ':' | '-') if is_numbered => Some(&rest[1..]),
        _ => None,
    };
    code.unwrap_or(line).trim_end()
}

/// Long enough to say something: short lines (`}`) are no place to start a run.
fn anchors(line: &str) -> bool {
    content(line).trim_start().len() >= 8
}

/// A hash of a line's content that is the same on every machine; never 0.
fn hash(line: &str) -> u64 {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let bytes = content(line).as_bytes();
    let mix = |state: u64, word: u64| (state ^ word).wrapping_mul(MULTIPLIER).rotate_left(29);
    let mut state = bytes.len() as u64;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        state = mix(
            state,
            <[u8; 8]>::try_from(word).map_or(0, u64::from_le_bytes),
        );
    }
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    let state = mix(state, u64::from_le_bytes(last));
    (state ^ (state >> 32)).wrapping_mul(MULTIPLIER) | 1
}

/// The keys are hashes already.
#[derive(Clone, Copy, Default)]
struct Passed;

impl std::hash::BuildHasher for Passed {
    type Hasher = PassedHasher;

    fn build_hasher(&self) -> PassedHasher {
        PassedHasher(0)
    }
}

struct PassedHasher(u64);

impl std::hash::Hasher for PassedHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}
