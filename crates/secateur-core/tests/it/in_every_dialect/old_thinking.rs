//! `old-thinking`: what it does in each dialect.

use super::conversation::{Step, assistant, body, policy, pruned, run, tool, untouched, user};
use secateur_core::Dialect;
use serde_json::json;

fn talk(rounds: usize) -> Vec<Step> {
    let mut steps = Vec::new();
    for at in 0..rounds {
        steps.push(user(format!("question {at}")));
        steps.push(Step::Thought(
            format!("pondering {at}"),
            format!("answer {at}"),
        ));
    }
    steps.push(user("last question"));
    steps
}

#[test]
fn blocks_of_older_turns_go_whole() {
    let policy = policy(&["old-thinking"], "");
    for dialect in [
        Dialect::AnthropicMessages,
        Dialect::GeminiGenerateContent,
        Dialect::OpenaiChat,
    ] {
        let out = pruned(dialect, &body(dialect, "", &talk(10)), &policy);
        for at in 0..10 {
            let kept = out.contains(&format!("pondering {at}\""));
            assert_eq!(kept, at >= 7, "{dialect}: turn {at}");
            assert!(out.contains(&format!("answer {at}")), "{dialect}");
        }
    }
}

#[test]
fn reasoning_items_stay_with_what_they_produced() {
    let text = body(Dialect::OpenaiResponses, "", &talk(10));
    let reasons = untouched(
        Dialect::OpenaiResponses,
        &text,
        &policy(&["old-thinking"], ""),
    );
    assert_eq!(reasons, ["signed"; 7]);
}

#[test]
fn signed_gemini_thoughts_stay() {
    let dialect = Dialect::GeminiGenerateContent;
    let text = body(dialect, "", &talk(5));
    let signed = text.replace(
        r#""thought":true"#,
        r#""thought":true,"thoughtSignature":"c2ln""#,
    );
    let reasons = untouched(dialect, &signed, &policy(&["old-thinking"], ""));
    assert_eq!(reasons, ["signed", "signed"]);
}

/// A task with one user message and thinking before each of six calls.
fn open_task() -> String {
    let mut messages = vec![json!({"role": "user", "content": "task"})];
    for at in 0..6 {
        messages.push(json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": format!("pondering {at}"), "signature": "c2ln"},
            {"type": "tool_use", "id": format!("t{at}"), "name": "ls", "input": {}}]}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": format!("t{at}"), "content": "ok"}]}));
    }
    json!({"model": "claude-sonnet-4-5", "messages": messages}).to_string()
}

#[test]
fn a_running_task_keeps_its_thinking_unless_told_otherwise() {
    let dialect = Dialect::AnthropicMessages;
    untouched(dialect, &open_task(), &policy(&["old-thinking"], ""));
    let settings = "[old-thinking]\nkeep_since_last_user = false\nkeep_last_assistants = 0\n";
    let task = open_task();
    let outcome = run(dialect, &task, &policy(&["old-thinking"], settings));
    let out = String::from_utf8(outcome.body.into_owned()).unwrap();
    assert!(!out.contains("pondering 4"), "{out}");
    assert!(
        out.contains("pondering 5"),
        "the open exchange keeps its own"
    );
}

#[test]
fn a_turn_that_is_only_thinking_stays() {
    let only = json!({"model": "claude-sonnet-4-5", "messages": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"}]},
        {"role": "user", "content": "q2"}, {"role": "assistant", "content": "a2"},
        {"role": "assistant", "content": "a3"}, {"role": "assistant", "content": "a4"},
        {"role": "user", "content": "q3"}]});
    let dialect = Dialect::AnthropicMessages;
    let reasons = untouched(dialect, &only.to_string(), &policy(&["old-thinking"], ""));
    assert_eq!(reasons, ["the turn would be empty"]);
}

#[test]
fn conversations_without_old_thinking_are_untouched() {
    let policy = policy(&["old-thinking"], "");
    for dialect in Dialect::ALL {
        untouched(dialect, &body(dialect, "", &talk(3)), &policy);
        let plain = [
            user("q"),
            tool("ls", json!({}), "out"),
            assistant("a"),
            user("q"),
        ];
        untouched(dialect, &body(dialect, "", &plain), &policy);
    }
}
