//! `thinking_binding`: what happens to an open exchange's thinking on models that bind it.

use secateur_core::Dialect;
use secateur_core::policy::Policy;
use secateur_core::{Request, prune};
use serde_json::{Value, json};

const RESULTS: &str = "[m7]\nenabled = true\nmin_messages = 0\nmin_body_chars = 0\n\
    strategies = [\"old-tool-results\"]\n\
    [old-tool-results]\nmode = \"aggressive\"\nkeep_last_assistants = 1\n";

fn policy(extra: &str) -> Policy {
    Policy::resolve(None, Some(&format!("{extra}{RESULTS}")), &[]).unwrap()
}

fn call(id: &str) -> Value {
    json!({"role": "assistant", "content": [
        {"type": "thinking", "thinking": format!("why {id}"), "signature": "c2ln"},
        {"type": "tool_use", "id": id, "name": "read", "input": {"path": "a"}}]})
}

fn result(id: &str) -> Value {
    json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": id, "content": "line\n".repeat(400)}]})
}

/// Two exchanges, the second open.
fn open_exchange(model: &str) -> Value {
    json!({"model": model, "messages": [
        {"role": "user", "content": "q"}, call("a"), result("a"), call("b"), result("b")]})
}

#[test]
fn an_open_exchange_that_needs_its_thinking_makes_the_plan_wait() {
    let body = open_exchange("claude-fable-5-1").to_string();
    let outcome = prune(body.as_bytes(), &Request::default(), &policy(""));
    assert_eq!(outcome.body, body.as_bytes());
    assert_eq!(outcome.report.beta, None);
}

#[test]
fn drop_block_cuts_at_once_and_tells_the_provider_so() {
    let body = open_exchange("claude-fable-5-1").to_string();
    let policy = policy("thinking_binding = \"drop_block\"\n");
    let outcome = prune(body.as_bytes(), &Request::default(), &policy);
    assert_eq!(
        outcome.report.beta,
        Some("thinking-binding-controls-2026-08-01")
    );
    let out: Value = serde_json::from_slice(&outcome.body).unwrap();
    assert_eq!(
        out["thinking"]["block_binding"]["prefix_mismatch_behavior"],
        "drop_block"
    );
    assert!(outcome.body.len() + 1_500 < body.len(), "the result went");
    // Closed exchanges lose theirs; the open one keeps it, untouched.
    let thinking = |message: usize| out["messages"][message]["content"][0]["type"] == "thinking";
    assert!(thinking(3));
    let (twice, same) = (
        prune(&outcome.body, &Request::default(), &policy),
        &outcome.body,
    );
    assert_eq!(&twice.body, same);
}

#[test]
fn a_caller_who_turned_thinking_off_or_wants_errors_is_not_overruled() {
    let policy = policy("thinking_binding = \"drop_block\"\n");
    for choice in [
        json!({"type": "disabled"}),
        json!({"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}),
    ] {
        let mut body = open_exchange("claude-fable-5-1");
        body["thinking"] = choice;
        let body = body.to_string();
        let outcome = prune(body.as_bytes(), &Request::default(), &policy);
        assert_eq!(outcome.body, body.as_bytes());
    }
}

#[test]
fn drop_block_changes_nothing_where_thinking_is_not_bound() {
    let body = open_exchange("claude-sonnet-4-5").to_string();
    let request = Request {
        dialect: Some(Dialect::AnthropicMessages),
        ..Request::default()
    };
    let (with, without) = (policy("thinking_binding = \"drop_block\"\n"), policy(""));
    let outcome = prune(body.as_bytes(), &request, &with);
    assert_eq!(
        outcome.body,
        prune(body.as_bytes(), &request, &without).body
    );
    assert!(outcome.body.len() < body.len());
    assert_eq!(outcome.report.beta, None);
}

#[test]
fn in_rounds_the_field_stays_from_the_round_on() {
    let rounds = "thinking_binding = \"drop_block\"\npreset = \"steady\"\n\
        [m7]\nmin_messages = 0\nmin_body_chars = 0\n\
        [rounds]\nmin_gain_chars = 100\nmin_gain_percent = 0.1\nhorizon = 100.0\n";
    let policy = Policy::resolve(None, Some(rounds), &[]).unwrap();
    let mut messages = vec![json!({"role": "user", "content": "q"})];
    let (mut had_field, mut outputs) = (false, 0);
    for at in 0..40 {
        let (id, mut long) = (format!("t{at}"), result(&format!("t{at}")));
        let line = |n: usize| format!("{at} step {n} of {}\n", n * 7919 % 1000);
        long["content"][0]["content"] = (0..800).map(line).collect::<String>().into();
        let mut run = call(&id);
        run["content"][1]["name"] = "bash".into();
        run["content"][1]["input"] = json!({"command": format!("make part-{at}")});
        messages.extend([run, long]);
        let body = json!({"model": "claude-fable-5-1", "messages": messages}).to_string();
        let outcome = prune(body.as_bytes(), &Request::default(), &policy);
        assert_eq!(outcome.error, None);
        let has_field = outcome.report.beta.is_some();
        assert!(has_field || !had_field, "gone again at {at}");
        had_field = has_field;
        outputs += usize::from(outcome.body.len() < body.len());
    }
    assert!(
        had_field && outputs > 0,
        "a round was taken in an open exchange"
    );
}
