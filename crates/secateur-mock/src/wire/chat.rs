//! OpenAI chat completions.

use serde_json::{Value, json};

use super::{Answer, Frame, cached_details, event, pieces};
use crate::answer::Call;

fn usage(frame: &Frame<'_>) -> Value {
    let usage = frame.usage;
    let mut details = cached_details(frame);
    details["audio_tokens"] = json!(0);
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": details,
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0}
    })
}

fn call_id(call: &Call) -> String {
    format!("call_{:016x}", call.number)
}

fn reason(answer: &Answer) -> &'static str {
    if answer.calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    }
}

pub(super) fn json(answer: &Answer, frame: &Frame<'_>) -> Value {
    let text = (!answer.text.is_empty()).then_some(&answer.text);
    let mut message = json!({"role": "assistant", "content": text, "refusal": null});
    if !answer.calls.is_empty() {
        let calls = answer.calls.iter();
        let calls = calls.map(|call| {
            json!({"id": call_id(call), "type": "function",
                "function": {"name": call.name, "arguments": call.input.arguments().to_string()}})
        });
        message["tool_calls"] = calls.collect();
    }
    json!({
        "id": format!("chatcmpl-{:016x}", answer.id), "object": "chat.completion", "created": 1_760_000_000,
        "model": frame.model,
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": reason(answer)}],
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
    for piece in pieces(&answer.text) {
        out += &delta(json!({"content": piece}), Value::Null);
    }
    for (at, call) in answer.calls.iter().enumerate() {
        out += &delta(
            json!({"tool_calls": [{"index": at, "id": call_id(call), "type": "function",
                "function": {"name": call.name, "arguments": ""}}]}),
            Value::Null,
        );
        for piece in pieces(&call.input.arguments().to_string()) {
            out += &delta(
                json!({"tool_calls": [{"index": at, "function": {"arguments": piece}}]}),
                Value::Null,
            );
        }
    }
    out += &delta(json!({}), json!(reason(answer)));
    if frame.stream_usage {
        out += &chunk(json!([]), usage(frame));
    }
    out + "data: [DONE]\n\n"
}
