//! Bodies that are not what they should be: a defined result, the original bytes, never a panic.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::borrow::Cow;

use secateur_core::dialect::{self, Dialect, ReadError};
use secateur_core::internal::json::{JsonProblem, Limits};
use secateur_core::policy::Policy;
use secateur_core::report::{EngineError, Verdict};
use secateur_core::{Request, prune};
use secateur_testkit::session::{body_of_size, support_chat};
use secateur_testkit::{Mode, Recipe, policies};

fn policy() -> Policy {
    let settings = [
        "m7.min_messages=0".to_owned(),
        "m7.min_body_chars=0".to_owned(),
    ];
    Policy::resolve(Some("tessera"), None, &settings).unwrap()
}

/// Prunes a body that cannot be read: it comes back as the same slice, with this error.
fn unread(body: &[u8], dialect: Option<Dialect>) -> ReadError {
    let request = Request {
        dialect,
        ..Request::default()
    };
    let outcome = prune(body, &request, &policy());
    let shown = String::from_utf8_lossy(&body[..body.len().min(300)]);
    assert!(
        matches!(outcome.body, Cow::Borrowed(same) if std::ptr::eq(same, body)),
        "{shown}"
    );
    assert!(
        matches!(outcome.report.verdict, Verdict::FailedOpen(_)),
        "{shown}"
    );
    match outcome.error {
        Some(EngineError::Read(error)) => error,
        other => panic!("{other:?} for {shown}"),
    }
}

#[track_caller]
fn problem(body: &[u8], expected: JsonProblem, at: usize) {
    for dialect in [
        None,
        Some(Dialect::OpenaiChat),
        Some(Dialect::GeminiGenerateContent),
    ] {
        let ReadError::Json(error) = unread(body, dialect) else {
            panic!("not a JSON error: {}", String::from_utf8_lossy(body));
        };
        assert_eq!((error.problem, error.at), (expected, at), "{dialect:?}");
    }
}

#[test]
fn what_is_not_json_is_named_with_its_place() {
    problem(b"", JsonProblem::Empty, 0);
    problem(b" \n", JsonProblem::Empty, 2);
    problem(b"not json", JsonProblem::NotAValue, 0);
    problem(b"<html></html>", JsonProblem::NotAValue, 0);
    problem(
        b"\xef\xbb\xbf{\"messages\":[]}",
        JsonProblem::ByteOrderMark,
        0,
    );
    problem(b"\xff\xfe{\0\"\0", JsonProblem::InvalidUtf8, 0);
    problem(b"{\"messages\":[NaN]}", JsonProblem::NotAValue, 13);
    problem(b"{\"t\":Infinity}", JsonProblem::NotAValue, 5);
    problem(b"{\"x\":\"a\xc3\x28\"}", JsonProblem::InvalidUtf8, 7);
    problem(b"{\"x\":\"\xed\xa0\x80\"}", JsonProblem::InvalidUtf8, 6);
    problem(b"{\"x\":01}", JsonProblem::BadNumber, 6);
    problem(b"{\"x\":\"a\nb\"}", JsonProblem::ControlCharacter, 7);
    problem(b"{\"x\":'a'}", JsonProblem::NotAValue, 5);
    problem(b"{\"x\":1,}", JsonProblem::Expected("a string"), 7);
}

#[test]
fn trailing_bytes_are_an_error_once_the_shape_fits() {
    for (dialect, body) in [
        (Dialect::OpenaiChat, r#"{"messages":[]} {}"#),
        (Dialect::GeminiGenerateContent, r#"{"contents":[]} x"#),
        (Dialect::OpenaiResponses, r#"{"input":[]}]"#),
        (
            Dialect::AnthropicMessages,
            r#"{"messages":[],"max_tokens":1,"system":""}0"#,
        ),
    ] {
        for dialect in [None, Some(dialect)] {
            let error = unread(body.as_bytes(), dialect);
            let ReadError::Json(error) = error else {
                panic!("{error}")
            };
            assert_eq!(error.problem, JsonProblem::TrailingBytes, "{body}");
        }
    }
}

#[test]
fn a_body_cut_off_at_any_byte_comes_back_as_it_is() {
    for (at, dialect) in Dialect::ALL.into_iter().enumerate() {
        let recipe = Recipe::seeded(Mode::Dirty, 40 + at as u64, 12);
        let whole = recipe.body(dialect);
        let end = whole.iter().rposition(|&byte| byte == b'}').unwrap();
        for cut in 0..=end.min(6000) {
            let error = unread(&whole[..cut], Some(dialect));
            assert!(
                error.offset().is_some_and(|at| at <= cut),
                "{error} at {cut}"
            );
            assert!(!error.explain(&whole[..cut]).is_empty());
        }
    }
}

#[test]
fn nesting_is_limited_and_the_limit_can_be_raised() {
    let nested = |levels: usize| {
        let value = "[".repeat(levels) + &"]".repeat(levels);
        format!(r#"{{"messages":[{{"role":"user","content":"hi","x":{value}}}],"n":1}}"#)
    };
    let error = unread(nested(200).as_bytes(), None);
    assert!(
        error.to_string().contains("deeper than 128 levels"),
        "{error}"
    );
    let generous = Limits {
        max_depth: 300,
        ..Limits::default()
    };
    assert!(dialect::read(nested(200).as_bytes(), Dialect::OpenaiChat, &generous).is_ok());
    // Far beyond any stack, whatever the limit.
    let boundless = Limits {
        max_depth: usize::MAX,
        ..Limits::default()
    };
    assert!(
        dialect::read(
            nested(1_000_000).as_bytes(),
            Dialect::OpenaiChat,
            &boundless
        )
        .is_err()
    );
}

#[test]
fn a_hundred_megabytes_are_refused_by_default_and_pruned_when_allowed() {
    let text = "x".repeat(5 << 20);
    let turn = |at: usize| {
        let role = if at.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        format!(r#"{{"role":"{role}","content":"{text}"}}"#)
    };
    let turns: Vec<String> = (0..21).map(turn).collect();
    let body = format!(r#"{{"n":1,"messages":[{}]}}"#, turns.join(","));
    drop(turns);
    assert!(body.len() > 100 << 20);
    let error = unread(body.as_bytes(), None);
    assert!(
        error.to_string().contains("more than 67108864 bytes"),
        "{error}"
    );
    let request = Request {
        limits: Limits {
            max_bytes: 200 << 20,
            ..Limits::default()
        },
        ..Request::default()
    };
    let outcome = prune(body.as_bytes(), &request, &policy());
    assert_eq!(outcome.report.verdict, Verdict::Pruned);
    assert_eq!(outcome.report.turns_removed, 12);
}

#[test]
fn more_parts_than_memory_should_hold_are_refused() {
    let calls = vec!["{}"; 300_000].join(",");
    let body = format!(r#"{{"messages":[{{"role":"assistant","tool_calls":[{calls}]}}]}}"#);
    let error = unread(body.as_bytes(), None);
    assert!(matches!(error, ReadError::TooManyParts { .. }), "{error}");
}

#[test]
fn a_value_of_the_wrong_kind_is_named_with_its_path() {
    for (dialect, body, what, path) in [
        (
            Dialect::OpenaiChat,
            r#"[]"#,
            "a request must be a JSON object",
            "",
        ),
        (
            Dialect::OpenaiChat,
            r#""hi""#,
            "a request must be a JSON object",
            "",
        ),
        (
            Dialect::OpenaiChat,
            r#"{"messages":{}}"#,
            "`messages` must be an array",
            "messages",
        ),
        (
            Dialect::OpenaiChat,
            r#"{"messages":[[]]}"#,
            "a message must be an object",
            "messages[0]",
        ),
        (
            Dialect::OpenaiChat,
            r#"{"messages":[{"role":"user","content":["a"]}]}"#,
            "a content part must be an object",
            "messages[0].content[0]",
        ),
        (
            Dialect::AnthropicMessages,
            r#"{"messages":[{"role":"user","content":7}]}"#,
            "content must be a string or an array",
            "messages[0].content",
        ),
        (
            Dialect::AnthropicMessages,
            r#"{"messages":[{"content":[{"type":"text","text":{}}]}]}"#,
            "text must be a string",
            "messages[0].content[0].text",
        ),
        (
            Dialect::OpenaiResponses,
            r#"{"input":{}}"#,
            "`input` must be a string or an array",
            "input",
        ),
        (
            Dialect::OpenaiResponses,
            r#"{"input":[1]}"#,
            "an input item must be an object",
            "input[0]",
        ),
        (
            Dialect::GeminiGenerateContent,
            r#"{"contents":[{"parts":"a"}]}"#,
            "`parts` must be an array",
            "contents[0].parts",
        ),
        (
            Dialect::GeminiGenerateContent,
            r#"{"contents":[{"parts":[{"functionCall":[]}]}]}"#,
            "`functionCall` must be an object",
            "contents[0].parts[0].functionCall",
        ),
    ] {
        let explained = unread(body.as_bytes(), Some(dialect)).explain(body.as_bytes());
        assert!(
            explained.contains(what) && explained.contains(path),
            "{body}: {explained}"
        );
    }
}

#[test]
fn a_foreign_dialect_passes_through() {
    for real in Dialect::ALL {
        let body = support_chat(1, 30).body(real);
        for named in Dialect::ALL.into_iter().filter(|named| *named != real) {
            let request = Request {
                dialect: Some(named),
                ..Request::default()
            };
            let outcome = prune(&body, &request, &policy());
            let shares_list = named.facts().list_key == real.facts().list_key;
            assert!(
                outcome.error.is_none() || matches!(outcome.error, Some(EngineError::Read(_))),
                "{real} read as {named}"
            );
            if !shares_list {
                let error = unread(&body, Some(named));
                assert!(matches!(error, ReadError::Missing { .. }), "{error}");
            }
        }
    }
    for body in ["{}", r#"{"prompt":"old completions"}"#, r#"{"messages":7}"#] {
        assert_eq!(unread(body.as_bytes(), None), ReadError::Unknown, "{body}");
    }
}

#[test]
fn keys_that_matter_may_not_come_twice() {
    for (dialect, body) in [
        (Dialect::OpenaiChat, r#"{"messages":[],"messages":[]}"#),
        (
            Dialect::OpenaiChat,
            r#"{"messages":[{"role":"user","role":"system","content":""}]}"#,
        ),
        (
            Dialect::OpenaiChat,
            r#"{"messages":[{"role":"user","content":"a","c\u006fntent":"b"}]}"#,
        ),
        (Dialect::OpenaiResponses, r#"{"input":[],"input":[]}"#),
        (
            Dialect::AnthropicMessages,
            r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","tool_use_id":"b"}]}]}"#,
        ),
        (
            Dialect::AnthropicMessages,
            r#"{"system":"a","system":"b","messages":[]}"#,
        ),
        (
            Dialect::GeminiGenerateContent,
            r#"{"contents":[{"parts":[{"text":"a","text":"b"}]}]}"#,
        ),
    ] {
        let error = unread(body.as_bytes(), Some(dialect));
        let ReadError::Json(error) = error else {
            panic!("{body}: {error}")
        };
        assert_eq!(error.problem, JsonProblem::DuplicateKey, "{body}");
    }
    let unknown = r#"{"x":1,"x":2,"messages":[{"role":"user","content":"a","y":1,"y":2}]}"#;
    assert!(dialect::read(unknown.as_bytes(), Dialect::OpenaiChat, &Limits::default()).is_ok());
}

#[test]
fn lone_surrogates_and_nul_pass_through_untouched() {
    let odd = r"\ud83d lone \ude42 \u0000 end";
    let turn = |at: usize| {
        let role = if at.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        format!(r#"{{"role":"{role}","content":"{odd} {at}"}}"#)
    };
    let turns: Vec<String> = (0..20).map(turn).collect();
    let body = format!(r#"{{"messages":[{}]}}"#, turns.join(","));
    let outcome = prune(body.as_bytes(), &Request::default(), &policy());
    let kept = [&turns[..1], &turns[12..]].concat();
    let expected = format!(r#"{{"messages":[{}]}}"#, kept.join(","));
    assert_eq!(String::from_utf8_lossy(&outcome.body), expected);
}

/// One byte changed, anywhere: never a panic, never a larger body.
#[test]
fn a_flipped_byte_never_panics() {
    let policies = policies::all(3);
    for dialect in Dialect::ALL {
        let body = body_of_size(dialect, 9_000);
        for at in (0..body.len()).step_by(7) {
            let mut broken = body.clone();
            broken[at] ^= 1 << (at % 8);
            let request = Request {
                dialect: Some(dialect),
                ..Request::default()
            };
            let named = &policies[at % policies.len()];
            let outcome = prune(&broken, &request, &named.policy);
            assert!(outcome.body.len() <= broken.len());
        }
    }
}
