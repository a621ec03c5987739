//! OpenAI chat completions.

use serde_json::{Value, json};

use super::{Answer, Frame, event, pieces};

fn usage(frame: &Frame<'_>) -> Value {
    let usage = frame.usage;
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0}
    })
}

fn call_id(answer: &Answer) -> String {
    format!("call_{:016x}", answer.id)
}

pub(super) fn json(answer: &Answer, frame: &Frame<'_>) -> Value {
    let (message, reason) = match &answer.call {
        Some((name, input)) => (
            json!({"role": "assistant", "content": null, "refusal": null, "tool_calls": [{
                "id": call_id(answer), "type": "function",
                "function": {"name": name, "arguments": input.to_string()}}]}),
            "tool_calls",
        ),
        None => (
            json!({"role": "assistant", "content": answer.text, "refusal": null}),
            "stop",
        ),
    };
    json!({
        "id": format!("chatcmpl-{:016x}", answer.id), "object": "chat.completion", "created": 1_760_000_000,
        "model": frame.model,
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": reason}],
        "usage": usage(frame), "service_tier": "default"
    })
}

pub(super) fn events(answer: &Answer, frame: &Frame<'_>) -> String {
    let chunk = |choices: Value, usage: Value| {
        event(&json!({
            "id": format!("chatcmpl-{:016x}", answer.id), "object": "chat.completion.chunk",
            "created": 1_760_000_000, "model": frame.model, "choices": choices, "usage": usage
        }))
    };
    let delta = |delta: Value, reason: Value| {
        chunk(
            json!([{"index": 0, "delta": delta, "finish_reason": reason}]),
            Value::Null,
        )
    };
    let mut out = delta(json!({"role": "assistant", "content": ""}), Value::Null);
    let reason = match &answer.call {
        Some((name, input)) => {
            out += &delta(
                json!({"tool_calls": [{"index": 0, "id": call_id(answer), "type": "function",
                    "function": {"name": name, "arguments": ""}}]}),
                Value::Null,
            );
            for piece in pieces(&input.to_string()) {
                out += &delta(
                    json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}),
                    Value::Null,
                );
            }
            "tool_calls"
        }
        None => {
            for piece in pieces(&answer.text) {
                out += &delta(json!({"content": piece}), Value::Null);
            }
            "stop"
        }
    };
    out += &delta(json!({}), json!(reason));
    if frame.stream_usage {
        out += &chunk(json!([]), usage(frame));
    }
    out + "data: [DONE]\n\n"
}
