//! OpenAI chat completions. Of several choices the first counts.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Reply, ToolCall, args_of, items, str_of};

pub(super) fn whole(response: &Value) -> Option<Reply> {
    let message = items(response, "choices").first()?.get("message")?;
    let mut reply = Reply {
        text: content(message.get("content")),
        calls: Vec::new(),
    };
    reply.text.push_str(str_of(message, "refusal"));
    let functions = items(message, "tool_calls").iter().map(function);
    let legacy = message.get("function_call").filter(|call| call.is_object());
    for function in functions.chain(legacy) {
        reply.calls.push(ToolCall {
            name: str_of(function, "name").to_owned(),
            args: args_of(text_of(function)),
        });
    }
    Some(reply)
}

/// A function's call, or a custom tool's, which takes text.
fn function(call: &Value) -> &Value {
    call.get("function").or(call.get("custom")).unwrap_or(call)
}

fn text_of(function: &Value) -> &str {
    let arguments = function.get("arguments").or(function.get("input"));
    arguments.and_then(Value::as_str).unwrap_or_default()
}

/// A string, or an array of parts.
fn content(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().map(|part| str_of(part, "text")).collect(),
        _ => String::new(),
    }
}

pub(super) fn streamed(events: &[Value]) -> Option<Reply> {
    let mut text = String::new();
    let mut calls: BTreeMap<u64, (String, String)> = BTreeMap::new();
    let mut is_over = false;
    for event in events {
        let is_first = |choice: &&Value| choice["index"].as_u64().unwrap_or(0) == 0;
        let Some(choice) = items(event, "choices").iter().find(is_first) else {
            continue;
        };
        is_over |= choice
            .get("finish_reason")
            .is_some_and(|reason| !reason.is_null());
        let Some(delta) = choice.get("delta") else {
            continue;
        };
        text.push_str(&content(delta.get("content")));
        text.push_str(str_of(delta, "refusal"));
        let legacy = delta.get("function_call").filter(|call| call.is_object());
        for (call, index) in items(delta, "tool_calls")
            .iter()
            .map(|call| (function(call), call["index"].as_u64().unwrap_or(0)))
            .chain(legacy.map(|call| (call, 0)))
        {
            let (name, args) = calls.entry(index).or_default();
            name.push_str(str_of(call, "name"));
            args.push_str(text_of(call));
        }
    }
    let calls = calls.into_values().map(|(name, args)| ToolCall {
        name,
        args: args_of(&args),
    });
    is_over.then(|| Reply {
        text,
        calls: calls.collect(),
    })
}
