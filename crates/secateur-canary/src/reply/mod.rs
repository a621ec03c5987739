//! What a model answered: text and tool calls, read from a whole response of any dialect, streamed or
//! not.

mod anthropic_messages;
mod events;
mod gemini_generate_content;
mod openai_chat;
mod openai_responses;

use secateur_core::Dialect;
use serde::Serialize;
use serde_json::Value;

/// One tool call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// Its arguments as a JSON value; text that is no JSON is a string.
    pub args: Value,
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reply {
    /// All text, without reasoning.
    pub text: String,
    /// The tool calls in order.
    pub calls: Vec<ToolCall>,
}

/// How a response's body is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One JSON value.
    Json,
    /// Server-sent events.
    Events,
}

impl Layout {
    pub(crate) fn of(content_type: &str) -> Option<Self> {
        let kind = content_type.split(';').next()?.trim();
        if kind.eq_ignore_ascii_case("text/event-stream") {
            Some(Self::Events)
        } else if kind.eq_ignore_ascii_case("application/json") {
            Some(Self::Json)
        } else {
            None
        }
    }
}

/// Reads the answer out of a response that was decoded. `None`: it broke off, holds an error, or is of
/// another shape; then there is nothing to compare.
pub(crate) fn read(dialect: Dialect, layout: Layout, body: &[u8]) -> Option<Reply> {
    let values = match layout {
        Layout::Json => vec![serde_json::from_slice(body).ok()?],
        Layout::Events => events::values(body),
    };
    if values
        .iter()
        .any(|value| value.get("error").is_some_and(|error| !error.is_null()))
    {
        return None;
    }
    match (dialect, layout) {
        (Dialect::OpenaiChat, Layout::Json) => openai_chat::whole(values.first()?),
        (Dialect::OpenaiChat, Layout::Events) => openai_chat::streamed(&values),
        (Dialect::OpenaiResponses, Layout::Json) => openai_responses::whole(values.first()?),
        (Dialect::OpenaiResponses, Layout::Events) => openai_responses::streamed(&values),
        (Dialect::AnthropicMessages, Layout::Json) => anthropic_messages::whole(values.first()?),
        (Dialect::AnthropicMessages, Layout::Events) => anthropic_messages::streamed(&values),
        (Dialect::GeminiGenerateContent, _) => gemini_generate_content::chunks(&values),
        _ => None,
    }
}

/// Arguments that a dialect writes as text.
fn args_of(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

fn str_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
