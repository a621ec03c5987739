//! Turns chosen units into pieces: kept ranges, and marks that say what is missing.

use std::ops::Range;

use super::escapes::visible_runs;
use super::kind::Layout;
use super::marks::{Gap, header, mark, routine, widest_mark_chars};
use super::select::{by_density, select};
use super::units::{Glue, Unit};
use super::{Condensed, OutputKind, Piece};

/// How many misfits end the selection where neighbours belong together.
const CONTIGUOUS_PATIENCE: usize = 6;

pub(super) fn assemble(
    text: &str,
    layout: &Layout,
    chars_before: usize,
    max_chars: usize,
) -> Condensed {
    let units = &layout.units;
    let total_lines = count_lines(text, units);
    let mark_chars = widest_mark_chars(layout.kind, total_lines, chars_before);
    let header_chars = header(layout, total_lines, total_lines).chars().count();
    let examples_chars = if layout.kind == OutputKind::Json {
        0
    } else {
        (max_chars / 16).min(800)
    };
    let patience = match layout.kind {
        OutputKind::Diff | OutputKind::NumberedLines | OutputKind::Plain => CONTIGUOUS_PATIENCE,
        _ => usize::MAX,
    };
    let room = max_chars.saturating_sub(header_chars + examples_chars);
    let order = by_density(units);
    let mut kept = select(units, &order, room, mark_chars, patience);
    // Marks are mostly shorter than the widest: what they leave is used in a second round.
    let marks = Writer::new(text, layout);
    let spare =
        max_chars.saturating_sub(examples_chars + header_chars + marks.chars_of(units, &kept));
    let fuller = select(units, &order, room + spare, mark_chars, patience);
    if header_chars + marks.chars_of(units, &fuller) <= max_chars {
        kept = fuller;
    }
    let gaps = gaps_of(&kept);
    let used = header_chars + marks.chars_of(units, &kept);
    let examples = choose_examples(text, layout, &gaps, max_chars.saturating_sub(used));

    let mut writer = Writer::new(text, layout);
    writer.pieces.push(Piece::Note(String::new().into()));
    let mut kept_lines = 0;
    let mut at = 0;
    for (gap, example) in gaps.iter().zip(&examples) {
        kept_lines += writer.keep(&units[at..gap.start]);
        writer.gap(&units[gap.clone()], units.get(gap.end), example);
        at = gap.end;
    }
    kept_lines += writer.keep(&units[at..]);
    let head = header(layout, kept_lines, total_lines);
    writer.chars += head.chars().count();
    if let Some(first) = writer.pieces.first_mut() {
        *first = Piece::Note(head.into());
    }
    Condensed {
        pieces: writer.pieces,
        kind: layout.kind,
        chars_before,
        chars_after: writer.chars,
    }
}

/// Line ends in adjacent units, and a last line without one.
fn count_lines(text: &str, units: &[Unit]) -> usize {
    let Some(last) = units.last() else { return 0 };
    let breaks: usize = units.iter().map(|unit| unit.lines as usize).sum();
    let end = last.end as usize;
    breaks + usize::from(end == text.len() && !text.ends_with('\n'))
}

fn gaps_of(kept: &[bool]) -> Vec<Range<usize>> {
    let mut gaps = Vec::new();
    let mut at = 0;
    while at < kept.len() {
        if kept[at] {
            at += 1;
            continue;
        }
        let end = (at..kept.len())
            .find(|&next| kept[next])
            .unwrap_or(kept.len());
        gaps.push(at..end);
        at = end;
    }
    gaps
}

/// Spends what is left of the budget on saying what the largest gaps mostly held.
fn choose_examples(
    text: &str,
    layout: &Layout,
    gaps: &[Range<usize>],
    mut left: usize,
) -> Vec<String> {
    let mut examples = vec![String::new(); gaps.len()];
    if layout.kind == OutputKind::Json {
        return examples;
    }
    let mut by_size: Vec<usize> = (0..gaps.len()).collect();
    by_size.sort_by_key(|&index| (std::cmp::Reverse(gaps[index].len()), index));
    for index in by_size {
        let gap = &layout.units[gaps[index].clone()];
        let Some(example) = routine(text, gap, layout.splitting.escapes) else {
            continue;
        };
        let chars = example.chars().count();
        if chars <= left {
            left -= chars;
            examples[index] = example;
        }
    }
    examples
}

struct Writer<'a> {
    text: &'a str,
    layout: &'a Layout,
    pieces: Vec<Piece>,
    chars: usize,
}

impl<'a> Writer<'a> {
    fn new(text: &'a str, layout: &'a Layout) -> Self {
        Self {
            text,
            layout,
            pieces: Vec::new(),
            chars: 0,
        }
    }

    /// At most how many characters these units and the marks between them are.
    fn chars_of(&self, units: &[Unit], kept: &[bool]) -> usize {
        let keeping = units.iter().zip(kept).filter(|(_, kept)| **kept);
        let chars: usize = keeping.map(|(unit, _)| unit.chars as usize).sum();
        let marks = gaps_of(kept).into_iter().map(|gap| {
            let next = units.get(gap.end);
            self.mark(&units[gap], next, "").chars().count()
        });
        chars + marks.sum::<usize>()
    }

    fn note(&mut self, note: String) {
        self.chars += note.chars().count();
        self.pieces.push(Piece::Note(note.into()));
    }

    /// Keeps adjacent units and returns how many lines they are.
    fn keep(&mut self, units: &[Unit]) -> usize {
        for unit in units {
            let span = unit.body_span();
            if span.is_empty() {
                continue;
            }
            let touches = match self.pieces.last() {
                Some(Piece::Keep(last)) => last.end == span.start,
                _ => true,
            };
            match unit.glue {
                Glue::Blank if !touches => self.note(" ".to_owned()),
                Glue::Newline if !touches => self.note("\n".to_owned()),
                _ => {}
            }
            if self.layout.splitting.escapes {
                let bytes = self.text.as_bytes();
                visible_runs(bytes, span.start, span.end, |from, to| {
                    self.keep_range(from..to);
                });
            } else {
                self.keep_range(span);
            }
        }
        count_lines(self.text, units)
    }

    fn keep_range(&mut self, range: Range<usize>) {
        self.chars += self.text[range.clone()].chars().count();
        match self.pieces.last_mut() {
            Some(Piece::Keep(last)) if last.end == range.start => last.end = range.end,
            _ => self.pieces.push(Piece::Keep(range)),
        }
    }

    fn gap(&mut self, units: &[Unit], next: Option<&Unit>, example: &str) {
        let mark = self.mark(units, next, example);
        self.note(mark);
    }

    /// The mark for units that are left out: on a line of its own, unless the gap is inside a line.
    fn mark(&self, units: &[Unit], next: Option<&Unit>, example: &str) -> String {
        let (Some(first), Some(last)) = (units.first(), units.last()) else {
            return String::new();
        };
        let bytes = self.text.as_bytes();
        let gap = Gap {
            units,
            next,
            lines: count_lines(self.text, units),
            chars: units.iter().map(|unit| unit.chars as usize).sum(),
            opens_line: first.start == 0
                || matches!(bytes[first.start as usize - 1], b'\n' | b'\r'),
            ends_line: matches!(bytes[last.end as usize - 1], b'\n' | b'\r'),
        };
        mark(self.layout.kind, gap, example)
    }
}
