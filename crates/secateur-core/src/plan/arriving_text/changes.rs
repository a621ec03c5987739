//! The changes that strategies on arrival make to a text, and the resulting pieces.

use std::borrow::Cow;
use std::ops::Range;

use super::{ArrivalText, Line, Note, count_few_chars, offset};
use crate::plan::edit::{CutReason, Piece, StrategyId};
use crate::read::view::PartId;
use crate::text::line_number::Number;
use crate::text::spelling::Spelling;

impl ArrivalText<'_> {
    /// Takes something off the start of each line: `cut` gets the number that it begins with, and returns how many
    /// bytes and characters go. These are part of the number and what belongs to it, so the keys stay the same.
    pub(crate) fn cut_starts(
        &mut self,
        mut cut: impl FnMut(&Number) -> (u32, u32),
        strategy: StrategyId,
        why: CutReason,
    ) {
        self.numbers();
        let mut saved = 0;
        for (line, number) in self.lines.iter_mut().zip(&self.marks.numbers) {
            let (bytes, chars) = cut(number);
            line.start += bytes;
            line.cut += bytes;
            saved += chars as usize;
        }
        self.marks.numbers.clear();
        let now = self.chars.saturating_sub(saved);
        self.count(now, strategy, why);
    }

    /// Puts other lines in the place of the present ones.
    pub fn set_lines(&mut self, lines: &[Line], strategy: StrategyId, why: CutReason) {
        // Into the same memory, which is as large as the longest text was.
        self.lines.clear();
        self.lines.extend_from_slice(lines);
        self.are_whole = false;
        self.marks.clear();
        let now = self.lines.iter().map(|line| self.chars_of(line)).sum();
        self.count(now, strategy, why);
    }

    /// Puts a note in the place of each of these runs of lines, which are in order and disjoint.
    pub fn replace_runs(
        &mut self,
        runs: impl IntoIterator<Item = (Range<usize>, Cow<'static, str>)>,
        strategy: StrategyId,
        why: CutReason,
    ) {
        // A run leaves one line, so what stays moves up in place.
        let (mut next, mut to, mut now) = (0, 0, self.chars);
        for (run, words) in runs {
            self.lines.copy_within(next..run.start, to);
            to += run.start - next;
            next = run.end;
            now += words.chars().count();
            for line in &self.lines[run.clone()] {
                now = now.saturating_sub(self.chars_of(line));
            }
            let first = self.lines[run.start];
            let before = self.add_note(words);
            self.lines[to] = Line {
                end: first.start,
                end_shift: first.start_shift,
                before,
                after: 0,
                ..first
            };
            to += 1;
        }
        self.lines.copy_within(next.., to);
        let removed = next - to;
        self.lines.truncate(self.lines.len() - removed);
        self.are_whole = false;
        self.marks.clear();
        self.count(now, strategy, why);
    }

    /// Replaces the whole text.
    pub fn replace(&mut self, pieces: Vec<Piece>, strategy: StrategyId, why: CutReason) {
        let text = match self.spelling {
            Spelling::Text => self.bytes,
            Spelling::Json => self.original().as_bytes(),
        };
        let chars = |piece: &Piece| match piece {
            Piece::Keep(range) => count_few_chars(text.get(range.clone()).unwrap_or_default()),
            Piece::Note(words) => words.chars().count(),
        };
        let now = pieces.iter().map(chars).sum();
        self.lines.clear();
        self.are_whole = false;
        self.marks.clear();
        self.whole = Some(pieces);
        self.count(now, strategy, why);
    }

    /// A line that keeps the first bytes of another one, without escapes, which gives the words before it to the new
    /// line, and ends in a newline of our own.
    pub fn split_off(&mut self, line: &mut Line, bytes: usize) -> Line {
        let after = self.add_note(Cow::Borrowed("\n"));
        Line {
            before: std::mem::take(&mut line.before),
            after,
            end: line.start + offset(bytes),
            end_shift: line.start_shift,
            ..*line
        }
    }

    /// Characters of a line as it will be sent.
    pub(super) fn chars_of(&self, line: &Line) -> usize {
        let note = |note: Note| self.note(note).map_or(0, |words| words.chars().count());
        let escapes = (line.end_shift - line.start_shift) as usize;
        let kept = count_few_chars(self.kept(line)) - escapes;
        note(line.before) + kept + note(line.after)
    }

    fn add_note(&mut self, words: Cow<'static, str>) -> Note {
        self.notes.push(words);
        offset(self.notes.len())
    }

    fn note(&self, note: Note) -> Option<&Cow<'static, str>> {
        self.notes.get((note as usize).checked_sub(1)?)
    }

    /// Notes that words in this text point to `sources`, which must then stay as long as they do.
    pub fn cite(&mut self, sources: impl IntoIterator<Item = PartId>) {
        self.cites.extend(sources);
    }

    /// The parts that words in this text point to, each once, in order.
    pub(crate) fn take_cites(&mut self) -> Vec<PartId> {
        let mut cites = std::mem::take(&mut self.cites);
        cites.sort_unstable();
        cites.dedup();
        cites
    }

    /// The text has so many characters from now on. Of those who saved as much, the last one counts.
    fn count(&mut self, now: usize, strategy: StrategyId, why: CutReason) {
        let saved = self.chars.saturating_sub(now);
        if self.best.is_none_or(|(_, _, most)| saved >= most) {
            self.best = Some((strategy, why, saved));
        }
        self.chars = now;
    }

    /// The pieces, and the strategy that saved most; `None` if nothing was saved.
    pub(crate) fn finish(&mut self) -> Option<(Vec<Piece>, StrategyId, CutReason)> {
        let (strategy, why, saved) = self.best?;
        if saved == 0 {
            return None;
        }
        let pieces = match self.whole.take() {
            Some(pieces) => pieces,
            None => self.pieces(),
        };
        Some((pieces, strategy, why))
    }

    /// Lines as pieces, neighbours joined.
    fn pieces(&mut self) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::with_capacity(self.lines.len());
        let mut run = 0..0;
        for line in &self.lines {
            let keep = line.keep();
            if line.before != 0 {
                flush(&mut run, &mut pieces);
                pieces.extend(take_note(&mut self.notes, line.before));
            }
            if run.end == keep.start {
                run.end = keep.end;
            } else if !keep.is_empty() {
                flush(&mut run, &mut pieces);
                run = keep;
            }
            if line.after != 0 {
                flush(&mut run, &mut pieces);
                pieces.extend(take_note(&mut self.notes, line.after));
            }
        }
        flush(&mut run, &mut pieces);
        pieces
    }
}

/// Puts a run of kept bytes after the pieces and empties it.
fn flush(run: &mut Range<usize>, pieces: &mut Vec<Piece>) {
    if run.start < run.end {
        pieces.push(Piece::Keep(run.clone()));
    }
    run.start = run.end;
}

fn take_note(notes: &mut [Cow<'static, str>], note: Note) -> Option<Piece> {
    let words = notes.get_mut((note as usize).checked_sub(1)?)?;
    Some(Piece::Note(std::mem::take(words)))
}
