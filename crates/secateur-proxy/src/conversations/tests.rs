use std::time::Duration;

use super::*;
use crate::audit::AuditEvent;
use crate::config::Provider;
use crate::usage::Usage;
use serde_json::{Value, json};

fn body(system: &str, tool: &str, messages: &[&str]) -> Value {
    let messages: Vec<Value> = messages
        .iter()
        .enumerate()
        .map(|(at, text)| {
            let role = if at.is_multiple_of(2) {
                "user"
            } else {
                "assistant"
            };
            json!({"role": role, "content": text})
        })
        .collect();
    json!({"model": "claude-sonnet-4-5", "messages": messages,
        "tools": [{"name": "a"}, {"name": tool}],
        "system": [{"type": "text", "text": "you are"}, {"type": "text", "text": system}]})
}

fn blocks(body: &Value) -> BlockList {
    let text = body.to_string();
    pending::blocks_of(text.as_bytes(), Dialect::AnthropicMessages, None).unwrap()
}

struct Process {
    conversations: Conversations,
    begin: Instant,
}

impl Process {
    fn new() -> Self {
        Self {
            conversations: Conversations::default(),
            begin: Instant::now(),
        }
    }

    /// What is known of a request when it is over.
    fn send(&self, seconds: u64, body: &Value, set: impl FnOnce(&mut AuditEvent)) -> Recalled {
        let mut event = AuditEvent::new("r".into(), "w".into(), Provider::Anthropic, None);
        event.session = Some("s".into());
        event.status = 200;
        event.model = body["model"].as_str().map(str::to_owned);
        set(&mut event);
        let started = self.begin + Duration::from_secs(seconds);
        let list = blocks(body);
        self.conversations.observe(&mut event, Some(&list), started);
        event.recalled
    }

    fn change(&self, seconds: u64, body: &Value) -> Option<String> {
        let recalled = self.send(seconds, body, |_| ());
        recalled.change.map(|change| change.place.to_string())
    }
}

#[test]
fn the_first_block_that_the_client_changed_is_found() {
    let process = Process::new();
    let change = |body: &Value| process.change(0, body);
    assert_eq!(change(&body("x", "b", &["go"])), None, "the first one");
    assert_eq!(
        change(&body("x", "b", &["go", "so", "on"])),
        None,
        "it grew"
    );
    let place = change(&body("y", "b", &["go", "so", "on", "ok", "next"]));
    assert_eq!(place.as_deref(), Some("system[1]"));
    assert_eq!(
        change(&body("y", "b", &["go", "so", "on", "ok", "next"])),
        None
    );
    let place = change(&body("y", "c", &["go", "so", "on", "ok", "next"]));
    assert_eq!(place.as_deref(), Some("tools[1]"));
    let place = change(&body("y", "c", &["go", "so", "off", "ok"]));
    assert_eq!(place.as_deref(), Some("messages[2].content[0]"));
}

#[test]
fn a_client_that_changes_back_finds_its_earlier_entries() {
    let process = Process::new();
    process.change(0, &body("x", "b", &["go"]));
    assert!(
        process
            .change(5, &body("y", "b", &["go", "so", "on"]))
            .is_some()
    );
    let back = process.send(9, &body("x", "b", &["go", "so", "on"]), |_| ());
    assert_eq!(back.change, None, "{back:?}");
    assert_eq!(
        back.idle,
        Some(Duration::from_secs(9)),
        "since the first one"
    );
}

#[test]
fn another_thread_of_the_session_is_no_change() {
    let process = Process::new();
    process.change(0, &body("x", "b", &["go"]));
    assert_eq!(
        process.change(1, &body("make a title", "t", &["title of go"])),
        None
    );
    let main = process.send(10, &body("x", "b", &["go", "so", "on"]), |_| ());
    assert_eq!(
        (main.change, main.idle),
        (None, Some(Duration::from_secs(10)))
    );
}

#[test]
fn a_session_key_that_changes_with_the_instructions_is_found_by_its_first_message() {
    let process = Process::new();
    process.change(0, &body("x", "b", &["go"]));
    let other = |event: &mut AuditEvent| event.session = Some("other".into());
    let recalled = process.send(5, &body("y", "b", &["go", "so", "on"]), other);
    let place = recalled.change.map(|change| change.place.to_string());
    assert_eq!(place.as_deref(), Some("system[1]"));
}

#[test]
fn another_model_has_another_cache() {
    let process = Process::new();
    process.change(0, &body("x", "b", &["go"]));
    let mut other = body("x", "b", &["go", "so", "on"]);
    other["model"] = "claude-opus-4-6".into();
    assert_eq!(process.change(5, &other).as_deref(), Some("model"));
    assert_eq!(process.change(9, &other), None);
}

#[test]
fn what_the_provider_rejected_warms_no_cache_and_is_not_remembered() {
    let process = Process::new();
    process.change(0, &body("x", "b", &["go"]));
    let rejected = |event: &mut AuditEvent| event.status = 529;
    let grown = body("y", "b", &["go", "so", "on"]);
    assert!(process.send(10, &grown, rejected).change.is_some());
    let again = process.send(30, &grown, |_| ());
    assert!(again.change.is_some());
    assert_eq!(again.idle, Some(Duration::from_secs(30)));
}

#[test]
fn a_request_whose_blocks_are_missing_leaves_nothing_to_compare_with() {
    let process = Process::new();
    process.change(0, &body("x", "b", &["go"]));
    let mut event = AuditEvent::new("r".into(), "w".into(), Provider::Anthropic, None);
    (event.session, event.status) = (Some("s".into()), 200);
    let now = process.begin + Duration::from_secs(5);
    process.conversations.observe(&mut event, None, now);
    let next = process.send(9, &body("y", "b", &["go", "so", "on"]), |_| ());
    assert_eq!(
        (next.change, next.idle),
        (None, Some(Duration::from_secs(4)))
    );
}

#[test]
fn the_ratio_of_characters_to_tokens_is_learned_from_bills() {
    let process = Process::new();
    let bill = |session: &'static str, chars: u64, tokens: u64| {
        let set = move |event: &mut AuditEvent| {
            event.session = Some(session.into());
            event.chars_after = Some(chars);
            event.usage = Some(Usage {
                input_tokens: Some(tokens),
                ..Usage::default()
            });
        };
        process
            .send(0, &body("x", "b", &["go"]), set)
            .chars_per_token
    };
    assert_eq!(bill("a", 35_000, 10_000), None);
    assert_eq!(bill("a", 35_000, 10_000), Some(3.5));
    assert_eq!(bill("b", 20_000, 10_000), Some(3.5), "of the model");
    assert_eq!(
        bill("b", 20_000, u64::MAX),
        Some(2.0),
        "of the conversation"
    );
    assert_eq!(
        bill("b", 20_000, 1),
        Some(2.0),
        "an implausible bill is left out"
    );
}

#[test]
fn memory_is_bounded_and_the_least_recently_used_conversation_goes_first() {
    let process = Process::new();
    let of = |session: String| move |event: &mut AuditEvent| event.session = Some(session);
    for n in 0..3_000 {
        let text = format!("task {n}");
        process.send(n, &body("x", "b", &[&text]), of(format!("s{n}")));
        process.send(n, &body("x", "b", &["kept"]), of("kept".into()));
    }
    let sizes = process.conversations.memory.lock().unwrap().sizes();
    assert_eq!(sizes[0], 1024);
    assert!(sizes[1] <= 1024 && sizes[2] <= 1024 * 5, "{sizes:?}");
    let kept = process.send(4_000, &body("y", "b", &["kept"]), of("kept".into()));
    assert!(kept.change.is_some());
    let gone = process.send(4_000, &body("y", "b", &["task 5"]), of("s5".into()));
    assert_eq!((gone.change, gone.idle), (None, None));
    // Few conversations with many blocks.
    let words: Vec<String> = (0..15_000).map(|n| n.to_string()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let long = blocks(&body("x", "b", &words));
    for n in 0..80 {
        let mut event = AuditEvent::new("r".into(), "w".into(), Provider::Anthropic, None);
        (event.session, event.status) = (Some(format!("long{n}")), 200);
        process
            .conversations
            .observe(&mut event, Some(&long), process.begin);
    }
    let sizes = process.conversations.memory.lock().unwrap().sizes();
    assert!(sizes[2] <= 1 << 20 && sizes[0] <= 70, "{sizes:?}");
}
