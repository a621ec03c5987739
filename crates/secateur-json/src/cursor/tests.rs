use super::*;

fn skip(body: &[u8]) -> Result<Span, JsonError> {
    let mut cursor = Cursor::new(body, &Limits::default())?;
    let span = cursor.skip()?;
    cursor.finish()?;
    Ok(span)
}

fn problem(body: &[u8]) -> (JsonProblem, usize) {
    let error = skip(body).expect_err(&String::from_utf8_lossy(body));
    (error.problem, error.at)
}

#[test]
fn agrees_with_serde_json_on_what_is_json() {
    for body in [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1.5e+3",
        "\"\"",
        "[]",
        "{}",
        " [1, {\"a\" : [ ] } ] \n",
        "01",
        "1.",
        ".5",
        "+1",
        "-",
        "1e",
        "0x1",
        "1 2",
        "nul",
        "truee",
        "NaN",
        "Infinity",
        "[1,]",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\" 1}",
        "[1 2]",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\t\"",
        "[",
        "{",
        "\"",
        "{\"a\"",
        "{\"a\":",
        "]",
        "}",
        "[}",
        "{]",
        "",
        " ",
        "\u{1}",
        "1a",
        "[tru]",
        "\"\\ud800\"",
        "\"\\ud800\\u\"",
        "\"\\ud800\\u0041\"",
        "// x\n1",
        "[\"a\":1]",
        "{\"a\",\"b\"}",
        "-a",
        "1e5.3",
    ] {
        let expected = serde_json::from_str::<serde::de::IgnoredAny>(body).is_ok();
        assert_eq!(skip(body.as_bytes()).is_ok(), expected, "{body:?}");
    }
}

#[test]
fn names_what_is_wrong_and_where() {
    assert_eq!(problem(b""), (JsonProblem::Empty, 0));
    assert_eq!(problem(b" \n "), (JsonProblem::Empty, 3));
    assert_eq!(problem(b"\xef\xbb\xbf{}"), (JsonProblem::ByteOrderMark, 0));
    assert_eq!(problem(b"\"ab\xff\""), (JsonProblem::InvalidUtf8, 3));
    assert_eq!(problem(b"[NaN]"), (JsonProblem::NotAValue, 1));
    assert_eq!(problem(b"{} {}"), (JsonProblem::TrailingBytes, 3));
    assert_eq!(problem(b"[\"abc"), (JsonProblem::UnexpectedEnd, 5));
    assert_eq!(problem(b"[1, 2"), (JsonProblem::UnexpectedEnd, 5));
    assert_eq!(problem(b"[\"a\nb\"]"), (JsonProblem::ControlCharacter, 3));
    assert_eq!(problem(b"[\"\\q\"]"), (JsonProblem::BadEscape, 2));
    assert_eq!(problem(b"\"\\u00"), (JsonProblem::UnexpectedEnd, 5));
    assert_eq!(problem(b"[1 2]"), (JsonProblem::Expected("`,` or `]`"), 3));
    assert_eq!(problem(b"[012]"), (JsonProblem::BadNumber, 2));
}

#[test]
fn limits_are_errors_not_crashes() {
    let limits = Limits {
        max_bytes: 10,
        max_depth: 3,
    };
    let read = |body: &str| {
        let mut cursor = Cursor::new(body.as_bytes(), &limits)?;
        cursor.skip()?;
        cursor.finish()
    };
    assert!(read("[[[1]]]").is_ok());
    assert_eq!(
        read("[[[[1]]]]").unwrap_err().problem,
        JsonProblem::TooDeep(3)
    );
    assert_eq!(read("\"12345678\"").map_err(|e| e.problem), Ok(()));
    assert_eq!(
        read("\"123456789\"").unwrap_err().problem,
        JsonProblem::TooLarge(10)
    );
    let deep = "[".repeat(200) + &"]".repeat(200);
    assert_eq!(problem(deep.as_bytes()), (JsonProblem::TooDeep(128), 128));
    let generous = Limits {
        max_depth: 5000,
        ..Limits::default()
    };
    let deeper = "[".repeat(1024) + &"]".repeat(1024);
    assert!(
        Cursor::new(deeper.as_bytes(), &generous)
            .unwrap()
            .skip()
            .is_ok()
    );
    let too_deep = format!("[{deeper}]");
    assert!(
        Cursor::new(too_deep.as_bytes(), &generous)
            .unwrap()
            .skip()
            .is_err()
    );
}

#[test]
fn walks_objects_and_arrays_in_place() {
    let body = r#" { "a" : [ 1 , "x\n" ] , "b" : { } , "c" : true } "#;
    let mut cursor = Cursor::over(body, 8);
    let mut seen = Vec::new();
    let span = cursor
        .object(|cursor, key| {
            let name = key.decode(body).into_owned();
            if name == "a" {
                cursor.array(|cursor, index| {
                    let span = cursor.skip()?;
                    seen.push(format!("{index}={}", span.of(body)));
                    Ok::<_, JsonError>(())
                })?;
            } else {
                seen.push(format!("{name}={}", cursor.skip()?.of(body)));
            }
            Ok::<_, JsonError>(())
        })
        .unwrap();
    assert_eq!(span.of(body), body.trim());
    assert_eq!(seen, ["0=1", "1=\"x\\n\"", "b={ }", "c=true"]);
    cursor.finish().unwrap();
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_judged_as_serde_json_judges_them(body in proptest::collection::vec(
        proptest::sample::select(b"[]{}\",:\\u0123eE+-.truefalsn \n\xc3\xa9d8".to_vec()), 0..24)) {
        let expected = serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_ok()
            && std::str::from_utf8(&body).is_ok();
        proptest::prop_assert_eq!(skip(&body).is_ok(), expected);
    }
}

/// What a literal is made of: plain runs of all lengths, every kind of escape, and what is not allowed.
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
const PIECES: &[&str] = &[
    "a",
    "plain words that go on for a while, longer than a block of sixteen",
    "é",
    "漢字",
    "🙂",
    r"\n",
    r"\t",
    r"\\",
    r#"\""#,
    r"\/",
    r"\b\f\r",
    r"\u00e9",
    r"\u4e2d",
    r"\ud83d\ude42",
    r"\ud83d",
    r"\ude42",
    r"\ud83d\ud83d\ude42",
    r"\u12",
    r"\x",
    "\u{7}",
    "\n",
    "\"",
];

#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
use crate::literal::closing_quote_narrow;

#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
proptest::proptest! {
    /// The fast way finds what the slow way finds, and gives up exactly where that fails.
    #[test]
    fn windows_and_bytes_read_a_literal_alike(
        pieces in proptest::collection::vec(0..PIECES.len(), 0..60),
        close in proptest::bool::ANY,
        behind in 0..100usize,
    ) {
        let mut body: String = pieces.iter().map(|&piece| PIECES[piece]).collect();
        if close {
            body.push('"');
        }
        body.push_str(&"x".repeat(behind));
        let fast = closing_quote(body.as_bytes(), 0);
        let slow = Cursor::over(&body, 8).string_byte_by_byte().ok();
        proptest::prop_assert_eq!(fast, slow);
        proptest::prop_assert_eq!(closing_quote_narrow(body.as_bytes(), 0), slow);
    }

    /// The same where nothing ends the literal early.
    #[test]
    fn long_valid_literals_are_read_alike(
        pieces in proptest::collection::vec(0..17usize, 0..200),
    ) {
        let mut body: String = pieces.iter().map(|&piece| PIECES[piece]).collect();
        body.push('"');
        let fast = closing_quote(body.as_bytes(), 0);
        let slow = Cursor::over(&body, 8).string_byte_by_byte().ok();
        proptest::prop_assert!(fast.is_some());
        proptest::prop_assert_eq!(fast, slow);
        proptest::prop_assert_eq!(closing_quote_narrow(body.as_bytes(), 0), slow);
    }
}
