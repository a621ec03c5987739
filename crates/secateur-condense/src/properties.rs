//! What holds for any text and any budget.

use proptest::prelude::*;

use super::{Budget, Piece, condense};

/// Checks every promise of `condense` on one text and budget.
fn check(text: &str, max_chars: usize) -> Result<(), TestCaseError> {
    let budget = Budget::chars(max_chars);
    let condensed = condense(text, &budget);
    prop_assert_eq!(
        &condensed,
        &condense(text, &budget),
        "the same input, the same plan"
    );
    let Some(condensed) = condensed else {
        return Ok(());
    };
    let mut end = 0;
    for piece in &condensed.pieces {
        let Piece::Keep(range) = piece else { continue };
        prop_assert!(range.start < range.end, "no empty range: {range:?}");
        prop_assert!(
            range.start >= end,
            "ascending and disjoint: {range:?} behind {end}"
        );
        prop_assert!(
            text.get(range.clone()).is_some(),
            "in bounds and on characters: {range:?}"
        );
        end = range.end;
    }
    let out = condensed.render(text);
    let chars = out.chars().count();
    prop_assert!(chars <= max_chars, "{chars} characters of {max_chars}");
    prop_assert!(out.len() < text.len(), "smaller");
    prop_assert_eq!(chars, condensed.chars_after);
    prop_assert_eq!(text.chars().count(), condensed.chars_before);
    prop_assert_eq!(
        condense(&out, &budget),
        None,
        "the output fits the budget that made it"
    );
    Ok(())
}

/// Text of the pieces that outputs are made of, in any order.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n".to_owned()),
        Just("\r".to_owned()),
        Just("\r\n\r\n".to_owned()),
        Just("\u{1b}[31m".to_owned()),
        Just("\u{1b}]8;;x".to_owned()),
        Just("^[[0m".to_owned()),
        Just("2026-05-07T02:58:33.1164075Z ".to_owned()),
        Just("##[error]exit code 1\n".to_owned()),
        Just("##[group]Run x\n".to_owned()),
        Just("error[E0308]: mismatched\n".to_owned()),
        Just("3 failed, 4 passed\n".to_owned()),
        Just("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n".to_owned()),
        Just("+added\n-removed\n".to_owned()),
        Just("src/a.rs:12:let x\n".to_owned()),
        Just("-rw-r--r-- 1 root root 1 Nov 16 file\n".to_owned()),
        Just("<html><p>text</p><script>".to_owned()),
        Just("</div>".to_owned()),
        Just("{\"a\": [1, 2, {\"b\": \"c\\\"\"}]}".to_owned()),
        Just("[{\"a\": ".to_owned()),
        Just(", ".to_owned()),
        Just("]}".to_owned()),
        Just("a,b,c\n".to_owned()),
        Just("   12→\tcode\n".to_owned()),
        Just("漢字かな交じり文".to_owned()),
        Just("👩‍👩‍👧‍👦🎉".to_owned()),
        Just("\u{0}\u{7}\u{8}".to_owned()),
        "\\PC{0,40}",
        "[a-z ]{0,120}\n",
        ".{0,20}",
    ];
    proptest::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

/// One kind of line, many times, between two other things.
fn repeated() -> impl Strategy<Value = String> {
    (soup(), "\\PC{0,60}", 1_usize..400, soup())
        .prop_map(|(before, line, times, after)| before + &(line + "\n").repeat(times) + &after)
}

/// A JSON value of moderate size.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        "[0-9]{1,6}",
        "\"[a-z漢🎉 ]{0,300}\""
    ];
    let value = leaf.prop_recursive(5, 200, 12, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..12)
                .prop_map(|items| format!("[{}]", items.join(", "))),
            proptest::collection::vec(inner, 0..12).prop_map(|values| {
                let members: Vec<String> = values
                    .iter()
                    .enumerate()
                    .map(|(n, value)| format!("\n \"k{n}\": {value}"))
                    .collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    });
    proptest::collection::vec(value, 1..12).prop_map(|values| format!("[{}]", values.join(",")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_soup_keeps_the_promises(text in soup(), max_chars in 0_usize..3_000) {
        check(&text, max_chars)?;
    }

    #[test]
    fn any_repetition_keeps_the_promises(text in repeated(), max_chars in 200_usize..3_000) {
        check(&text, max_chars)?;
    }

    #[test]
    fn any_json_keeps_the_promises(text in json(), max_chars in 200_usize..1_500) {
        check(&text, max_chars)?;
    }
}

fn check_extreme(text: &str, max_chars: usize) {
    let start: String = text.chars().take(20).collect();
    check(text, max_chars).unwrap_or_else(|reason| panic!("{start}… at {max_chars}: {reason}"));
}

#[test]
fn extreme_texts_keep_the_promises() {
    let texts = [
        "漢".repeat(50_000),
        "word ".repeat(50_000),
        "\r".repeat(50_000),
        "\r\n".repeat(50_000),
        "a\n".repeat(50_000),
        "\u{1b}[31m".repeat(50_000),
        "\u{1b}".repeat(50_000),
        "\u{1b}]".repeat(50_000),
        "^[[".repeat(50_000),
        "[".repeat(50_000),
        format!("{}{}", "[".repeat(50_000), "]".repeat(50_000)),
        format!("[{}1]", "1,".repeat(50_000)),
        format!("{{\"a\":\"{}\"}}", "\\\"".repeat(50_000)),
        format!("<html>{}", "<".repeat(50_000)),
        format!("<html>{}", "<a".repeat(50_000)),
        format!("<html>{}", "<script>".repeat(20_000)),
        format!("<html>{}", "<script></style>".repeat(20_000)),
        format!("<html>{}", "<!-- ".repeat(20_000)),
        format!(
            "diff --git a b\n--- a\n+++ b\n{}",
            "@@ -1 +1 @@\n".repeat(20_000)
        ),
        "error: failed\n".repeat(20_000),
        "2026-05-07T02:58:33.1164075Z \n".repeat(10_000),
    ];
    for text in texts {
        for max_chars in [240, 3_200, 24_000] {
            check_extreme(&text, max_chars);
        }
    }
}

#[test]
fn one_line_of_five_megabytes_keeps_the_promises() {
    check_extreme(&"x".repeat(5_000_000), 8_000);
}

#[test]
fn a_million_empty_lines_keep_the_promises() {
    check_extreme(&"\n".repeat(1_000_000), 8_000);
}

#[test]
fn a_text_within_the_budget_is_left_alone() {
    assert_eq!(condense("short", &Budget::chars(1_000)), None);
    assert_eq!(condense(&"漢".repeat(1_000), &Budget::chars(1_000)), None);
    assert_eq!(
        condense(&"x".repeat(1_000), &Budget::chars(10)),
        None,
        "too small for notes and content"
    );
}
