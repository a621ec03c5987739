//! OpenAI Responses.

use serde_json::{Value, json};

use super::{Answer, Frame, cached_details, named_event, pieces};
use crate::answer::{Call, CallInput};
use crate::rules::sign;

/// The output items of an answer, complete.
fn items(answer: &Answer) -> Vec<Value> {
    let mut items = Vec::new();
    if let Some(text) = &answer.thinking {
        items.push(json!({
            "type": "reasoning", "id": format!("rs_{:016x}", answer.id),
            "summary": [{"type": "summary_text", "text": text}], "encrypted_content": sign(text)}));
    }
    if !answer.text.is_empty() {
        items.push(json!({
            "type": "message", "id": format!("msg_{:016x}", answer.id), "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}]}));
    }
    items.extend(answer.calls.iter().map(call_item));
    items
}

fn call_item(call: &Call) -> Value {
    let call_id = format!("call_{:016x}", call.number);
    match &call.input {
        CallInput::Arguments(arguments) => json!({
            "type": "function_call", "id": format!("fc_{:016x}", call.number), "status": "completed",
            "call_id": call_id, "name": call.name, "arguments": arguments.to_string()}),
        CallInput::Text(text) => json!({
            "type": "custom_tool_call", "id": format!("ctc_{:016x}", call.number), "status": "completed",
            "call_id": call_id, "name": call.name, "input": text}),
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
        "input_tokens_details": cached_details(frame),
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
        &json!(items(answer)),
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
    for (index, item) in items(answer).into_iter().enumerate() {
        let place = |key: &str, value: Value| {
            let mut data = json!({"item_id": item["id"], "output_index": index});
            data[key] = value;
            data
        };
        let mut added = item.clone();
        let emptied = match item["type"].as_str() {
            Some("reasoning") => "summary",
            Some("function_call") => "arguments",
            Some("custom_tool_call") => "input",
            _ => "content",
        };
        added[emptied] = if item[emptied].is_array() {
            json!([])
        } else {
            json!("")
        };
        if !added["status"].is_null() {
            added["status"] = json!("in_progress");
        }
        send(
            "response.output_item.added",
            json!({"output_index": index, "item": added}),
        );
        for (kind, data) in inner_events(&item, emptied, &place) {
            send(kind, data);
        }
        send(
            "response.output_item.done",
            json!({"output_index": index, "item": item}),
        );
    }
    send(
        "response.completed",
        json!({"response": json(answer, frame)}),
    );
    out
}

/// What is sent between an item's beginning and its end.
fn inner_events(
    item: &Value,
    streamed: &str,
    place: &dyn Fn(&str, Value) -> Value,
) -> Vec<(&'static str, Value)> {
    let with = |counter: &str, key: &str, value: Value| {
        let mut data = place(key, value);
        data[counter] = json!(0);
        data
    };
    let whole = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
    let mut events = Vec::new();
    match streamed {
        "summary" => {
            let part = &item["summary"][0];
            let text = part["text"].as_str().unwrap_or_default();
            let of = |key: &str, value: Value| with("summary_index", key, value);
            let empty = json!({"type": "summary_text", "text": ""});
            events.push(("response.reasoning_summary_part.added", of("part", empty)));
            for piece in pieces(text) {
                events.push((
                    "response.reasoning_summary_text.delta",
                    of("delta", json!(piece)),
                ));
            }
            events.push((
                "response.reasoning_summary_text.done",
                of("text", json!(text)),
            ));
            events.push((
                "response.reasoning_summary_part.done",
                of("part", part.clone()),
            ));
        }
        "arguments" => {
            for piece in pieces(&whole(streamed)) {
                events.push((
                    "response.function_call_arguments.delta",
                    place("delta", json!(piece)),
                ));
            }
            let all = place(streamed, item[streamed].clone());
            events.push(("response.function_call_arguments.done", all));
        }
        "input" => {
            for piece in pieces(&whole(streamed)) {
                events.push((
                    "response.custom_tool_call_input.delta",
                    place("delta", json!(piece)),
                ));
            }
            let all = place(streamed, item[streamed].clone());
            events.push(("response.custom_tool_call_input.done", all));
        }
        _ => {
            let part = &item["content"][0];
            let text = part["text"].as_str().unwrap_or_default();
            let of = |key: &str, value: Value| with("content_index", key, value);
            let scored = |key: &str, value: Value| {
                let mut data = of(key, value);
                data["logprobs"] = json!([]);
                data
            };
            let empty =
                json!({"type": "output_text", "text": "", "annotations": [], "logprobs": []});
            events.push(("response.content_part.added", of("part", empty)));
            for piece in pieces(text) {
                events.push(("response.output_text.delta", scored("delta", json!(piece))));
            }
            events.push(("response.output_text.done", scored("text", json!(text))));
            events.push(("response.content_part.done", of("part", part.clone())));
        }
    }
    events
}
