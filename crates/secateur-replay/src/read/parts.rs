//! Messages in Anthropic's and in OpenAI's chat form, as parts.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::fields::{joined, text as text_field};
use crate::session::{Message, Part, PartKind, Role, ToolCall};

/// Calls seen so far, by id; a result looks up the call that it answers.
pub(crate) type Calls = HashMap<String, Arc<ToolCall>>;

/// Reads one message; `None` when it has no known role.
pub(crate) fn read_message(raw: &str, value: &Value, calls: &mut Calls) -> Option<Message> {
    let role = match value.get("role")?.as_str()? {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" | "function" => Role::Tool,
        _ => return None,
    };
    let mut parts = Vec::new();
    match value.get("content") {
        Some(Value::String(text)) if role == Role::Tool => {
            parts.push(tool_result(value, text, calls));
        }
        Some(content @ Value::Array(_)) if role == Role::Tool => {
            parts.push(tool_result(value, &joined(content), calls));
        }
        Some(Value::String(text)) => parts.push(plain(PartKind::Text, text)),
        Some(Value::Array(blocks)) => {
            parts.extend(blocks.iter().map(|block| read_block(block, calls)));
        }
        _ => {}
    }
    if let Some(Value::Array(list)) = value.get("tool_calls") {
        parts.extend(list.iter().map(|call| openai_call(call, calls)));
    }
    Some(Message {
        role,
        parts,
        raw: raw.into(),
    })
}

fn plain(kind: PartKind, text: &str) -> Part {
    Part {
        kind,
        text: text.into(),
        call: None,
        is_error: false,
    }
}

fn read_block(block: &Value, calls: &mut Calls) -> Part {
    match text_field(block, "type") {
        "text" | "input_text" | "output_text" => plain(PartKind::Text, text_field(block, "text")),
        "thinking" => plain(PartKind::Thinking, text_field(block, "thinking")),
        "tool_use" => {
            let input = block.get("input").cloned().unwrap_or(Value::Null);
            let text = input.to_string();
            call_part(
                text_field(block, "id"),
                text_field(block, "name"),
                input,
                &text,
                calls,
            )
        }
        "tool_result" => {
            let text = block.get("content").map(joined).unwrap_or_default();
            let mut part = plain(PartKind::ToolResult, &text);
            part.call = calls.get(text_field(block, "tool_use_id")).cloned();
            part.is_error = block
                .get("is_error")
                .and_then(Value::as_bool)
                .unwrap_or(false);
            part
        }
        _ => plain(PartKind::Opaque, ""),
    }
}

fn openai_call(call: &Value, calls: &mut Calls) -> Part {
    let of_custom = call.get("custom").map(|custom| (custom, "input"));
    let of_function = (call.get("function").unwrap_or(call), "arguments");
    let (function, key) = of_custom.unwrap_or(of_function);
    let arguments = text_field(function, key);
    let input = serde_json::from_str(arguments).unwrap_or(Value::Null);
    call_part(
        text_field(call, "id"),
        text_field(function, "name"),
        input,
        arguments,
        calls,
    )
}

fn call_part(id: &str, name: &str, input: Value, text: &str, calls: &mut Calls) -> Part {
    let call = Arc::new(ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        input,
    });
    calls.insert(id.to_owned(), Arc::clone(&call));
    Part {
        kind: PartKind::ToolUse,
        text: text.into(),
        call: Some(call),
        is_error: false,
    }
}

fn tool_result(message: &Value, text: &str, calls: &Calls) -> Part {
    let call = calls.get(text_field(message, "tool_call_id")).cloned();
    Part {
        kind: PartKind::ToolResult,
        text: text.into(),
        call,
        is_error: false,
    }
}
