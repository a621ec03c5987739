//! Keeping the beginning and the end of a text that is too long.

use std::borrow::Cow;
use std::ops::Range;

use crate::plan::context::PlanContext;
use crate::plan::edit::{CutReason, Edit, Effect, Piece, StrategyId};
use crate::read::view::PartId;

const GAP: &str = "\n...\n";
const NOTE_START: &str = "\n\n[Tool result trimmed: kept first ";
const NOTE_END: &str = " chars.]";

/// How much of a text stays, in characters.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadAndTail {
    pub(super) head_chars: usize,
    pub(super) tail_chars: usize,
    /// Whether a cut moves to the end of a line, where one lies within 20 % of what is kept.
    pub(super) snap_to_lines: bool,
}

impl HeadAndTail {
    /// An edit that trims the part, or `None` where nothing lies between head and tail or the part
    /// was trimmed before.
    pub(super) fn trim(
        self,
        context: &PlanContext<'_, '_>,
        part: PartId,
        strategy: StrategyId,
        why: CutReason,
    ) -> Option<Edit> {
        let chars = context.chars(part);
        if self.head_chars.saturating_add(self.tail_chars) >= chars {
            return None;
        }
        let Cut {
            head,
            head_chars,
            tail,
            tail_chars,
        } = match self.cut_plainly(context, part) {
            Some(cut) => cut,
            None => self.cut(&context.text(part))?,
        };
        let note = format!(
            "{NOTE_START}{head_chars} chars and last {tail_chars} chars of {chars}{NOTE_END}"
        );
        let chars_after = head_chars + GAP.len() + tail_chars + note.len();
        let pieces = vec![
            Piece::Keep(0..head),
            Piece::Note(Cow::Borrowed(GAP)),
            Piece::Keep(tail),
            Piece::Note(note.into()),
        ];
        Some(Edit {
            action: crate::plan::edit::Action::Rewrite(part, pieces),
            strategy,
            why,
            effect: Effect::Removes,
            chars_before: chars,
            chars_after,
        })
    }
}

/// What stays: bytes and characters at the beginning and at the end.
struct Cut {
    head: usize,
    head_chars: usize,
    tail: Range<usize>,
    tail_chars: usize,
}

impl HeadAndTail {
    /// Whether a text was trimmed before: it is a head and a tail of at most these sizes, and the note says so and
    /// names a size that is larger. A text that only ends in such words is longer.
    fn has_trimmed(self, text: &str) -> bool {
        let note = || {
            let rest = text.strip_suffix(NOTE_END)?;
            let (kept, numbers) = rest.rsplit_once(NOTE_START)?;
            let (head, rest) = numbers.split_once(" chars and last ")?;
            let (tail, whole) = rest.split_once(" chars of ")?;
            let [head, tail, whole] = [head, tail, whole].map(|number| number.parse().ok());
            Some((kept, head?, tail?, whole?))
        };
        let Some((kept, head, tail, whole)) = note() else {
            return false;
        };
        let gap_at = byte_of_char(kept, head);
        let (head, tail): (usize, usize) = (head, tail);
        kept[gap_at..].starts_with(GAP)
            && kept.chars().count() == head.saturating_add(tail).saturating_add(GAP.len())
            && head <= self.head_chars
            && tail <= self.tail_chars
            && head.saturating_add(tail) < whole
    }

    /// Where a text is cut; `None` if it was trimmed before.
    fn cut(self, text: &str) -> Option<Cut> {
        if self.has_trimmed(text) {
            return None;
        }
        let mut head = byte_of_char(text, self.head_chars);
        let mut tail = byte_of_char_from_end(text, self.tail_chars);
        let (mut head_chars, mut tail_chars) = (self.head_chars, self.tail_chars);
        if self.snap_to_lines {
            let line_end = snap_head(text, head);
            head_chars -= text[line_end..head].chars().count();
            let line_start = snap_tail(text, tail);
            tail_chars -= text[tail..line_start].chars().count();
            (head, tail) = (line_end, line_start);
        }
        Some(Cut {
            head,
            head_chars,
            tail: tail..text.len(),
            tail_chars,
        })
    }

    /// The same for a text in one literal, which looks at both ends only. `None` if that is not enough.
    fn cut_plainly(self, context: &PlanContext<'_, '_>, part: PartId) -> Option<Cut> {
        if self.snap_to_lines || context.text_ends_with(part, NOTE_END)? {
            return None;
        }
        let ends = context.text_ends(part, self.head_chars, self.tail_chars)?;
        Some(Cut {
            head: ends.start_bytes,
            head_chars: self.head_chars,
            tail: ends.bytes - ends.end_bytes..ends.bytes,
            tail_chars: self.tail_chars,
        })
    }
}

fn byte_of_char(text: &str, chars: usize) -> usize {
    text.char_indices()
        .nth(chars)
        .map_or(text.len(), |(at, _)| at)
}

fn byte_of_char_from_end(text: &str, chars: usize) -> usize {
    match chars.checked_sub(1) {
        Some(last) => text.char_indices().rev().nth(last).map_or(0, |(at, _)| at),
        None => text.len(),
    }
}

/// The end of the last whole line of the head, if it lies in its last fifth.
fn snap_head(text: &str, head: usize) -> usize {
    if text.as_bytes().get(head) == Some(&b'\n') {
        return head;
    }
    match text[..head].rfind('\n') {
        Some(at) if head - at <= head / 5 => at,
        _ => head,
    }
}

/// The start of the first whole line of the tail, if it lies in its first fifth.
fn snap_tail(text: &str, tail: usize) -> usize {
    if text[..tail].ends_with('\n') {
        return tail;
    }
    match text[tail..].find('\n') {
        Some(at) if at < (text.len() - tail) / 5 => tail + at + 1,
        _ => tail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_between_characters() {
        let text = "aé漢🙂z";
        assert_eq!(&text[..byte_of_char(text, 3)], "aé漢");
        assert_eq!(&text[byte_of_char_from_end(text, 2)..], "🙂z");
        assert_eq!(byte_of_char(text, 9), text.len());
        assert_eq!(byte_of_char_from_end(text, 9), 0);
        assert_eq!(byte_of_char_from_end(text, 0), text.len());
    }

    #[test]
    fn a_cut_moves_to_a_line_end_that_is_near_and_to_none_that_is_far() {
        let text = "01234567\n9abcdef";
        assert_eq!(snap_head(text, 10), 8);
        assert_eq!(snap_head(text, 8), 8);
        assert_eq!(snap_head(text, 14), 14);
        assert_eq!(snap_tail("xx\n34567890123", 1), 3);
        assert_eq!(snap_tail("xx\n34567890123", 3), 3);
        assert_eq!(snap_tail("x\n2\n4", 2), 2);
        assert_eq!(snap_tail("x2345678\n0", 1), 1);
    }

    #[test]
    fn knows_its_own_note() {
        let trimmed = |text: &str| {
            HeadAndTail {
                head_chars: 2,
                tail_chars: 2,
                snap_to_lines: false,
            }
            .has_trimmed(text)
        };
        let note = |first, last, whole| {
            format!("{NOTE_START}{first} chars and last {last} chars of {whole}{NOTE_END}")
        };
        assert!(trimmed(&format!("é\n...\nb{}", note(1, 1, 9))));
        assert!(trimmed(&format!("ab\n...\ncd{}", note(2, 2, 9))));
        // A result that ended in such words was never trimmed, however long it was.
        for text in [
            format!("{}\n...\nb{}", "a".repeat(90), note(1, 1, 9)),
            format!("{}\n...\nb{}", "a".repeat(90), note(90, 1, 100)),
            format!("a\n...\nb{}", note(1, 1, 2)),
            format!("a\n...\nb{}", note(1, 2, 9)),
            "it has 9 chars.]".to_owned(),
            format!("{NOTE_START}…\nlog: 9{NOTE_END}"),
        ] {
            assert!(!trimmed(&text), "{text}");
        }
    }
}
