//! Markers that no client should set: passed on as they are, counted by both readers alike, never made worse.

use std::time::{Duration, Instant};

use secateur_core::Limits;
use secateur_core::cost::cache::{BlockList, CacheKind};
use secateur_core::dialect::{self, Dialect};
use secateur_core::policy::Policy;
use secateur_core::{Request, prune};
use secateur_testkit::session::agent_session;
use secateur_testkit::targets::markers_agree;
use serde_json::{Value, json};

use super::client::requests;

const USUAL: &str = r#"{"type":"ephemeral"}"#;

/// What a client of this kind writes on a block, where `"@"` stands for the value.
struct Odd {
    name: &'static str,
    value: String,
    /// Which messages carry it, counted from the end.
    from_end: &'static [usize],
    also: fn(&mut Value),
}

fn nothing(_: &mut Value) {}

fn odd() -> Vec<Odd> {
    let on_last = |name, value: &str| Odd {
        name,
        value: value.to_owned(),
        from_end: &[0],
        also: nothing,
    };
    vec![
        Odd {
            from_end: &[0, 1, 2, 3, 4],
            ..on_last("five markers", USUAL)
        },
        on_last("an unknown lifetime", r#"{"type":"ephemeral","ttl":"2d"}"#),
        on_last("an unknown type", r#"{"type":"for-ever"}"#),
        on_last("null", "null"),
        on_last("a number", "1"),
        on_last("an array", r#"["ephemeral"]"#),
        on_last("twice", &format!(r#"{USUAL},"cache_control":{USUAL}"#)),
        on_last(
            "null, then a marker",
            &format!(r#"null,"cache_control":{USUAL}"#),
        ),
        Odd {
            from_end: &[0, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
            ..on_last("null on most blocks", "null")
        },
        Odd {
            also: |body| body["cache_control"] = json!({"type": "ephemeral"}),
            ..on_last("top level and block", USUAL)
        },
        Odd {
            also: |body| body["cache_control"] = json!({"type": "ephemeral", "ttl": "2d"}),
            ..on_last("an unknown lifetime at the top level", USUAL)
        },
        Odd {
            also: |body| {
                for message in body["messages"].as_array_mut().unwrap() {
                    message["cache_control"] = json!({"type": "ephemeral"});
                }
            },
            ..on_last("on messages", USUAL)
        },
        Odd {
            also: |body| {
                let messages = body["messages"].as_array_mut().unwrap();
                let blocks = json!([{"type": "hologram", "data": "x", "cache_control": {"type": "ephemeral"}},
                    {"type": "text", "text": ""}, {"type": "text", "text": "Go on."}]);
                messages[0]["content"] = blocks;
            },
            ..on_last("on an unknown block", USUAL)
        },
        Odd {
            also: |body| {
                let messages = body["messages"].as_array_mut().unwrap();
                if let Some(answer) = messages.get_mut(1) {
                    let thinking = json!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln",
                        "cache_control": {"type": "ephemeral"}});
                    answer["content"]
                        .as_array_mut()
                        .unwrap()
                        .insert(0, thinking);
                }
            },
            ..on_last("on thinking", USUAL)
        },
    ]
}

fn marked(body: &Value, odd: &Odd) -> String {
    let mut body = body.clone();
    (odd.also)(&mut body);
    let messages = body["messages"].as_array_mut().unwrap();
    for back in odd.from_end {
        let Some(at) = messages.len().checked_sub(back + 1) else {
            continue;
        };
        if let Some(block) = messages[at]["content"]
            .as_array_mut()
            .and_then(|blocks| blocks.last_mut())
        {
            block["cache_control"] = "@".into();
        }
    }
    body.to_string().replace("\"@\"", &odd.value)
}

fn blocks_of(body: &[u8]) -> BlockList {
    BlockList::of(body, Dialect::AnthropicMessages, CacheKind::Marked).unwrap()
}

#[test]
fn odd_markers_are_passed_on_and_counted_alike() {
    let dialect = Dialect::AnthropicMessages;
    let request = Request {
        dialect: Some(dialect),
        ..Request::default()
    };
    let settings = ["rounds.min_gain_chars=200", "stale-results.min_chars=100"].map(str::to_owned);
    let policy = Policy::resolve(Some("steady-bold"), None, &settings).unwrap();
    let mut whole: Value = serde_json::from_slice(&agent_session(3, 70).body(dialect)).unwrap();
    whole["system"] = json!("You are a coding agent. ".repeat(800));
    for message in whole["messages"].as_array_mut().unwrap() {
        if message["content"].is_string() {
            message["content"] = json!([{"type": "text", "text": message["content"].take()}]);
        }
    }
    for odd in odd() {
        let mut pruned = 0;
        for body in requests(&whole, dialect).iter().rev().take(20) {
            let input = marked(body, &odd);
            let outcome = prune(input.as_bytes(), &request, &policy);
            assert_eq!(outcome.error, None, "{}", odd.name);
            let (before, after) = (blocks_of(input.as_bytes()), blocks_of(&outcome.body));
            let added = outcome
                .report
                .plan
                .edits
                .iter()
                .filter(|edit| !edit.changes_content());
            let added = added.count();
            assert_eq!(
                after.marker_count(),
                before.marker_count() + added,
                "{}",
                odd.name
            );
            assert_eq!(
                after.more_markers, before.more_markers,
                "{}: twice on a block",
                odd.name
            );
            assert_eq!(after.top_level, before.top_level, "{}", odd.name);
            assert!(
                added == 0 || after.marker_count() <= 4,
                "{}: one too many",
                odd.name
            );
            let count = |text: &[u8]| {
                String::from_utf8_lossy(text)
                    .matches("\"cache_control\"")
                    .count()
            };
            assert_eq!(
                count(&outcome.body),
                count(input.as_bytes()) + added,
                "{}",
                odd.name
            );
            for body in [input.as_bytes(), &outcome.body] {
                let view = dialect::read(body, dialect, &Limits::default()).unwrap();
                markers_agree(&view).unwrap();
            }
            pruned += usize::from(outcome.body.len() < input.len());
        }
        assert!(pruned > 0, "{}: nothing was pruned", odd.name);
    }
}

#[test]
fn a_hundred_thousand_markers_take_linear_time() {
    let time = |count: usize| {
        let block = format!(r#"{{"type":"text","text":"a","cache_control":{USUAL}}}"#);
        let blocks = vec![block; count].join(",");
        let twice = vec![format!(r#""cache_control":{USUAL}"#); count].join(",");
        let body = format!(
            r#"{{"model":"claude-opus-4-6","messages":[{{"role":"user","content":[{blocks}]}},{{"role":"assistant","content":"b"}},{{"role":"user","content":[{{"type":"text","text":"c",{twice}}}]}}]}}"#
        );
        let policy = Policy::preset("steady").unwrap();
        let started = Instant::now();
        let outcome = prune(body.as_bytes(), &Request::default(), &policy);
        assert_eq!(&*outcome.body, body.as_bytes());
        assert_eq!(blocks_of(body.as_bytes()).marker_count(), 2 * count);
        started.elapsed()
    };
    let (few, many) = (time(10_000), time(100_000));
    assert!(
        many < few * 40 + Duration::from_millis(500),
        "10,000 take {few:?}, 100,000 take {many:?}"
    );
}
