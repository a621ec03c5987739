//! OpenAI Responses.

use serde_json::{Value, json};

use super::{Answer, Frame, named_event, pieces};

fn item(answer: &Answer) -> Value {
    match &answer.call {
        Some((name, input)) => json!({
            "type": "function_call", "id": format!("fc_{:016x}", answer.id), "status": "completed",
            "call_id": format!("call_{:016x}", answer.id), "name": name, "arguments": input.to_string()}),
        None => json!({
            "type": "message", "id": format!("msg_{:016x}", answer.id), "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}]}),
    }
}

fn response(
    answer: &Answer,
    frame: &Frame<'_>,
    status: &str,
    output: &Value,
    usage: &Value,
) -> Value {
    json!({
        "id": format!("resp_{:016x}", answer.id), "object": "response", "created_at": 1_760_000_000,
        "status": status, "background": false, "error": null, "incomplete_details": null, "instructions": null,
        "max_output_tokens": null, "model": frame.model, "output": output, "parallel_tool_calls": true,
        "previous_response_id": null, "reasoning": {"effort": null, "summary": null}, "store": true,
        "temperature": 1.0, "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [],
        "top_p": 1.0, "truncation": "disabled", "usage": usage, "user": null, "metadata": {}
    })
}

fn usage(frame: &Frame<'_>) -> Value {
    let usage = frame.usage;
    json!({
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input_tokens + usage.output_tokens
    })
}

pub(super) fn json(answer: &Answer, frame: &Frame<'_>) -> Value {
    response(
        answer,
        frame,
        "completed",
        &json!([item(answer)]),
        &usage(frame),
    )
}

pub(super) fn events(answer: &Answer, frame: &Frame<'_>) -> String {
    let mut number = 0;
    let mut out = String::new();
    let mut send = |kind: &str, mut data: Value| {
        data["type"] = json!(kind);
        data["sequence_number"] = json!(number);
        number += 1;
        out += &named_event(kind, &data);
    };
    let started = response(answer, frame, "in_progress", &json!([]), &Value::Null);
    send("response.created", json!({"response": started}));
    send("response.in_progress", json!({"response": started}));
    let done = item(answer);
    let id = done["id"].clone();
    let mut added = done.clone();
    added["status"] = json!("in_progress");
    match &answer.call {
        Some((_, input)) => {
            added["arguments"] = json!("");
            send(
                "response.output_item.added",
                json!({"output_index": 0, "item": added}),
            );
            for piece in pieces(&input.to_string()) {
                send(
                    "response.function_call_arguments.delta",
                    json!({"item_id": id, "output_index": 0, "delta": piece}),
                );
            }
            send(
                "response.function_call_arguments.done",
                json!({"item_id": id, "output_index": 0, "arguments": input.to_string()}),
            );
        }
        None => {
            added["content"] = json!([]);
            send(
                "response.output_item.added",
                json!({"output_index": 0, "item": added}),
            );
            let place = || json!({"item_id": id, "output_index": 0, "content_index": 0});
            let with = |key: &str, value: Value| {
                let mut data = place();
                data[key] = value;
                data
            };
            let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
            send("response.content_part.added", with("part", part("")));
            for piece in pieces(&answer.text) {
                let mut data = with("delta", json!(piece));
                data["logprobs"] = json!([]);
                send("response.output_text.delta", data);
            }
            let mut data = with("text", json!(answer.text));
            data["logprobs"] = json!([]);
            send("response.output_text.done", data);
            send(
                "response.content_part.done",
                with("part", part(&answer.text)),
            );
        }
    }
    send(
        "response.output_item.done",
        json!({"output_index": 0, "item": done}),
    );
    send(
        "response.completed",
        json!({"response": json(answer, frame)}),
    );
    out
}
