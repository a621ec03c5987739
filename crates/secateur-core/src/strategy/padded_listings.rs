//! Removes padding and repetition from listings when they arrive: nothing that they say is lost.
//!
//! ## What it cuts
//! In results that show files, the spaces before line numbers (`     12→code` becomes `12→code`); with
//! `sparse_numbers`, also the numbers of lines that follow the one above, except every tenth; with
//! `bare_lines`, the arrows of these lines too, unless the line would then look numbered or like a note.
//! What follows the arrow is the code's and stays. In results of searches, the path that is
//! repeated before every hit in one file: it is written once above them.
//!
//! ## When it stays out
//! Results that are not listings, and those of fewer than three numbered lines.
//!
//! ## Example
//! `/a/b.go:12:x` and `/a/b.go:13:y` become `/a/b.go`, `12:x`, `13:y` on lines of their own.
//!
//! Works on arrival, so no cached byte is rewritten. Idempotent.

use super::{Strategy, Work};
use crate::arrival::Arrivals;
use crate::options::options;
use crate::plan::arriving_text::{ArrivalText, Line};
use crate::plan::context::PlanContext;
use crate::plan::edit::{CutReason, StrategyId};
use crate::read::view::PartId;
use crate::text::line_number::{ARROW, Number, NumberEnd};
use crate::tools::class::ToolClass;

options! {
    /// Options of `padded-listings`.
    pub struct PaddedListings {
        /// Whether the spaces before line numbers go.
        unpad: bool = true,
        /// Whether lines that follow the one above lose their number, except every tenth.
        sparse_numbers: bool = false,
        /// Whether a line without its number loses the arrow as well. Needs `sparse_numbers`.
        bare_lines: bool = false,
        /// Whether hits in one file are listed under its path.
        group_hits: bool = true,
    }
}

impl PaddedListings {
    /// Its id.
    pub const ID: StrategyId = StrategyId("padded-listings");
}

impl Strategy for PaddedListings {
    fn id(&self) -> StrategyId {
        Self::ID
    }

    fn work(&self) -> Work<'_> {
        Work::OnArrival(Box::new(Run(self)))
    }
}

struct Run<'o>(&'o PaddedListings);

impl Arrivals for Run<'_> {
    fn result(&mut self, context: &PlanContext<'_, '_>, part: PartId, text: &mut ArrivalText<'_>) {
        if text.is_replaced() {
            return;
        }
        match context.tool_class(part) {
            Some(ToolClass::Read | ToolClass::Edit) if self.0.unpad => {
                unpad(text, self.0.sparse_numbers, self.0.bare_lines);
            }
            Some(ToolClass::Search) if self.0.group_hits => {
                if let Some(lines) = grouped(text) {
                    text.set_lines(&lines, PaddedListings::ID, CutReason::ListingPadding);
                }
            }
            _ => {}
        }
    }

    /// A path ends where it does in the text.
    fn wants_decoded(&self, context: &PlanContext<'_, '_>, part: PartId) -> bool {
        self.0.group_hits && context.tool_class(part) == Some(ToolClass::Search)
    }
}

/// A text with fewer numbered lines is no listing.
const MIN_NUMBERED: usize = 3;

/// Takes off what can go at the start of each line. Returns whether the text is a listing.
fn unpad(text: &mut ArrivalText<'_>, sparse: bool, bare: bool) -> bool {
    let numbered = text.numbers().iter().filter(|number| number.is_there());
    if numbered.take(MIN_NUMBERED).count() < MIN_NUMBERED {
        return false;
    }
    const ARROW_BYTES: u32 = ARROW.len() as u32;
    /// No line has this number.
    const NO_NUMBER: u32 = u32::MAX;
    let mut expected = NO_NUMBER;
    let cut = |number: &Number| {
        let start = number.spaces;
        let end = start + u32::from(number.digits);
        let follows = number.value == expected;
        expected = if number.is_there() {
            number.value + 1
        } else {
            NO_NUMBER
        };
        let can_go = sparse && follows && !number.value.is_multiple_of(10);
        match number.ended_by {
            NumberEnd::NoNumber => (0, 0),
            NumberEnd::LooseArrow if can_go && bare => (end + ARROW_BYTES, end + 1),
            NumberEnd::LooseArrow | NumberEnd::Arrow if can_go => (end, end),
            // Without its number a line must still show where its text starts: a tab would not.
            _ => (start, start),
        }
    };
    text.cut_starts(cut, PaddedListings::ID, CutReason::ListingPadding);
    true
}

/// The path of a search hit (`path:12:text`, or `path-12-text` for context): its length, and where
/// what follows it starts.
fn hit(bytes: &[u8]) -> Option<(usize, usize)> {
    for at in memchr::memchr2_iter(b':', b'-', bytes) {
        let digits = bytes[at + 1..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if digits > 0 && bytes.get(at + 1 + digits) == Some(&bytes[at]) {
            let path = std::str::from_utf8(&bytes[..at]).unwrap_or_default();
            let is_path = path.contains(['/', '.']) && !path.contains(char::is_whitespace);
            return is_path.then_some((at, at + 1));
        }
    }
    None
}

fn grouped(text: &mut ArrivalText<'_>) -> Option<Vec<Line>> {
    let hits: Vec<Option<(&[u8], usize)>> = (0..text.lines().len())
        .map(|at| {
            let line = text.line(at);
            hit(line).map(|(length, rest)| (&line[..length], rest))
        })
        .collect();
    let path = |at: usize| Some((*hits.get(at)?)?.0);
    // Without two hits in one file in a row there is nothing to save.
    if !(1..hits.len()).any(|at| path(at).is_some() && path(at - 1) == path(at)) {
        return None;
    }
    let mut lines = Vec::with_capacity(hits.len() + 8);
    let mut current = None;
    for (at, &hit) in hits.iter().enumerate() {
        let mut line = text.lines()[at];
        match hit {
            Some((here, rest)) if current == Some(here) || path(at + 1) == Some(here) => {
                if current != Some(here) {
                    lines.push(text.split_off(&mut line, here.len()));
                    current = Some(here);
                }
                line = line.without_start(rest);
            }
            _ => current = None,
        }
        lines.push(line);
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::edit::Piece;
    use secateur_json::LineBuffer;

    fn arriving<'t>(text: &str, buffer: &'t mut LineBuffer) -> ArrivalText<'t> {
        ArrivalText::new(
            buffer.hold(text.to_owned()),
            text.chars().count(),
            Vec::new(),
        )
    }

    fn render(text: &str, mut arriving: ArrivalText<'_>) -> Option<String> {
        let (pieces, ..) = arriving.finish()?;
        let spell = |piece: &Piece| match piece {
            Piece::Keep(range) => text[range.clone()].to_owned(),
            Piece::Note(words) => words.clone().into_owned(),
        };
        Some(pieces.iter().map(spell).collect())
    }

    fn listing(text: &str, sparse: bool) -> Option<String> {
        unpadded(text, sparse, false)
    }

    fn bare(text: &str) -> Option<String> {
        unpadded(text, true, true)
    }

    fn unpadded(text: &str, sparse: bool, bare: bool) -> Option<String> {
        let mut buffer = LineBuffer::default();
        let mut arriving = arriving(text, &mut buffer);
        unpad(&mut arriving, sparse, bare).then_some(())?;
        render(text, arriving)
    }

    fn search(text: &str) -> Option<String> {
        let mut buffer = LineBuffer::default();
        let mut arriving = arriving(text, &mut buffer);
        let lines = grouped(&mut arriving)?;
        arriving.set_lines(&lines, PaddedListings::ID, CutReason::ListingPadding);
        render(text, arriving)
    }

    #[test]
    fn padding_goes_and_indentation_stays() {
        let text = "     9→fn a() {\n    10→    b();\n    11→}\n    12→\n\n<note>";
        assert_eq!(
            listing(text, false).unwrap(),
            "9→fn a() {\n10→    b();\n11→}\n12→\n\n<note>"
        );
        assert_eq!(
            listing(text, true).unwrap(),
            "9→fn a() {\n10→    b();\n→}\n→\n\n<note>"
        );
    }

    #[test]
    fn bare_lines_keep_their_indentation_and_never_look_numbered_or_like_a_note() {
        let text = " 8→a {\n 9→\tb\n10→c\n11→12→d\n12→ 7\n13→[2 lines as above]\n14→}\n15→\n";
        let pruned = "8→a {\n\tb\n10→c\n→12→d\n→ 7\n→[2 lines as above]\n}\n\n";
        assert_eq!(bare(text).unwrap(), pruned);
        assert_eq!(bare(pruned).as_deref(), None);
    }

    #[test]
    fn a_tab_after_the_number_keeps_the_number() {
        let text = "     1\t\tdeep\n     2\t\tdeep\n     3\tflat\n";
        assert_eq!(
            listing(text, true).unwrap(),
            "1\t\tdeep\n2\t\tdeep\n3\tflat\n"
        );
    }

    #[test]
    fn a_jump_in_the_numbers_is_shown() {
        assert_eq!(
            listing(" 1→a\n 2→b\n 7→c\n", true).unwrap(),
            "1→a\n→b\n7→c\n"
        );
    }

    #[test]
    fn short_listings_and_other_text_stay() {
        assert_eq!(listing("  1→a\n  2→b\n", false), None);
        assert_eq!(listing("   no numbers\n   here\n   at all\n", false), None);
    }

    #[test]
    fn hits_in_one_file_are_listed_under_its_path() {
        let text = "/a/b.go:12:x := 1\n/a/b.go-13-y\n--\n/a/c-2.go:7:z\nno hit\n";
        assert_eq!(
            search(text).unwrap(),
            "/a/b.go\n12:x := 1\n13-y\n--\n/a/c-2.go:7:z\nno hit\n"
        );
        assert_eq!(search("plain\ntext\n"), None);
        assert_eq!(search("/a/b.go:1:x\n/a/c.go:1:x\n"), None);
    }
}
