//! A bounded sample of a text's lines, for the detectors.

use std::borrow::Cow;

use crate::escapes::{may_hold_escapes, visible_runs};
use crate::units::Splitting;

/// Lines taken from each of the three places.
const LINES: usize = 120;
/// Longer lines are sampled by their first bytes.
const LINE_BYTES: usize = 400;

/// Lines from the start, the middle and the end, without timestamps, escapes and blank lines.
#[derive(Debug)]
pub(super) struct Sample<'t> {
    pub lines: Vec<Cow<'t, str>>,
}

impl<'t> Sample<'t> {
    pub(super) fn of(text: &'t str, splitting: Splitting) -> Self {
        let mut lines = Vec::with_capacity(3 * LINES);
        let reach = LINES * LINE_BYTES;
        if text.len() <= 3 * reach {
            take(text, splitting, usize::MAX, &mut lines);
            return Self { lines };
        }
        take(
            text.get(..text.floor_char_boundary(reach)).unwrap_or(text),
            splitting,
            LINES,
            &mut lines,
        );
        for from in [text.len() / 2, text.len() - reach] {
            let part =
                &text[text.floor_char_boundary(from)..text.floor_char_boundary(from + reach)];
            // The first line of a later part is cut.
            let whole = part.find('\n').map_or("", |end| &part[end + 1..]);
            take(whole, splitting, LINES, &mut lines);
        }
        Self { lines }
    }

    /// The share of lines that satisfy `is`, in percent; 0 for fewer than `at_least` lines.
    pub(super) fn percent(&self, at_least: usize, is: impl Fn(&str) -> bool) -> usize {
        if self.lines.len() < at_least.max(1) {
            return 0;
        }
        self.lines.iter().filter(|line| is(line)).count() * 100 / self.lines.len()
    }

    pub(super) fn any(&self, is: impl Fn(&str) -> bool) -> bool {
        self.lines.iter().any(|line| is(line))
    }
}

fn take<'t>(text: &'t str, splitting: Splitting, most: usize, lines: &mut Vec<Cow<'t, str>>) {
    for line in text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .take(most)
    {
        let stamp = splitting.prefix.len(line.as_bytes());
        let end = line.floor_char_boundary(line.len().min(stamp + LINE_BYTES));
        // Most lines are taken as they are.
        if !may_hold_escapes(&line.as_bytes()[stamp..end]) {
            lines.push(Cow::Borrowed(&line[stamp..end]));
            continue;
        }
        let mut plain = String::new();
        visible_runs(line.as_bytes(), stamp, end, |from, to| {
            plain.push_str(&line[from..to]);
        });
        lines.push(Cow::Owned(plain));
    }
}
