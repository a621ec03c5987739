//! The words put in place of what was left out.

use super::OutputKind;
use super::escapes::visible_runs;
use super::kind::{Layout, Place};
use super::shapes::ByShape;
use super::timestamp::Prefix;
use super::units::Unit;

/// Characters of an example line inside a mark.
const EXAMPLE_CHARS: usize = 40;

/// The note at the start: how much was kept, and what is missing everywhere.
pub(super) fn header(layout: &Layout, kept_lines: usize, total_lines: usize) -> String {
    let mut note = format!(
        "[Shortened{}: {} of {} lines kept",
        layout.about,
        grouped(kept_lines),
        grouped(total_lines)
    );
    let prefix = match layout.splitting.prefix {
        Prefix::None => None,
        Prefix::Time => Some("line timestamps"),
        Prefix::Columns => Some("job, step and time columns"),
    };
    let colours = layout.splitting.escapes.then_some("colour codes");
    let without: Vec<&str> = prefix.into_iter().chain(colours).collect();
    if !without.is_empty() {
        note.push_str(", without ");
        note.push_str(&without.join(" and "));
    }
    note.push_str("; [… ] marks what was left out]\n");
    note
}

/// A whole number with its thousands apart: `1204` as `1,204`.
pub fn grouped(number: impl ToString + Copy) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A gap, and what is known about it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap<'a> {
    pub units: &'a [Unit],
    pub next: Option<&'a Unit>,
    pub lines: usize,
    pub chars: usize,
    /// Begins at the start of a line.
    pub opens_line: bool,
    /// Ends at the end of a line.
    pub ends_line: bool,
}

/// No mark of this text is longer, its example aside.
pub(super) fn widest_mark_chars(kind: OutputKind, total_lines: usize, total_chars: usize) -> usize {
    let digits = grouped(total_chars.max(total_lines)).len();
    let words = match kind {
        OutputKind::Json => "\n[…  items,  characters]\n".chars().count() + digits,
        OutputKind::Diff => "\n[…  lines of the diff]\n".chars().count(),
        _ => "\n[…  characters]\n".chars().count(),
    };
    words + digits
}

pub(super) fn mark(kind: OutputKind, gap: Gap<'_>, example: &str) -> String {
    if kind == OutputKind::Html {
        return format!("\n[… {} characters]\n", grouped(gap.chars));
    }
    let whole_lines = gap.lines > 0 && gap.opens_line;
    let body = match kind {
        OutputKind::Json => match items(gap) {
            0 => format!("{} characters", grouped(gap.chars)),
            items => format!(
                "{} {}, {} characters",
                grouped(items),
                plural(items, "item", "items"),
                grouped(gap.chars)
            ),
        },
        _ if !whole_lines && gap.lines < 2 => format!("{} characters", grouped(gap.chars)),
        OutputKind::Diff => format!(
            "{} {} of the diff",
            grouped(gap.lines),
            plural(gap.lines, "line", "lines")
        ),
        _ => format!(
            "{} {}{example}",
            grouped(gap.lines),
            plural(gap.lines, "line", "lines")
        ),
    };
    format!("[… {body}]{}", if gap.ends_line { "\n" } else { "" })
}

fn plural<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

/// How many members of the outermost container in the gap are missing whole.
fn items(gap: Gap<'_>) -> usize {
    let Some(depth) = gap.units.iter().map(|unit| Place::of(unit).depth).min() else {
        return 0;
    };
    let starts = gap
        .units
        .iter()
        .filter(|unit| {
            Place::of(unit)
                == Place {
                    depth,
                    starts_member: true,
                }
        })
        .count();
    let last_is_whole = gap
        .next
        .map(Place::of)
        .is_none_or(|next| next.depth < depth || (next.depth == depth && next.starts_member));
    if last_is_whole {
        starts
    } else {
        starts.saturating_sub(1)
    }
}

/// What a gap mostly held, if one shape makes up a third of it: ``, 1,180 like `Downloading x` ``.
pub(super) fn routine(text: &str, gap: &[Unit], escapes: bool) -> Option<String> {
    if gap.len() < 6 {
        return None;
    }
    let mut counts: ByShape<usize> = ByShape::default();
    for unit in gap {
        *counts.entry(unit.shape).or_default() += 1;
    }
    let mut best: Option<(&Unit, usize)> = None;
    for unit in gap.iter().filter(|unit| unit.shape != 0) {
        let count = counts.get(&unit.shape).copied().unwrap_or(0);
        if best.is_none_or(|(_, most)| count > most) {
            best = Some((unit, count));
        }
    }
    let (unit, count) = best.filter(|(_, count)| *count >= 3 && count * 3 >= gap.len())?;
    let mut line = String::new();
    let span = unit.body_span();
    if escapes {
        visible_runs(text.as_bytes(), span.start, span.end, |from, to| {
            line.push_str(&text[from..to]);
        });
    } else {
        line.push_str(&text[span]);
    }
    let words = line.trim();
    if words.is_empty() || words.contains(['\n', '\r']) {
        return None;
    }
    let cut: String = words.chars().take(EXAMPLE_CHARS).collect();
    let more = if cut.len() < words.len() { "…" } else { "" };
    Some(format!(", {} like `{cut}{more}`", grouped(count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, words) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), words);
        }
    }
}
