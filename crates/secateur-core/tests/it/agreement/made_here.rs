//! Cases of the same shape as the recorded ones, written by hand: they run everywhere.

use serde_json::{Value, json};

use super::data::{body, messages_of, policy, results, run};

/// A task, exchanges whose results have these lengths, and an open exchange at the end.
fn session(lengths: &[usize]) -> Vec<Value> {
    let mut messages = vec![json!({"role": "user", "content": [{"type": "text", "text": "task"}]})];
    for (at, &length) in lengths.iter().enumerate() {
        let id = format!("toolu_{at}");
        messages.push(json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "t".repeat(100), "signature": "s".repeat(4000)},
            {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": "a.rs"}}]}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": "x".repeat(length)}]}));
    }
    messages
}

/// Lengths of the results after the preset has run.
fn lengths_after(messages: &[Value], preset: &str, settings: &[&str]) -> Vec<usize> {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    let body = body(messages);
    let outcome = run(&body, &policy(preset, &settings));
    let results = results(&messages_of(&outcome));
    results.into_iter().map(|(_, text)| text.len()).collect()
}

#[test]
fn openclaw_counts_thinking_and_arguments_but_no_signatures() {
    // Each exchange: 100 of thinking, 20 of `{"file_path":"a.rs"}`, 4,880 of result; the task: 4.
    let messages = session(&[4880; 6]);
    let total = 6 * (100 + 20 + 4880) + 4;
    for (window_chars, trimmed) in [(100_000, true), (100_020, false)] {
        assert_eq!(total * 10 >= window_chars * 3, trimmed);
        let window = format!("old-tool-results.window_tokens={}", window_chars / 4);
        let found = lengths_after(&messages, "openclaw-adaptive", &[&window]);
        let expected = if trimmed { 3086 } else { 4880 };
        assert_eq!(found, [expected, expected, expected, 4880, 4880, 4880]);
    }
}

#[test]
fn openclaw_clears_the_oldest_until_half_of_the_window_is_reached() {
    let messages = session(&[4000; 25]);
    let found = lengths_after(
        &messages,
        "openclaw-adaptive",
        &["old-tool-results.window_tokens=45000"],
    );
    // 103,004 of 180,000 characters; each cleared result frees 3,967; four make it 87,136.
    assert_eq!(found.iter().filter(|&&length| length == 33).count(), 4);
    assert_eq!(found[..5], [33, 33, 33, 33, 4000]);
    // 22 eligible results of 4,000 are enough; 12 of them are not.
    let found = lengths_after(
        &messages[..31],
        "openclaw-adaptive",
        &["old-tool-results.window_tokens=15000"],
    );
    assert!(found.iter().all(|&length| length == 4000));
}

#[test]
fn openclaw_aggressive_clears_all_but_the_last_three_and_never_grows() {
    let found = lengths_after(
        &session(&[500, 20, 500, 500, 500]),
        "openclaw-aggressive",
        &[],
    );
    assert_eq!(found, [33, 20, 500, 500, 500]);
}

#[test]
fn beskar_summarises_what_comes_before_the_window_and_keeps_the_last_user() {
    let body = body(&session(&[500; 10]));
    let settings = ["summarized-turns.max_turns=4".to_owned()];
    let outcome = run(&body, &policy("beskar-summarize", &settings));
    let messages = messages_of(&outcome);
    // The task is the last message that a user wrote: it stays, and stays the last.
    assert_eq!(
        messages[0]["content"],
        "[Previous context: 16 turns summarized]"
    );
    assert_eq!(messages[1]["content"][0]["text"], "task");
    assert_eq!(messages.len(), 6);
}

#[test]
fn opencode_protects_the_newest_tokens_and_demands_a_minimum() {
    let mut messages = session(&[40_000; 8]);
    messages.push(json!({"role": "assistant", "content": "done"}));
    for text in ["next", "last"] {
        messages.push(json!({"role": "user", "content": text}));
    }
    let found = lengths_after(&messages, "opencode", &[]);
    // 10,000 tokens each: the newest four stay, four more free 40,000.
    assert_eq!(found, [25, 25, 25, 25, 40_000, 40_000, 40_000, 40_000]);
    // Six: two beyond the protected ones free exactly the minimum, which is not more than it.
    let mut fewer = session(&[40_000; 6]);
    fewer.extend_from_slice(&messages[17..]);
    assert_eq!(lengths_after(&fewer, "opencode", &[]), [40_000; 6]);
}
