use super::*;
use secateur_json::{Cursor, escape_into};

/// Pieces of texts that are spelled as usual.
const PIECES: [&str; 13] = [
    "\n",
    "     1→",
    "    12→",
    "3\t",
    "    ",
    "\t",
    "\"",
    "\\",
    "\\n",
    "word ",
    "é漢",
    "[2 lines as above]",
    "let a = b;\n",
];

proptest::proptest! {
    /// Nothing depends on whether a text is read in place or decoded.
    #[test]
    fn a_text_is_the_same_however_it_is_looked_at(
        pieces in proptest::collection::vec(0..PIECES.len(), 0..60),
        runs in proptest::collection::vec((0..9usize, 1..4usize), 0..3),
    ) {
        let text: String = pieces.iter().map(|&at| PIECES[at]).collect();
        let mut body = String::from("\"");
        escape_into(&text, &mut body);
        body.push('"');
        let literal = Cursor::over(&body, 1).string().unwrap();
        let chars = text.chars().count();
        let mut buffer = LineBuffer::default();
        let spelled = literal.spelled_as_usual(&body).unwrap();
        let mut in_place = ArrivalText::spelled(spelled, chars, Vec::new());
        let mut decoded = ArrivalText::new(buffer.decode(literal, &body), chars, Vec::new());
        let same = |one: &mut ArrivalText<'_>, other: &mut ArrivalText<'_>| {
            assert_eq!(one.numbers(), other.numbers());
            one.scan_for_keys();
            other.scan_for_keys();
            assert_eq!(one.keys(), other.keys());
            assert_eq!(one.lines.len(), other.lines.len());
            assert_eq!(one.chars, other.chars);
            for (line, there) in one.lines.iter().zip(&other.lines) {
                assert_eq!(line.keep(), there.keep());
                assert_eq!(one.size(line), other.size(there));
                assert_eq!(one.chars_of(line), other.chars_of(there));
                let kept = std::str::from_utf8(one.kept_inside(line)).unwrap();
                assert_eq!(unescaped(kept).as_bytes(), other.kept_inside(there));
                let uncut = std::str::from_utf8(one.uncut(line)).unwrap();
                assert_eq!(unescaped(uncut).as_bytes(), other.uncut(there));
            }
        };
        same(&mut in_place, &mut decoded);
        proptest::prop_assert_eq!(in_place.original(), text.as_str());
        let id = StrategyId("test");
        for arriving in [&mut in_place, &mut decoded] {
            let cut = |number: &Number| (number.spaces, number.spaces);
            arriving.cut_starts(cut, id, CutReason::ListingPadding);
            let (mut next, mut notes) = (0, Vec::new());
            for &(gap, lines) in &runs {
                let start = next + gap;
                next = start + lines;
                if next <= arriving.lines.len() {
                    notes.push((start..next, Cow::Borrowed("[note]\n")));
                }
            }
            arriving.replace_runs(notes, id, CutReason::LinesStandAbove);
        }
        same(&mut in_place, &mut decoded);
        proptest::prop_assert_eq!(in_place.finish(), decoded.finish());
    }
}

/// A header that was split off a line ends in a newline of our own. It once lost its last two bytes, as if they were
/// the escaped newline, so `foo.ts` and `foo.js` had one key.
#[test]
fn a_line_that_was_split_off_keeps_its_last_bytes_in_either_spelling() {
    let texts = [
        "src/foo.ts:1:a\nsrc/foo.ts:2:b\n",
        "src/foo.js:1:a\nsrc/foo.js:2:b\n",
    ];
    let header = "src/foo.ts".len();
    let mut keys = Vec::new();
    for text in texts {
        let mut body = String::from("\"");
        escape_into(text, &mut body);
        body.push('"');
        let literal = Cursor::over(&body, 1).string().unwrap();
        let spelled = literal.spelled_as_usual(&body).unwrap();
        let mut buffer = LineBuffer::default();
        let in_place = ArrivalText::spelled(spelled, text.len(), Vec::new());
        let decoded = ArrivalText::new(buffer.decode(literal, &body), text.len(), Vec::new());
        for mut arriving in [in_place, decoded] {
            let mut line = arriving.lines()[0];
            let first = arriving.split_off(&mut line, header);
            let lines = [first, line.without_start(header + 1)];
            arriving.set_lines(&lines, StrategyId("test"), CutReason::ListingPadding);
            assert_eq!(arriving.line(0), &text.as_bytes()[..header]);
            assert_eq!(arriving.line(1), b"1:a");
            assert_eq!(arriving.size(&first), header + 1);
            arriving.scan_for_keys();
            keys.push(arriving.keys()[0]);
        }
    }
    assert_eq!(keys[0], keys[1]);
    assert_eq!(keys[2], keys[3]);
    assert_ne!(keys[0], keys[2]);
}
