use super::*;
use serde_json::json;

fn stream(events: &[Value]) -> Vec<u8> {
    let text = |event: &Value| format!("event: x\r\ndata: {event}\r\n\r\n");
    let mut out: String = events.iter().map(text).collect();
    out.push_str("data: [DONE]\n\n");
    out.into_bytes()
}

fn check(dialect: Dialect, whole: &Value, events: &[Value]) {
    let expected = Reply {
        text: "Let me 見る.".into(),
        calls: vec![
            ToolCall {
                name: "read".into(),
                args: json!({"path": "a"}),
            },
            ToolCall {
                name: "list".into(),
                args: json!({}),
            },
        ],
    };
    let found = read(dialect, Layout::Json, whole.to_string().as_bytes());
    assert_eq!(found.as_ref(), Some(&expected), "{dialect} whole");
    let found = read(dialect, Layout::Events, &stream(events));
    assert_eq!(found, Some(expected), "{dialect} streamed");
    let cut = read(
        dialect,
        Layout::Events,
        &stream(&events[..events.len() - 1]),
    );
    assert_eq!(cut, None, "{dialect}: a stream that broke off");
    let mut failed = events.to_vec();
    failed.push(json!({"type": "error", "error": {"type": "overloaded_error"}}));
    assert_eq!(read(dialect, Layout::Events, &stream(&failed)), None);
}

#[test]
fn openai_chat_whole_and_streamed() {
    let call = |index: u64, name: &str, args: &str| {
        json!({"index": index, "id": "c", "type": "function",
        "function": {"name": name, "arguments": args}})
    };
    let delta =
        |delta: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    check(
        Dialect::OpenaiChat,
        &json!({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant",
            "content": "Let me 見る.", "refusal": null,
            "tool_calls": [call(0, "read", "{\"path\": \"a\"}"), call(1, "list", "")]}}]}),
        &[
            delta(json!({"role": "assistant", "content": "Let me "})),
            delta(json!({"content": "見る."})),
            delta(json!({"tool_calls": [call(0, "read", "")]})),
            delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"path\":"}}]})),
            delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": "\"a\"}"}}]})),
            delta(json!({"tool_calls": [call(1, "list", "{}")]})),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        ],
    );
}

#[test]
fn openai_responses_whole_and_streamed() {
    let output = json!([
        {"type": "reasoning", "summary": []},
        {"type": "message", "content": [{"type": "output_text", "text": "Let me 見る."}]},
        {"type": "function_call", "name": "read", "arguments": "{\"path\":\"a\"}", "call_id": "1"},
        {"type": "function_call", "name": "list", "arguments": "{}", "call_id": "2"}]);
    let response = json!({"status": "completed", "error": null, "output": output});
    check(
        Dialect::OpenaiResponses,
        &response,
        &[
            json!({"type": "response.created", "response": {"status": "in_progress", "output": []}}),
            json!({"type": "response.output_text.delta", "delta": "Let me "}),
            json!({"type": "response.completed", "response": response}),
        ],
    );
}

#[test]
fn anthropic_messages_whole_and_streamed() {
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    check(
        Dialect::AnthropicMessages,
        &json!({"type": "message", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "Let me 見る."},
            {"type": "tool_use", "id": "t", "name": "read", "input": {"path": "a"}},
            {"type": "tool_use", "id": "u", "name": "list", "input": {}}]}),
        &[
            start(0, json!({"type": "thinking", "thinking": ""})),
            delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
            delta(0, json!({"type": "signature_delta", "signature": "s"})),
            start(1, json!({"type": "text", "text": ""})),
            delta(1, json!({"type": "text_delta", "text": "Let me "})),
            delta(1, json!({"type": "text_delta", "text": "見る."})),
            start(
                2,
                json!({"type": "tool_use", "id": "t", "name": "read", "input": {}}),
            ),
            delta(
                2,
                json!({"type": "input_json_delta", "partial_json": "{\"pa"}),
            ),
            delta(
                2,
                json!({"type": "input_json_delta", "partial_json": "th\":\"a\"}"}),
            ),
            start(
                3,
                json!({"type": "tool_use", "id": "u", "name": "list", "input": {}}),
            ),
            json!({"type": "message_stop"}),
        ],
    );
}

#[test]
fn gemini_whole_streamed_and_as_an_array() {
    let chunk =
        |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}}]});
    let last = json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "list", "args": {}}}]},
        "finishReason": "STOP"}]});
    let read_call =
        json!({"functionCall": {"name": "read", "args": {"path": "a"}}, "thoughtSignature": "x"});
    let events = [
        chunk(json!([{"text": "hm", "thought": true}, {"text": "Let me "}])),
        chunk(json!([{"text": "見る."}, read_call])),
        last.clone(),
    ];
    let whole = json!({"candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": "Let me 見る."},
        read_call, {"functionCall": {"name": "list", "args": {}}}]}}]});
    check(Dialect::GeminiGenerateContent, &whole, &events);
    let array = Value::Array(events.to_vec()).to_string();
    let found = read(
        Dialect::GeminiGenerateContent,
        Layout::Json,
        array.as_bytes(),
    );
    assert_eq!(found.unwrap().calls.len(), 2);
}
