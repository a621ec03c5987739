//! The pieces that are kept or left out whole: lines, and chunks of lines that are too long.

use super::escapes::{may_hold_escapes, visible_runs};
use super::timestamp::Prefix;
use secateur_json::strings::count_chars;

/// A stretch of the text. Units are adjacent and cover the text without gaps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    pub start: u32,
    /// Where the text begins after a timestamp that is left out.
    pub body: u32,
    /// Behind the line ending, if the unit has one.
    pub end: u32,
    /// Characters that keeping it costs, line ending included, escapes not.
    pub chars: u32,
    /// Line ends in it.
    pub lines: u32,
    /// How much it is worth; 0 is never chosen for its own sake.
    pub value: u32,
    /// Equal for units of the same shape; 0 is equal to none.
    pub shape: u64,
    /// What comes before it when its predecessor is kept but does not touch it.
    pub glue: Glue,
}

/// A separator for units whose markup is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Glue {
    None,
    Blank,
    Newline,
}

/// Added to each unit's characters, so that a short unit does not win by shortness alone.
pub(super) const UNIT_OVERHEAD: u32 = 40;

impl Unit {
    /// Sets the value so that the unit ranks by `rank` whatever its length.
    pub(super) fn rank(&mut self, rank: u32) {
        let value = u64::from(rank) * u64::from(self.chars + UNIT_OVERHEAD) / 64;
        self.value = u32::try_from(value)
            .unwrap_or(u32::MAX)
            .max(u32::from(rank > 0));
    }

    /// What is kept of it, escapes included.
    pub(super) fn body_span(&self) -> std::ops::Range<usize> {
        self.body as usize..self.end as usize
    }
}

/// How lines are taken apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Splitting {
    /// What most lines begin with, which is left out.
    pub prefix: Prefix,
    /// The text holds terminal escapes, which are left out.
    pub escapes: bool,
    /// Longer lines are cut into chunks of about this many bytes.
    pub chunk_bytes: usize,
}

impl Splitting {
    /// Searches the first lines for a prefix and the whole text for escapes.
    pub(super) fn of(text: &str, max_chars: usize) -> Self {
        let bytes = text.as_bytes();
        let lines: Vec<&[u8]> = bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .take(200)
            .collect();
        let prefix = Prefix::of(&lines);
        // Printed escapes are believed in logs only: elsewhere they may be somebody's source code.
        let printed = prefix != Prefix::None && text.contains("^[[");
        Self {
            prefix,
            escapes: bytes.contains(&0x1b) || printed,
            chunk_bytes: (max_chars / 8).clamp(120, 600),
        }
    }
}

/// Cuts the text into lines; blank lines in a row are one unit.
pub(super) fn split_lines(text: &str, splitting: Splitting) -> Vec<Unit> {
    let bytes = text.as_bytes();
    let mut units: Vec<Unit> = Vec::with_capacity(bytes.len() / 48 + 8);
    let mut start = 0;
    let mut blank_run = false;
    while start < bytes.len() {
        let end = line_end(bytes, start);
        let blank = bytes[start..end].iter().all(u8::is_ascii_whitespace);
        match units.last_mut() {
            Some(last) if blank && blank_run => {
                last.end = offset(end);
                last.chars += offset(end - start);
                last.lines += u32::from(bytes[end - 1] == b'\n');
            }
            _ if end - start > 4 * splitting.chunk_bytes => {
                push_chunks(text, start, end, splitting, &mut units);
            }
            _ => units.push(line_unit(text, start, end, splitting)),
        }
        blank_run = blank;
        start = end;
    }
    units
}

/// The end of the line that begins at `start`: after `\n`, or after a `\r` that rewrites the line.
fn line_end(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start..];
    let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
        return bytes.len();
    };
    let crlf = rest[end] == b'\r' && rest.get(end + 1) == Some(&b'\n');
    start + end + 1 + usize::from(crlf)
}

fn line_unit(text: &str, start: usize, end: usize, splitting: Splitting) -> Unit {
    let body = start + splitting.prefix.len(&text.as_bytes()[start..end]);
    unit(text, start, body, end, splitting)
}

pub(super) fn unit(
    text: &str,
    start: usize,
    body: usize,
    end: usize,
    splitting: Splitting,
) -> Unit {
    Unit {
        start: offset(start),
        body: offset(body),
        end: offset(end),
        chars: offset(visible_chars(text, body, end, splitting.escapes)),
        lines: offset(memchr::memchr_iter(b'\n', &text.as_bytes()[start..end]).count()),
        value: 0,
        shape: 0,
        glue: Glue::None,
    }
}

/// Cuts one long line at blanks, or anywhere between characters if it has none.
pub(super) fn push_chunks(
    text: &str,
    start: usize,
    end: usize,
    splitting: Splitting,
    units: &mut Vec<Unit>,
) {
    let bytes = text.as_bytes();
    let first = line_unit(text, start, end, splitting);
    let mut at = start;
    while at < end {
        let mut cut = (at + splitting.chunk_bytes).min(end);
        if end - cut < splitting.chunk_bytes / 2 {
            cut = end;
        }
        if cut < end {
            let earliest = cut - splitting.chunk_bytes / 4;
            cut = (earliest..cut)
                .rev()
                .find(|&at| bytes[at] == b' ')
                .map_or(cut, |blank| blank + 1);
            while !text.is_char_boundary(cut) {
                cut += 1;
            }
        }
        let body = if at == start {
            (first.body as usize).min(cut)
        } else {
            at
        };
        units.push(unit(text, at, body, cut, splitting));
        at = cut;
    }
}

fn visible_chars(text: &str, from: usize, to: usize, escapes: bool) -> usize {
    if !escapes || !may_hold_escapes(&text.as_bytes()[from..to]) {
        return count_chars(&text.as_bytes()[from..to]);
    }
    let mut chars = 0;
    visible_runs(text.as_bytes(), from, to, |from, to| {
        chars += count_chars(&text.as_bytes()[from..to]);
    });
    chars
}

/// Texts longer than `u32::MAX` bytes are refused before they are split.
pub(super) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
