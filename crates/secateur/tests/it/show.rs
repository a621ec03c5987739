//! `secateur plan --show`: what the model sees of a pruned request.
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

/// What `plan --show` prints of a body whose old results are cleared with a note.
fn shown(name: &str, body: &Value) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, body.to_string()).unwrap();
    let output = Command::new(crate::SECATEUR)
        .args(["plan", path.to_str().unwrap(), "--show"])
        .args(["--preset", "openclaw-aggressive", "--set"])
        .arg("old-tool-results.hard_clear.style=\"described\"")
        .args(["--set", "old-tool-results.keep_last_assistants=1"])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

fn log() -> String {
    let passed: String = (0..200)
        .map(|n| format!("test case_{n} ... ok\n"))
        .collect();
    format!(
        "running 201 tests\n{passed}test parse ... FAILED\ntest result: FAILED. 200 passed; 1 failed\n"
    )
}

const NOTE: &str = "[Output of Bash `./run_tests.sh` removed to save space (4,172 characters). \
    Outcome: \"test parse ... FAILED\"; \"test result: FAILED. 200 passed; 1 failed\". \
    Run it again if you need all of it.]";

#[test]
fn a_conversation_is_printed_with_its_calls_results_and_notes() {
    let body = json!({ "model": "claude-opus-4-6", "max_tokens": 100, "system": "Be brief.", "messages": [
        { "role": "user", "content": "Run the tests." },
        { "role": "assistant", "content": [
            { "type": "text", "text": "I run them." },
            { "type": "tool_use", "id": "a", "name": "Bash", "input": { "command": "./run_tests.sh" } }] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "a", "content": log() }] },
        { "role": "assistant", "content": "One test fails." },
        { "role": "user", "content": [
            { "type": "text", "text": "Look at this." },
            { "type": "image", "source": { "type": "url", "url": "https://example.org/a.png" } }] },
    ] });
    let expected = format!(
        "=== system ===\nBe brief.\n\n\
         === user ===\nRun the tests.\n\n\
         === assistant ===\nI run them.\n--- call of Bash\n{{\"command\":\"./run_tests.sh\"}}\n\n\
         === user ===\n--- result of Bash\n{NOTE}\n\n\
         === assistant ===\nOne test fails.\n\n\
         === user ===\nLook at this.\n--- image or document\n"
    );
    assert_eq!(shown("show-anthropic.json", &body), expected);
}

#[test]
fn every_dialect_is_printed_alike() {
    let call = json!({ "command": "./run_tests.sh" });
    let chat = json!({ "model": "gpt-5", "messages": [
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": "Run the tests." },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "a", "type": "function", "function": { "name": "Bash", "arguments": call.to_string() } }] },
        { "role": "tool", "tool_call_id": "a", "content": log() },
        { "role": "assistant", "content": "One test fails." },
        { "role": "user", "content": "Why?" }] });
    let responses = json!({ "model": "gpt-5", "instructions": "Be brief.", "input": [
        { "type": "message", "role": "user", "content": "Run the tests." },
        { "type": "function_call", "call_id": "a", "name": "Bash", "arguments": call.to_string() },
        { "type": "function_call_output", "call_id": "a", "output": log() },
        { "type": "message", "role": "assistant", "content": "One test fails." },
        { "type": "message", "role": "user", "content": "Why?" }] });
    let gemini = json!({ "systemInstruction": { "parts": [{ "text": "Be brief." }] }, "contents": [
        { "role": "user", "parts": [{ "text": "Run the tests." }] },
        { "role": "model", "parts": [{ "functionCall": { "name": "Bash", "args": call } }] },
        { "role": "user", "parts": [{ "functionResponse": { "name": "Bash", "response": { "output": log() } } }] },
        { "role": "model", "parts": [{ "text": "One test fails." }] },
        { "role": "user", "parts": [{ "text": "Why?" }] }] });
    for (name, body) in [("chat", chat), ("responses", responses), ("gemini", gemini)] {
        let shown = shown(&format!("show-{name}.json"), &body);
        let parts = [
            "=== system ===\nBe brief.\n",
            "=== user ===\nRun the tests.\n",
            "=== assistant ===\n--- call of Bash\n{\"command\":\"./run_tests.sh\"}\n",
            &format!("--- result of Bash\n{NOTE}\n"),
            "=== assistant ===\nOne test fails.\n",
            "=== user ===\nWhy?\n",
        ];
        let mut rest = shown.as_str();
        for part in parts {
            let at = rest
                .find(part)
                .unwrap_or_else(|| panic!("{name}: {part:?} in {shown}"));
            rest = &rest[at + part.len()..];
        }
        assert_eq!(rest, "", "{name}");
    }
}
