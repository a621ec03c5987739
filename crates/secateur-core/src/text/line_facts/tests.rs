use super::*;

fn key_of(line: &str) -> LineKey {
    LineKey::of_text(line.as_bytes(), &mut Vec::new())
}

#[test]
fn numbers_and_trailing_space_do_not_count_and_indentation_does() {
    let key = key_of("    let a = b;");
    for same in [
        "  12→    let a = b;  ",
        "12\t    let a = b;",
        "7:    let a = b;\r",
        "9-    let a = b;",
    ] {
        assert_eq!(key_of(same), key, "{same}");
    }
    for other in ["  let a = b;", "    let a = c;", "x7:    let a = b;"] {
        assert_ne!(key_of(other), key, "{other}");
    }
}

#[test]
fn only_lines_that_say_something_are_anchors() {
    assert!(key_of("   return 1").is_anchor());
    assert!(!key_of("        }").is_anchor());
    assert!(!key_of("\u{a0}\u{a0}\u{a0}\u{a0}\u{a0}}").is_anchor());
    assert_ne!(key_of(""), LineKey::GONE);
}

/// The content of a line, by a slow reference implementation: without its number and trailing white space.
fn content(line: &str) -> &str {
    let rest = line.trim_start_matches(' ');
    let code = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let has_digits = code.len() < rest.len();
    let separators: &[char] = if has_digits {
        &['→', '\t', ':', '-']
    } else {
        &['→']
    };
    code.strip_prefix(separators).unwrap_or(line).trim_end()
}

/// The number of a line in a listing, by a slow reference implementation.
fn number(line: &str) -> Number {
    let rest = line.trim_start_matches(' ');
    let code = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let digits = &rest[..rest.len() - code.len()];
    let ended_by = match code.strip_prefix('→') {
        Some(code)
            if code
                .trim()
                .starts_with(|first: char| "0123456789→[".contains(first)) =>
        {
            NumberEnd::Arrow
        }
        Some(_) => NumberEnd::LooseArrow,
        None if code.starts_with('\t') => NumberEnd::Tab,
        None => return Number::NONE,
    };
    if !(1..=9).contains(&digits.len()) {
        return Number::NONE;
    }
    Number {
        value: digits.parse().unwrap(),
        spaces: (line.len() - rest.len()) as u32,
        digits: digits.len() as u8,
        ended_by,
    }
}

/// Pieces of lines.
const PIECES: [&str; 22] = [
    " ",
    "    ",
    "        ",
    "7",
    "0",
    "1234567",
    "→",
    "↑",
    "\t",
    ":",
    "-",
    "\"",
    "\\",
    "t",
    "[",
    "let a = b;",
    "a",
    "é",
    "\u{a0}",
    "\u{2003}",
    "\r",
    "\u{1b}[0m",
];

fn line_of(pieces: &[usize]) -> String {
    pieces.iter().map(|&at| PIECES[at]).collect()
}

proptest::proptest! {
    #[test]
    fn one_look_tells_what_the_slow_way_tells(
        pieces in proptest::collection::vec(0..PIECES.len(), 0..9),
        others in proptest::collection::vec(0..PIECES.len(), 0..9),
        shared in 0..9usize,
    ) {
        let line = line_of(&pieces);
        let mut spelled = Vec::new();
        let spelled = spell(line.as_bytes(), &mut spelled);
        let (key, found) = LineScanner::new().scan(spelled, 0, spelled.len());
        proptest::prop_assert_eq!(found, number(&line), "{:?}", line);
        let is_anchor = content(&line).trim_start().len() >= SHORTEST_ANCHOR;
        proptest::prop_assert_eq!(key.is_anchor(), is_anchor, "{:?}", line);
        // Another line with the same end.
        let mut others = others;
        others.extend(&pieces[shared.min(pieces.len())..]);
        let other = line_of(&others);
        let is_same = content(&line) == content(&other);
        proptest::prop_assert_eq!(key == key_of(&other), is_same, "{:?} {:?}", line, other);
        let other = (other.as_bytes(), Spelling::Text);
        for line in [(line.as_bytes(), Spelling::Text), (spelled, Spelling::Json)] {
            proptest::prop_assert_eq!(have_same_content(line, other), is_same, "{:?} {:?}", line, other);
        }
    }
}

#[test]
fn a_number_that_follows_the_one_above_is_read_like_any_other() {
    let others = ["", "code", "     :→code", "    1:→code", "7:hit", "→"];
    for (width, behind) in (1..20).flat_map(|width| [(width, "→"), (width, "\\t")]) {
        for first in [0, 1, 8, 95, 998, 123_456, 999_999_990] {
            let listing = (first..first + 25).map(|number| {
                let line = format!("{number:>width$}{behind}code of line {number}");
                if number % 7 == 3 {
                    others[number % others.len()].to_owned()
                } else {
                    line
                }
            });
            let mut scanner = LineScanner::new();
            for line in listing {
                let bytes = line.as_bytes();
                let found = scanner.scan(bytes, 0, bytes.len());
                assert_eq!(
                    found,
                    LineScanner::new().scan(bytes, 0, bytes.len()),
                    "{line:?}"
                );
            }
        }
    }
}

#[test]
fn lines_that_differ_in_one_byte_have_different_keys() {
    for length in 1..70 {
        let line = "x".repeat(length);
        for at in 0..length {
            let mut other = line.clone();
            other.replace_range(at..=at, "y");
            assert_ne!(key_of(&line), key_of(&other), "{length} {at}");
        }
        assert_ne!(key_of(&line), key_of(&"x".repeat(length + 1)));
    }
}
