//! Removes padding and repetition from listings when they arrive: nothing that they say is lost.
//!
//! ## What it cuts
//! In results that show files, the spaces before line numbers (`     12→code` becomes `12→code`); with
//! `sparse_numbers`, also the numbers of lines that follow the one above, except every tenth; with
//! `bare_lines`, the arrows of these lines too, unless the line would then look numbered or like a note.
//! What stands behind the arrow is the code's and stays. In results of searches, the path that is
//! repeated before every hit in one file: it stands once above them.
//!
//! ## When it stays out
//! Results that are not listings, and those of fewer than three numbered lines.
//!
//! ## Example
//! `/a/b.go:12:x` and `/a/b.go:13:y` become `/a/b.go`, `12:x`, `13:y` on lines of their own.
//!
//! Works on arrival, so no cached byte is rewritten. Idempotent.

use std::borrow::Cow;
use std::ops::Range;

use super::tool_class::ToolClass;
use super::{Strategy, options};
use crate::arrival::{ArrivalText, Arrivals, Line};
use crate::edit::{Plan, StrategyId, Why};
use crate::scene::Scene;
use crate::view::PartId;

options! {
    /// Options of `padded-listings`.
    pub struct PaddedListings {
        /// Whether the spaces before line numbers go.
        unpad: bool = true,
        /// Whether lines that follow the one above lose their number, except every tenth.
        sparse_numbers: bool = false,
        /// Whether a line without its number loses the arrow as well. Needs `sparse_numbers`.
        bare_lines: bool = false,
        /// Whether hits in one file stand under its path.
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

    fn plan(&self, _: &Scene<'_, '_>) -> Plan {
        Plan::default()
    }

    fn arrivals(&self) -> Option<Box<dyn Arrivals + '_>> {
        Some(Box::new(Run(self)))
    }
}

struct Run<'o>(&'o PaddedListings);

impl Arrivals for Run<'_> {
    fn result(&mut self, scene: &Scene<'_, '_>, part: PartId, text: &mut ArrivalText<'_>) {
        if text.is_replaced() {
            return;
        }
        let lines = match scene.tool_class(part) {
            Some(ToolClass::Read | ToolClass::Edit) if self.0.unpad => {
                unpadded(text, self.0.sparse_numbers, self.0.bare_lines)
            }
            Some(ToolClass::Search) if self.0.group_hits => grouped(text),
            _ => None,
        };
        if let Some(lines) = lines {
            text.set_lines(lines, PaddedListings::ID, Why::ListingPadding);
        }
    }
}

/// The parts of a numbered line: where its number starts, where it ends, and the number. Behind it
/// stands an arrow, or a tab as in `cat -n`.
fn numbered(line: &str) -> Option<(usize, usize, u64)> {
    let bytes = line.as_bytes();
    let start = bytes.iter().take_while(|&&byte| byte == b' ').count();
    let digits = bytes[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let arrow = start + digits;
    if digits == 0 || digits > 9 || !line[arrow..].starts_with(['→', '\t']) {
        return None;
    }
    Some((start, arrow, line[start..arrow].parse().ok()?))
}

/// Whether a line can stand without its arrow: it must look neither numbered nor like a note.
fn can_be_bare(code: &str) -> bool {
    !code
        .trim_start()
        .starts_with(|character: char| character.is_ascii_digit() || "→[".contains(character))
}

fn unpadded(text: &ArrivalText<'_>, sparse: bool, bare: bool) -> Option<Vec<Line>> {
    let count = (0..text.lines().len())
        .filter(|&at| numbered(text.line(at)).is_some())
        .count();
    if count < 3 {
        return None;
    }
    let mut lines = text.lines().to_vec();
    let mut before: Option<u64> = None;
    for (at, line) in lines.iter_mut().enumerate() {
        let Some((start, arrow, number)) = numbered(text.line(at)) else {
            before = None;
            continue;
        };
        let follows = before.is_some_and(|before| before + 1 == number);
        // Without its number a line must still show where its text starts: a tab would not.
        let code = text.line(at)[arrow..].strip_prefix('→');
        let skip = match code {
            Some(code) if sparse && follows && !number.is_multiple_of(10) => {
                if bare && can_be_bare(code) {
                    arrow + '→'.len_utf8()
                } else {
                    arrow
                }
            }
            _ => start,
        };
        line.keep.start += skip;
        before = Some(number);
    }
    Some(lines)
}

/// The path of a search hit (`path:12:text`, or `path-12-text` for context): its length, and where
/// what follows it starts.
fn hit(line: &str) -> Option<(usize, usize)> {
    let bytes = line.as_bytes();
    for at in memchr::memchr2_iter(b':', b'-', bytes) {
        let digits = bytes[at + 1..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if digits > 0 && bytes.get(at + 1 + digits) == Some(&bytes[at]) {
            let path = &line[..at];
            let is_path = path.contains(['/', '.']) && !path.contains(char::is_whitespace);
            return is_path.then_some((at, at + 1));
        }
    }
    None
}

fn grouped(text: &ArrivalText<'_>) -> Option<Vec<Line>> {
    let hits: Vec<Option<(usize, usize)>> = (0..text.lines().len())
        .map(|at| hit(text.line(at)))
        .collect();
    let path = |at: usize| {
        let (length, _) = (*hits.get(at)?)?;
        text.line(at).get(..length)
    };
    let mut lines = Vec::with_capacity(text.lines().len() + 8);
    let (mut current, mut saved) = (None, false);
    for (at, line) in text.lines().iter().enumerate() {
        let mut line = line.clone();
        match (path(at), hits[at]) {
            (Some(here), Some((length, rest)))
                if current == Some(here) || path(at + 1) == Some(here) =>
            {
                if current != Some(here) {
                    lines.push(own_line(
                        line.before.take(),
                        line.keep.start..line.keep.start + length,
                    ));
                    current = Some(here);
                } else {
                    saved = true;
                }
                line.keep.start += rest;
            }
            _ => current = None,
        }
        lines.push(line);
    }
    saved.then_some(lines)
}

fn own_line(before: Option<Cow<'static, str>>, keep: Range<usize>) -> Line {
    Line {
        before,
        keep,
        after: Some("\n".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::Piece;

    fn render(text: &str, lines: Option<Vec<Line>>) -> Option<String> {
        let mut arriving = ArrivalText::new(text, text.chars().count());
        arriving.set_lines(lines?, PaddedListings::ID, Why::ListingPadding);
        let (pieces, ..) = arriving.finish()?;
        let spell = |piece: &Piece| match piece {
            Piece::Keep(range) => text[range.clone()].to_owned(),
            Piece::Note(words) => words.clone().into_owned(),
        };
        Some(pieces.iter().map(spell).collect())
    }

    fn listing(text: &str, sparse: bool) -> Option<String> {
        let arriving = ArrivalText::new(text, text.chars().count());
        render(text, unpadded(&arriving, sparse, false))
    }

    fn bare(text: &str) -> Option<String> {
        let arriving = ArrivalText::new(text, text.chars().count());
        render(text, unpadded(&arriving, true, true))
    }

    fn search(text: &str) -> Option<String> {
        render(text, grouped(&ArrivalText::new(text, text.chars().count())))
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
    fn a_tab_behind_the_number_keeps_the_number() {
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
    fn hits_in_one_file_stand_under_its_path() {
        let text = "/a/b.go:12:x := 1\n/a/b.go-13-y\n--\n/a/c-2.go:7:z\nno hit\n";
        assert_eq!(
            search(text).unwrap(),
            "/a/b.go\n12:x := 1\n13-y\n--\n/a/c-2.go:7:z\nno hit\n"
        );
        assert_eq!(search("plain\ntext\n"), None);
        assert_eq!(search("/a/b.go:1:x\n/a/c.go:1:x\n"), None);
    }
}
