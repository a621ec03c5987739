//! `[cache] mark = true`: markers for clients that set none.

use std::borrow::Cow;

use secateur_core::Limits;
use secateur_core::dialect::{self, Dialect};
use secateur_core::policy::Policy;
use secateur_core::receipt::{Basis, Cache, Counts, Receipt};
use secateur_core::report::{CacheHit, Verdict};
use secateur_core::{Outcome, Request, prune};
use serde_json::{Value, json};

use super::client::{Marks, mark_anthropic};
use super::markers_of;

fn policy(preset: &str) -> Policy {
    Policy::resolve(Some(preset), None, &["cache.mark=true".to_owned()]).unwrap()
}

/// A conversation without anything to prune.
fn talk(last: &Value) -> Value {
    let words = "The parser keeps its cursor on the first byte of a value. ".repeat(400);
    json!({"model": "claude-opus-4-6", "max_tokens": 100, "messages": [
        {"role": "user", "content": words},
        {"role": "assistant", "content": [{"type": "text", "text": "Noted."}]},
        {"role": "user", "content": last}]})
}

fn blocks() -> Value {
    json!([{"type": "text", "text": "And?"}, {"type": "text", "text": "Go on."}])
}

fn run(body: &[u8]) -> Outcome<'_> {
    let request = Request {
        dialect: Some(Dialect::AnthropicMessages),
        ..Request::default()
    };
    let outcome = prune(body, &request, &policy("steady"));
    assert_eq!(outcome.error, None);
    outcome
}

/// Marks a body; the places of the markers, as JSON pointers.
fn places(body: &Value) -> Vec<String> {
    let input = body.to_string();
    let outcome = run(input.as_bytes());
    assert_eq!(outcome.report.verdict, Verdict::Marked);
    let after: Value = serde_json::from_slice(&outcome.body).unwrap();
    let mut found = Vec::new();
    pointers(&after, "", &mut found);
    let again = run(&outcome.body);
    assert!(matches!(again.body, Cow::Borrowed(_)), "marked twice");
    let stripped = String::from_utf8_lossy(&outcome.body)
        .replace(r#""cache_control":{"type":"ephemeral"},"#, "");
    assert_eq!(stripped, input, "nothing but markers is added");
    found
}

fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    if value.get("cache_control").is_some() {
        found.push(at.to_owned());
    }
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                pointers(member, &format!("{at}/{key}"), found);
            }
        }
        Value::Array(elements) => {
            for (number, element) in elements.iter().enumerate() {
                pointers(element, &format!("{at}/{number}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn the_last_block_and_the_end_of_the_head_are_marked() {
    let mut body = talk(&blocks());
    assert_eq!(places(&body), ["/messages/2/content/1"]);
    body["tools"] = json!([{"name": "a"}, {"name": "b", "input_schema": {"type": "object"}}]);
    assert_eq!(places(&body), ["/messages/2/content/1", "/tools/1"]);
    body["system"] = json!("Be brief.");
    assert_eq!(places(&body), ["/messages/2/content/1", "/tools/1"]);
    body["system"] =
        json!([{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}]);
    assert_eq!(places(&body), ["/messages/2/content/1", "/system/1"]);
}

#[test]
fn content_given_as_a_string_is_marked_at_the_top_level() {
    assert_eq!(places(&talk(&"Go on.".into())), [""]);
    let empty = json!([{"type": "text", "text": "And?"}, {"type": "thinking", "thinking": "", "signature": "x"}]);
    let found = places(&talk(&empty));
    assert_eq!(found, ["/messages/2/content/0"], "never on thinking");
}

#[test]
fn a_first_request_a_short_one_and_one_with_any_marker_stay_as_they_are() {
    let mut first = talk(&blocks());
    first["messages"].as_array_mut().unwrap().truncate(1);
    let mut short = talk(&blocks());
    short["messages"][0]["content"] = "Hello.".into();
    let mut by_client = talk(&blocks());
    by_client["system"] = "Be brief.".into();
    mark_anthropic(&mut by_client, Marks::HeadOnly);
    let mut null_on_top = talk(&"Go on.".into());
    null_on_top["cache_control"] = Value::Null;
    let mut null_on_block = talk(&blocks());
    null_on_block["messages"][2]["content"][1]["cache_control"] = Value::Null;
    let mut of_others = talk(&blocks());
    of_others["model"] = "own-model".into();
    for body in [
        first,
        short,
        by_client,
        null_on_top,
        null_on_block,
        of_others,
    ] {
        let input = body.to_string();
        let outcome = run(input.as_bytes());
        assert!(
            matches!(outcome.body, Cow::Borrowed(_)),
            "{}",
            &input[..200]
        );
        assert_ne!(outcome.report.verdict, Verdict::Marked);
    }
}

#[test]
fn the_receipt_says_what_marking_saves() {
    let input = talk(&blocks()).to_string();
    let outcome = run(input.as_bytes());
    let report = &outcome.report;
    assert!(report.stack.is_empty(), "no mechanic ran");
    assert!(
        !report.cached.covers_turns,
        "the client's own markers cover nothing"
    );
    let read = |body| dialect::read(body, Dialect::AnthropicMessages, &Limits::default()).unwrap();
    let (before, after) = (read(input.as_bytes()), read(&outcome.body));
    let count =
        |texts: &mut dyn Iterator<Item = Cow<'_, str>>| texts.map(|text| text.len() / 4).sum();
    let counts = Counts::of(
        &before,
        Some(&after),
        &report.cached,
        Basis::Estimate,
        count,
    );
    let receipt = Receipt::of(report, &counts, Cache::of(report));
    assert!(
        matches!(receipt.hit, CacheHit::OutOfReach),
        "{:?}",
        receipt.hit
    );
    // The request that writes the entries costs more; the next one reads them.
    let (without, with) = (
        receipt.predicted_next_usd_without,
        receipt.predicted_next_usd_with,
    );
    assert!(
        with.unwrap() < without.unwrap() / 4.0,
        "{with:?} {without:?}"
    );
}

#[test]
fn a_marked_conversation_gets_cheaper_from_the_third_request_on() {
    let whole: Value = {
        let session = secateur_testkit::session::agent_session(5, 60);
        let body = session.body(Dialect::AnthropicMessages);
        let mut body: Value = serde_json::from_slice(&body).unwrap();
        body["system"] = json!([{"type": "text", "text": "You are a coding agent. ".repeat(800)}]);
        body
    };
    let policy = policy("steady");
    let mut direct = super::Provider::new("claude-opus-4-6", Dialect::AnthropicMessages, 0.5);
    let mut marked = super::Provider::new("claude-opus-4-6", Dialect::AnthropicMessages, 0.5);
    let bodies = super::requests(&whole, Dialect::AnthropicMessages);
    for body in &bodies {
        let input = body.to_string();
        let outcome = prune(input.as_bytes(), &Request::default(), &policy);
        assert_eq!(outcome.error, None);
        assert!(markers_of(&outcome.body).len() <= 4);
        direct.send(input.as_bytes());
        let read = marked.send(&outcome.body);
        let predicted = outcome.report.cached.after.read;
        let is_short = read.end == 0 && predicted < 6 * marked.min_bytes() / 5;
        assert!(
            is_short || predicted == read.end,
            "{predicted} {}",
            read.end
        );
    }
    assert!(
        bodies.len() > 20 && marked.cost < direct.cost / 3.0,
        "{} {}",
        marked.cost,
        direct.cost
    );
}
