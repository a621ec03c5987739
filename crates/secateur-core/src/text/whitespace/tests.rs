use proptest::prelude::*;

use super::*;

/// Scans the text as it is spelled in a body.
fn scanned<S: Sink + Default>(text: &str, behind: Behind) -> S {
    let body = serde_json::Value::from(text).to_string();
    let literal = secateur_json::Cursor::over(&body, 1).string().unwrap();
    let mut sink = S::default();
    let length = scan(literal.decoded_chars(&body), behind, &mut sink);
    assert_eq!(length, text.len(), "{text:?}");
    sink
}

fn compressed(text: &str) -> String {
    let ranges: Ranges = scanned(text, Behind::Nothing);
    let mut out = String::new();
    let mut at = 0;
    for range in ranges.found {
        out.push_str(&text[at..range.start]);
        at = range.end;
    }
    out + &text[at..]
}

fn check(text: &str, expected: &str) {
    assert_eq!(compressed(text), expected, "{text:?}");
    assert_eq!(compressed(expected), expected, "idempotent: {expected:?}");
}

fn verbatim(text: &str) {
    check(text, text);
}

#[test]
fn runs_of_spaces_newlines_and_trailing_space_shrink() {
    check(
        "Be   brief.  \n\n\n\nAnswer in   English.",
        "Be brief.\n\nAnswer in English.",
    );
    check("a  b\n", "a b\n");
    check("a\n\n\nb\n\n\n\n", "a\n\nb\n\n");
    check("a\n \t \n  \n\t\nb", "a\n\nb");
    check("a\r\n\r\n\r\n\r\nb   \r\nc", "a\r\n\r\nb\r\nc");
    check("last line   ", "last line");
    check("caf\u{e9}  \u{6f22}  z", "caf\u{e9} \u{6f22} z");
    verbatim("  \r \n");
    verbatim("a\n\nb c\n");
    verbatim("");
}

#[test]
fn what_comes_before_another_part_keeps_the_space_at_its_end() {
    let ranges: Ranges = scanned("see  this:  ", Behind::AnotherPart);
    assert_eq!(ranges.found.first(), Some(&(4..5)));
    assert_eq!(ranges.found.len(), 1);
}

#[test]
fn the_start_of_a_line_stays() {
    check(
        "    four  spaces\n\tand  a tab",
        "    four spaces\n\tand a tab",
    );
    verbatim("def f():\n    if x:\n        return 1\n");
}

#[test]
fn the_space_after_a_gutter_is_the_codes_own() {
    verbatim("+        return x\n-    return y\n         return z\n>    quoted");
    verbatim("src/a.rs:12:        let x\nsrc/a.rs-13-        let y\nsrc/a.rs:        let z");
    verbatim("2026-05-07T02:58:33Z     indented\n10:00:00   x");
    verbatim("^1a2b3c (Some One 2024-01-01 12)     code");
    verbatim("[INFO]    +- tree");
    check("+    a   b", "+    a b");
}

#[test]
fn numbered_listings_stay() {
    verbatim("   12\u{2192}    let a   = 1;   \n   13\u{2192}\n");
    verbatim("     1\t    x  =  1  \n     2\t\n     3\ty\n");
    verbatim("12|    a  b\n12:    a  b\n12 |    a  b\n");
}

#[test]
fn tabs_are_columns() {
    verbatim("name\t\tsize\tdate");
    verbatim("name \t  size");
    let count: Count = scanned("name\t\t\tsize", Behind::Nothing);
    assert_eq!(count.chars, 2, "counted, not cut");
}

#[test]
fn fenced_code_stays() {
    check(
        "a  b\n```rust\nx  =  1;   \n\n\n\n\n```\nc  d",
        "a b\n```rust\nx  =  1;   \n\n\n\n\n```\nc d",
    );
    verbatim("~~~\na   b\n```\nc   d\n~~~");
    verbatim("````md\n```\na   b\n```\nc   d\n````");
    verbatim("  ```\n  a   b\n  ```\n");
    verbatim("- ```py\n  a   b\n  ```\n> ```\n> a   b\n> ```\n1. ```\n   a   b\n   ```");
    verbatim("```\nnever   closed\n\n\n\nend   ");
    check(
        "```\na   b\n```   \n\n\n\nc   d",
        "```\na   b\n```   \n\nc d",
    );
    check("``` a ``` is  inline", "``` a ``` is inline");
    check("see  ```x   y```  there", "see ```x y``` there");
    verbatim("```python\na   b\n```python\nc   d\n```");
}

#[test]
fn json_stays() {
    verbatim("{\n  \"a\":  1,\n\n\n\n  \"b\":   \"x   y\"   \n}\n");
    verbatim("[1,  2,   3]");
    verbatim("{'loose':  [1,   2]}");
    verbatim("{\"a\":  1}\n{\"a\":  2}\n");
    check(
        "Output  is:\n{\"a\":  1,\n\n\n\n \"b\": [1,   2]}\nand   more",
        "Output is:\n{\"a\":  1,\n\n\n\n \"b\": [1,   2]}\nand more",
    );
    check("[INFO,  no JSON  here", "[INFO, no JSON here");
    check("{\"open\":  1,   ", "{\"open\": 1,");
    check("[1] is  a  footnote", "[1] is a footnote");
}

/// Words, gutters, fences, brackets and every kind of white space, in any order.
fn texts() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(
        &[
            " ",
            "  ",
            "   ",
            "\n",
            "\n\n\n",
            "\t",
            "\r\n",
            "\r",
            "word",
            "x",
            "12",
            ":",
            "|",
            "\u{2192}",
            "```",
            "~~~",
            "````",
            "`",
            "{",
            "}",
            "[",
            "]",
            "\"",
            "\\",
            ",",
            "+",
            "- ",
            "> ",
            "\u{e9}",
            "\u{1f642}",
            ".",
        ][..],
    );
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Fenced blocks by lines, written without the scanner.
fn fenced_blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(char, usize, String)> = None;
    for line in text.split_inclusive('\n') {
        let bare = line
            .trim_start_matches([' ', '\t'])
            .trim_end_matches(['\n', '\r', ' ', '\t']);
        let mark = bare.chars().next().filter(|mark| matches!(mark, '`' | '~'));
        let len = mark.map_or(0, |mark| {
            bare.chars().take_while(|&next| next == mark).count()
        });
        match &mut open {
            None => {
                let info = &bare[len..];
                if let Some(mark) =
                    mark.filter(|&mark| len >= 3 && !(mark == '`' && info.contains('`')))
                {
                    open = Some((mark, len, line.to_owned()));
                }
            }
            Some((opened, needed, block)) => {
                block.push_str(line);
                if mark == Some(*opened) && len >= *needed && bare.len() == len {
                    blocks.push(
                        std::mem::take(block)
                            .trim_end_matches(['\r', '\n'])
                            .to_owned(),
                    );
                    open = None;
                }
            }
        }
    }
    blocks.extend(open.map(|(_, _, block)| block));
    blocks
}

proptest! {
    #[test]
    fn never_larger_idempotent_and_only_white_space_goes(text in texts()) {
        let out = compressed(&text);
        prop_assert!(out.len() <= text.len());
        prop_assert_eq!(compressed(&out), out.clone());
        let solid = |text: &str| -> String { text.chars().filter(|c| !" \t\r\n".contains(*c)).collect() };
        prop_assert_eq!(solid(&out), solid(&text));
    }

    #[test]
    fn the_count_covers_what_is_cut(text in texts()) {
        let count: Count = scanned(&text, Behind::Nothing);
        prop_assert!(count.chars >= text.len() - compressed(&text).len());
    }

    #[test]
    fn every_line_keeps_its_start(text in texts()) {
        let starts = |text: &str| -> Vec<String> {
            text.split('\n')
                .filter(|line| !line.trim().is_empty())
                .map(|line| line.chars().take_while(|c| " \t".contains(*c)).collect())
                .collect()
        };
        prop_assert_eq!(starts(&compressed(&text)), starts(&text));
    }
}

proptest! {
    #[test]
    fn fenced_blocks_come_out_as_they_went_in(
        before in "[a-z \n]{0,30}", code in "[a-z{} \t\n]{0,60}", after in "[a-z \n]{0,30}",
        mark in prop_oneof![Just("```"), Just("~~~"), Just("`````")], closed: bool,
    ) {
        let close = if closed { format!("\n{mark}\n{after}") } else { String::new() };
        let text = format!("{before}\n{mark}py\n{code}{close}");
        prop_assert_eq!(fenced_blocks(&compressed(&text)), fenced_blocks(&text));
    }
}
