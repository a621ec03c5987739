//! Turns chosen units into pieces: kept ranges, and marks that say what is missing.

use std::collections::HashMap;
use std::ops::Range;

use super::escapes::visible_runs;
use super::kind::Layout;
use super::select::select;
use super::units::Unit;
use super::{Condensed, Piece};

/// Characters of an example line inside a mark.
const EXAMPLE_CHARS: usize = 40;

pub(super) fn assemble(text: &str, layout: &Layout, chars_before: usize, max_chars: usize) -> Condensed {
    let units = &layout.units;
    let total_lines = count_lines(text, units);
    let mark_chars = mark(total_lines, chars_before, "").chars().count() + 2;
    let header_room = header(layout, total_lines, total_lines).chars().count();
    let examples_room = (max_chars / 16).min(800);
    let room = max_chars.saturating_sub(header_room + examples_room);
    let kept = select(units, room, mark_chars);

    let mut writer = Writer { text, escapes: layout.splitting.escapes, pieces: Vec::new(), chars: 0 };
    writer.note(String::new());
    let gaps = gaps_of(&kept);
    let examples = choose_examples(text, layout, &gaps, max_chars, header_room, mark_chars, &kept);
    let mut kept_lines = 0;
    let mut at = 0;
    for (gap, example) in gaps.iter().zip(&examples) {
        kept_lines += writer.keep(&units[at..gap.start]);
        writer.gap(&units[gap.clone()], example);
        at = gap.end;
    }
    kept_lines += writer.keep(&units[at..]);
    let head = header(layout, kept_lines, total_lines);
    writer.chars += head.chars().count();
    if let Some(first) = writer.pieces.first_mut() {
        *first = Piece::Note(head);
    }
    Condensed { pieces: writer.pieces, kind: layout.kind, chars_before, chars_after: writer.chars }
}

fn header(layout: &Layout, kept_lines: usize, total_lines: usize) -> String {
    let mut note = format!("[Shortened: {} of {} lines kept", grouped(kept_lines), grouped(total_lines));
    match (layout.splitting.timestamps, layout.splitting.escapes) {
        (true, true) => note.push_str(", without line timestamps and colour codes"),
        (true, false) => note.push_str(", without line timestamps"),
        (false, true) => note.push_str(", without colour codes"),
        (false, false) => {}
    }
    note.push_str("; [… ] marks what was left out]\n");
    note
}

/// `1204` as `1,204`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn mark(lines: usize, chars: usize, example: &str) -> String {
    match lines {
        0 => format!("[… {} characters]", grouped(chars)),
        1 => format!("[… 1 line{example}]"),
        _ => format!("[… {} lines{example}]", grouped(lines)),
    }
}

fn count_lines(text: &str, units: &[Unit]) -> usize {
    let Some(first) = units.first() else { return 0 };
    let Some(last) = units.last() else { return 0 };
    let span = &text.as_bytes()[first.start as usize..last.end as usize];
    let breaks = span.iter().filter(|byte| **byte == b'\n').count();
    breaks + usize::from(!span.ends_with(b"\n") && last.end as usize == text.len())
}

fn gaps_of(kept: &[bool]) -> Vec<Range<usize>> {
    let mut gaps = Vec::new();
    let mut at = 0;
    while at < kept.len() {
        if kept[at] {
            at += 1;
            continue;
        }
        let end = (at..kept.len()).find(|&next| kept[next]).unwrap_or(kept.len());
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
    max_chars: usize,
    header_room: usize,
    mark_chars: usize,
    kept: &[bool],
) -> Vec<String> {
    let units = &layout.units;
    let mut examples = vec![String::new(); gaps.len()];
    let kept_chars: usize = units.iter().zip(kept).filter(|(_, kept)| **kept).map(|(unit, _)| unit.chars as usize).sum();
    let used = header_room + kept_chars + gaps.len() * mark_chars;
    let mut left = max_chars.saturating_sub(used);
    let mut by_size: Vec<usize> = (0..gaps.len()).collect();
    by_size.sort_by_key(|&index| (std::cmp::Reverse(gaps[index].len()), index));
    for index in by_size {
        let gap = &units[gaps[index].clone()];
        let Some(example) = routine(text, gap, layout.splitting.escapes) else { continue };
        let chars = example.chars().count();
        if chars <= left {
            left -= chars;
            examples[index] = example;
        }
    }
    examples
}

/// The most frequent shape of a gap, if it makes up a third of it: `, 1,180 like "Downloading x"`.
fn routine(text: &str, gap: &[Unit], escapes: bool) -> Option<String> {
    if gap.len() < 6 {
        return None;
    }
    let mut counts: HashMap<u64, usize> = HashMap::new();
    for unit in gap {
        *counts.entry(unit.shape).or_default() += 1;
    }
    let mut best: Option<(&Unit, usize)> = None;
    for unit in gap {
        let count = counts.get(&unit.shape).copied().unwrap_or(0);
        if unit.shape != 0 && best.is_none_or(|(_, most)| count > most) {
            best = Some((unit, count));
        }
    }
    let (unit, count) = best.filter(|(_, count)| *count >= 3 && count * 3 >= gap.len())?;
    let mut line = String::new();
    let span = unit.body_span();
    if escapes {
        visible_runs(text.as_bytes(), span.start, span.end, |from, to| line.push_str(&text[from..to]));
    } else {
        line.push_str(&text[span]);
    }
    let words = line.trim();
    if words.is_empty() {
        return None;
    }
    let cut: String = words.chars().take(EXAMPLE_CHARS).collect();
    let more = if cut.len() < words.len() { "…" } else { "" };
    Some(format!(", {} like `{cut}{more}`", grouped(count)))
}

struct Writer<'a> {
    text: &'a str,
    escapes: bool,
    pieces: Vec<Piece>,
    chars: usize,
}

impl Writer<'_> {
    fn note(&mut self, note: String) {
        self.chars += note.chars().count();
        self.pieces.push(Piece::Note(note));
    }

    /// Keeps adjacent units and returns how many lines they are.
    fn keep(&mut self, units: &[Unit]) -> usize {
        for unit in units {
            self.chars += unit.chars as usize;
            let span = unit.body_span();
            if self.escapes {
                let mut runs = Vec::new();
                visible_runs(self.text.as_bytes(), span.start, span.end, |from, to| runs.push(from..to));
                for run in runs {
                    self.keep_range(run);
                }
            } else {
                self.keep_range(span);
            }
        }
        count_lines(self.text, units)
    }

    fn keep_range(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        match self.pieces.last_mut() {
            Some(Piece::Keep(last)) if last.end == range.start => last.end = range.end,
            _ => self.pieces.push(Piece::Keep(range)),
        }
    }

    /// Marks units that are left out. On a line of its own, unless the gap is inside a line.
    fn gap(&mut self, units: &[Unit], example: &str) {
        let (Some(first), Some(last)) = (units.first(), units.last()) else { return };
        let bytes = self.text.as_bytes();
        let lines = count_lines(self.text, units);
        let chars: usize = units.iter().map(|unit| unit.chars as usize).sum();
        let opens_line = first.start == 0 || matches!(bytes[first.start as usize - 1], b'\n' | b'\r');
        let ends_line = matches!(bytes[last.end as usize - 1], b'\n' | b'\r');
        let mark = if opens_line || lines > 1 { mark(lines, chars, example) } else { mark(0, chars, "") };
        self.note(if ends_line { format!("{mark}\n") } else { mark });
    }
}
