//! Lines of a text with what the line-based layouts need to know: fences and blank neighbours.

use std::ops::Range;

/// One line, without its line break.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) range: Range<usize>,
    /// Inside a fenced code block, or the fence itself: never a delimiter.
    pub(super) fenced: bool,
    pub(super) blank: bool,
    /// The line before is blank, or this is the first one.
    pub(super) after_blank: bool,
}

/// Splits `bounds` of `text` into lines. A fence that is never closed fences nothing.
pub(super) fn split(text: &str, bounds: Range<usize>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut start = bounds.start;
    let mut open: Option<(usize, u8, usize)> = None;
    let mut after_blank = true;
    while start < bounds.end {
        let rest = &text[start..bounds.end];
        let end = rest.find('\n').map_or(bounds.end, |at| start + at);
        let content = text[start..end].trim();
        let blank = content.is_empty();
        let mark = fence(content);
        let mut fenced = false;
        match (open, mark) {
            (None, Some((byte, len))) => open = Some((lines.len(), byte, len)),
            (Some((from, byte, len)), Some((b, l)))
                if b == byte && l >= len && content.len() == l =>
            {
                for line in &mut lines[from..] {
                    line.fenced = true;
                }
                fenced = true;
                open = None;
            }
            _ => {}
        }
        lines.push(Line {
            range: start..end,
            fenced,
            blank,
            after_blank,
        });
        after_blank = blank;
        start = end + 1;
    }
    lines
}

/// The fence character and its count, for a line that begins with at least three of them.
fn fence(content: &str) -> Option<(u8, usize)> {
    let byte = *content.as_bytes().first()?;
    if byte != b'`' && byte != b'~' {
        return None;
    }
    let len = content.bytes().take_while(|&b| b == byte).count();
    (len >= 3).then_some((byte, len))
}
