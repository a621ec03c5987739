//! Anthropic Messages.

use serde_json::{Value, json};

use super::{Answer, Frame, named_event, pieces};
use crate::answer::Call;
use crate::rules::sign;

fn usage(frame: &Frame<'_>, output_tokens: usize) -> Value {
    let usage = frame.usage;
    json!({
        "input_tokens": usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation": {"ephemeral_5m_input_tokens": usage.cache_write_tokens - usage.long_write_tokens,
            "ephemeral_1h_input_tokens": usage.long_write_tokens},
        "output_tokens": output_tokens,
        "service_tier": "standard"
    })
}

fn message(
    answer: &Answer,
    frame: &Frame<'_>,
    content: &Value,
    reason: &Value,
    output: usize,
) -> Value {
    json!({
        "id": format!("msg_{:016x}", answer.id), "type": "message", "role": "assistant",
        "model": frame.model, "content": content, "stop_reason": reason, "stop_sequence": null,
        "usage": usage(frame, output)
    })
}

fn reason(answer: &Answer) -> &'static str {
    if answer.calls.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    }
}

fn call_id(call: &Call) -> String {
    format!("toolu_{:016x}", call.number)
}

pub(super) fn json(answer: &Answer, frame: &Frame<'_>) -> Value {
    let mut content = Vec::new();
    if let Some(text) = &answer.thinking {
        content.push(json!({"type": "thinking", "thinking": text, "signature": sign(text)}));
    }
    if !answer.text.is_empty() {
        content.push(json!({"type": "text", "text": answer.text}));
    }
    for call in &answer.calls {
        content.push(
            json!({"type": "tool_use", "id": call_id(call), "name": call.name,
            "input": call.input.arguments()}),
        );
    }
    message(
        answer,
        frame,
        &json!(content),
        &json!(reason(answer)),
        frame.usage.output_tokens,
    )
}

pub(super) fn events(answer: &Answer, frame: &Frame<'_>) -> String {
    let send = |kind: &str, mut data: Value| {
        data["type"] = json!(kind);
        named_event(kind, &data)
    };
    let mut out = send(
        "message_start",
        json!({"message": message(answer, frame, &json!([]), &Value::Null, 1)}),
    );
    out += &send("ping", json!({}));
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        out += &send(
            "content_block_start",
            json!({"index": index, "content_block": start}),
        );
        for delta in deltas {
            out += &send(
                "content_block_delta",
                json!({"index": index, "delta": delta}),
            );
        }
        out += &send("content_block_stop", json!({"index": index}));
        index += 1;
    };
    if let Some(text) = &answer.thinking {
        let mut deltas: Vec<Value> = pieces(text)
            .into_iter()
            .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
            .collect();
        deltas.push(json!({"type": "signature_delta", "signature": sign(text)}));
        block(
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            deltas,
        );
    }
    if !answer.text.is_empty() {
        let deltas = pieces(&answer.text).into_iter();
        let deltas = deltas.map(|piece| json!({"type": "text_delta", "text": piece}));
        block(json!({"type": "text", "text": ""}), deltas.collect());
    }
    for call in &answer.calls {
        let deltas = pieces(&call.input.arguments().to_string()).into_iter();
        let deltas = deltas.map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
        block(
            json!({"type": "tool_use", "id": call_id(call), "name": call.name, "input": {}}),
            deltas.collect(),
        );
    }
    out += &send(
        "message_delta",
        json!({"delta": {"stop_reason": reason(answer), "stop_sequence": null},
            "usage": {"output_tokens": frame.usage.output_tokens}}),
    );
    out + &send("message_stop", json!({}))
}
