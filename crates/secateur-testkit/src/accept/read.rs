//! Requests as plain lists of who says what.

use secateur_core::Dialect;
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    System,
    User,
    Model,
    Tool,
    Stranger,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Text { blank: bool, empty: bool },
    Call(String),
    Result(String),
    Reasoning,
    Else,
}

#[derive(Debug)]
pub(super) struct Message {
    pub(super) who: Who,
    pub(super) parts: Vec<What>,
}

fn text(value: &Value) -> What {
    let text = value.as_str().unwrap_or_default();
    What::Text {
        blank: text.trim().is_empty(),
        empty: text.is_empty(),
    }
}

fn key(id: Option<&Value>, name: Option<&Value>) -> String {
    match (id.and_then(Value::as_str), name.and_then(Value::as_str)) {
        (Some(id), _) => format!("id {id}"),
        (None, Some(name)) => format!("name {name}"),
        (None, None) => "nothing".to_owned(),
    }
}

pub(super) fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

pub(super) fn messages(request: &Value, dialect: Dialect) -> Vec<Message> {
    let items = list(request, dialect.facts().list_key);
    match dialect {
        Dialect::AnthropicMessages => items.iter().map(anthropic).collect(),
        Dialect::GeminiGenerateContent => items.iter().map(gemini).collect(),
        Dialect::OpenaiResponses => match request.get("input") {
            Some(Value::String(_)) => vec![Message {
                who: Who::User,
                parts: Vec::new(),
            }],
            _ => responses(items),
        },
        _ => items.iter().map(chat).collect(),
    }
}

fn who(role: Option<&Value>) -> Who {
    match role.and_then(Value::as_str) {
        Some("system" | "developer") => Who::System,
        Some("user") => Who::User,
        Some("assistant" | "model") => Who::Model,
        Some("tool" | "function") => Who::Tool,
        _ => Who::Stranger,
    }
}

fn anthropic(message: &Value) -> Message {
    let parts = match message.get("content") {
        Some(Value::Array(blocks)) => blocks
            .iter()
            .map(|block| match block.get("type").and_then(Value::as_str) {
                Some("text") => text(&block["text"]),
                Some("tool_use") => What::Call(key(block.get("id"), None)),
                Some("tool_result") => What::Result(key(block.get("tool_use_id"), None)),
                _ => What::Else,
            })
            .collect(),
        Some(content) => vec![text(content)],
        None => Vec::new(),
    };
    let who = match message.get("role").and_then(Value::as_str) {
        Some("user") => Who::User,
        Some("assistant") => Who::Model,
        Some("system") => Who::System,
        _ => Who::Stranger,
    };
    Message { who, parts }
}

fn gemini(content: &Value) -> Message {
    let part = |part: &Value| {
        if let Some(call) = part.get("functionCall") {
            What::Call(key(call.get("id"), call.get("name")))
        } else if let Some(result) = part.get("functionResponse") {
            What::Result(key(result.get("id"), result.get("name")))
        } else {
            What::Else
        }
    };
    let who = match content.get("role") {
        None => Who::User,
        role => who(role),
    };
    Message {
        who,
        parts: list(content, "parts").iter().map(part).collect(),
    }
}

fn chat(message: &Value) -> Message {
    let who = who(message.get("role"));
    let mut parts = Vec::new();
    if who == Who::Tool {
        parts.push(What::Result(key(
            message.get("tool_call_id"),
            message.get("name"),
        )));
    } else if message
        .get("content")
        .is_some_and(|content| !content.is_null())
    {
        parts.push(What::Else);
    }
    for call in list(message, "tool_calls") {
        parts.push(What::Call(key(
            call.get("id"),
            call.pointer("/function/name"),
        )));
    }
    if let Some(call @ Value::Object(_)) = message.get("function_call") {
        parts.push(What::Call(key(None, call.get("name"))));
    }
    Message { who, parts }
}

/// What the model produced in one go is one message.
fn responses(items: &[Value]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for item in items {
        let kind = item
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or("message");
        let has_id = item.get("call_id").is_some_and(Value::is_string)
            && item.get("execution").is_none_or(|by| by != "server");
        let (by, part) = match kind {
            "message" => (who(item.get("role")), What::Else),
            "reasoning" => (Who::Model, What::Reasoning),
            _ if item.get("role").is_some_and(Value::is_string) => {
                (who(item.get("role")), What::Else)
            }
            _ if kind.ends_with("_call") && has_id => {
                (Who::Model, What::Call(key(item.get("call_id"), None)))
            }
            _ if kind.ends_with("_output") && has_id => {
                (Who::Tool, What::Result(key(item.get("call_id"), None)))
            }
            _ if kind.ends_with("_call") || kind.ends_with("_output") => (Who::Model, What::Else),
            _ => (Who::Stranger, What::Else),
        };
        match messages.last_mut() {
            Some(last) if last.who == Who::Model && by == Who::Model => last.parts.push(part),
            _ => messages.push(Message {
                who: by,
                parts: vec![part],
            }),
        }
    }
    messages
}
