//! A session as each agent writes it.

use serde_json::{Value, json};

pub(crate) const AT: [&str; 4] = [
    "2026-11-02T09:00:00.000Z",
    "2026-11-02T09:00:05.000Z",
    "2026-11-02T09:00:06.000Z",
    "2026-11-02T09:00:10.000Z",
];

pub(crate) fn claude_code() -> Vec<Value> {
    let event = |kind: &str, at: usize, message: Value| {
        json!({ "type": kind, "uuid": format!("u{at}"), "sessionId": "s1", "cwd": "/w/shop",
            "timestamp": AT[at], "requestId": format!("r{at}"), "message": message })
    };
    let usage = |plain: u64, read: u64| {
        json!({ "input_tokens": plain, "cache_creation_input_tokens": 200,
            "cache_read_input_tokens": read, "output_tokens": 20 })
    };
    vec![
        json!({ "type": "mode", "sessionId": "s1" }),
        event("user", 0, json!({ "role": "user", "content": "list them" })),
        event(
            "assistant",
            1,
            json!({ "role": "assistant", "id": "m1", "model": "claude-opus-4-6", "usage": usage(800, 0),
            "content": [{ "type": "text", "text": "I look." }] }),
        ),
        event(
            "assistant",
            1,
            json!({ "role": "assistant", "id": "m1", "model": "claude-opus-4-6", "usage": usage(800, 0),
            "content": [{ "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "ls" } }] }),
        ),
        event(
            "user",
            2,
            json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "t1", "content": "three files" }] }),
        ),
        event(
            "assistant",
            3,
            json!({ "role": "assistant", "id": "m2", "model": "claude-opus-4-6", "usage": usage(0, 900),
            "content": [{ "type": "text", "text": "Three." }] }),
        ),
        event(
            "assistant",
            3,
            json!({ "role": "assistant", "id": "m3", "model": "<synthetic>",
            "content": [{ "type": "text", "text": "API Error" }] }),
        ),
    ]
}

pub(crate) fn codex() -> Vec<Value> {
    let event = |kind: &str, at: usize, payload: Value| json!({ "timestamp": AT[at], "type": kind, "payload": payload });
    let usage = |input: u64, cached: u64| json!({ "input_tokens": input, "cached_input_tokens": cached, "output_tokens": 20 });
    let count = |at: usize, input: u64, cached: u64| {
        event(
            "event_msg",
            at,
            json!({ "type": "token_count",
            "info": { "last_token_usage": usage(input, cached) } }),
        )
    };
    vec![
        event("session_meta", 0, json!({ "id": "s1", "cwd": "/w/shop" })),
        event("turn_context", 0, json!({ "model": "gpt-5.5" })),
        event(
            "response_item",
            0,
            json!({ "type": "message", "role": "developer",
            "content": [{ "type": "input_text", "text": "rules" }] }),
        ),
        event(
            "response_item",
            0,
            json!({ "type": "message", "role": "user",
            "content": [{ "type": "input_text", "text": "list them" }] }),
        ),
        event(
            "response_item",
            1,
            json!({ "type": "reasoning", "summary": [] }),
        ),
        event(
            "response_item",
            1,
            json!({ "type": "message", "role": "assistant",
            "content": [{ "type": "output_text", "text": "I look." }] }),
        ),
        event(
            "response_item",
            1,
            json!({ "type": "function_call", "name": "exec_command", "call_id": "c1",
            "arguments": "{\"cmd\":\"ls\"}" }),
        ),
        event(
            "response_item",
            2,
            json!({ "type": "function_call_output", "call_id": "c1",
            "output": "exit 0\nthree files" }),
        ),
        count(2, 1000, 0),
        // The same again, because a limit changed.
        count(2, 1000, 0),
        event(
            "response_item",
            3,
            json!({ "type": "message", "role": "assistant",
            "content": [{ "type": "output_text", "text": "Three." }] }),
        ),
        count(3, 1100, 900),
    ]
}

pub(crate) fn gemini_cli() -> Vec<Value> {
    let call = json!({ "id": "c1", "name": "run_shell_command", "args": { "command": "ls" }, "status": "success",
        "result": [{ "functionResponse": { "id": "c1", "response": { "output": "three files" } } }] });
    let answer = json!({ "id": "g1", "timestamp": AT[1], "type": "gemini", "content": "I look.", "model": "gemini-2.5-pro",
        "tokens": { "input": 1000, "cached": 0, "output": 15, "thoughts": 5 } });
    let mut called = answer.clone();
    called["toolCalls"] = json!([call]);
    vec![
        json!({ "sessionId": "s1", "projectHash": "h", "startTime": AT[0], "kind": "main" }),
        json!({ "id": "u1", "timestamp": AT[0], "type": "user", "content": [{ "text": "list them" }] }),
        answer,
        json!({ "$set": { "lastUpdated": AT[1] } }),
        called,
        json!({ "id": "u2", "timestamp": AT[2], "type": "user", "content": [
            { "functionResponse": { "id": "c1", "response": { "output": "three files" } } }] }),
        json!({ "id": "g2", "timestamp": AT[3], "type": "gemini", "content": "Three.", "model": "gemini-2.5-pro",
            "tokens": { "input": 1100, "cached": 900, "output": 15, "thoughts": 5 } }),
    ]
}

pub(crate) fn pi() -> Vec<Value> {
    let entry = |id: &str, parent: Value, at: usize, message: Value| json!({ "type": "message", "id": id, "parentId": parent, "timestamp": AT[at], "message": message });
    let usage = |input: u64, read: u64| json!({ "input": input, "output": 20, "cacheRead": read, "cacheWrite": 0 });
    vec![
        json!({ "type": "session", "version": 3, "id": "s1", "timestamp": AT[0], "cwd": "/w/shop" }),
        entry(
            "a",
            Value::Null,
            0,
            json!({ "role": "user", "content": [{ "type": "text", "text": "list them" }] }),
        ),
        entry(
            "b",
            "a".into(),
            1,
            json!({ "role": "assistant", "model": "claude-opus-4-6", "usage": usage(1000, 0), "content": [
            { "type": "thinking", "thinking": "hm", "thinkingSignature": "s" },
            { "type": "toolCall", "id": "c1", "name": "bash", "arguments": { "command": "ls" } }] }),
        ),
        entry(
            "c",
            "b".into(),
            2,
            json!({ "role": "toolResult", "toolCallId": "c1", "isError": false,
            "content": [{ "type": "text", "text": "three files" }] }),
        ),
        entry(
            "d",
            "c".into(),
            3,
            json!({ "role": "assistant", "model": "claude-opus-4-6", "usage": usage(200, 900),
            "content": [{ "type": "text", "text": "Three." }] }),
        ),
    ]
}

/// Messages with their parts.
pub(crate) fn opencode() -> Vec<(Value, Vec<Value>)> {
    let assistant = |at: i64| json!({ "role": "assistant", "modelID": "claude-opus-4-6", "providerID": "anthropic", "time": { "created": at } });
    let finish = |write: u64, read: u64| {
        json!({ "type": "step-finish", "tokens": { "input": 0, "output": 12, "reasoning": 8,
            "cache": { "write": write, "read": read } } })
    };
    vec![
        (
            json!({ "role": "user", "time": { "created": 1_793_610_000_000_i64 } }),
            vec![json!({ "type": "text", "text": "list them" })],
        ),
        (
            assistant(1_793_610_005_000),
            vec![
                json!({ "type": "step-start" }),
                json!({ "type": "tool", "tool": "bash", "callID": "c1", "state": { "status": "completed",
                "input": { "command": "ls" }, "output": "three files" } }),
                finish(1000, 0),
            ],
        ),
        (
            assistant(1_793_610_010_000),
            vec![
                json!({ "type": "step-start" }),
                json!({ "type": "text", "text": "Three." }),
                finish(200, 900),
            ],
        ),
    ]
}
