//! A JSON document that is a session: an object with `messages`, or a bare array of messages.

use serde_json::Value;
use serde_json::value::RawValue;

use super::Loaded;
use super::estimate::{cold_boundaries, fixed_tokens};
use super::parts::{Calls, read_message};
use crate::session::{Message, Role, Session};
use secateur_core::Dialect;

/// True for a file that is one JSON value rather than a line per value.
pub(crate) fn is_one_document(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or_default();
    serde_json::from_str::<&RawValue>(first).is_err()
        && serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Reads one document; `line` is its line number.
pub(crate) fn read_document(name: &str, line: usize, text: &str, loaded: &mut Loaded) {
    let place = format!("{name}:{line}");
    match session_of(&place, text) {
        Ok(session) => loaded.sessions.push(session),
        Err(reason) => loaded.reject(place, reason),
    }
}

/// Reads one row of a file of sessions.
pub(crate) fn read_row(name: &str, line: usize, text: &str) -> Loaded {
    let mut loaded = Loaded::default();
    read_document(name, line, text.trim(), &mut loaded);
    loaded
}

fn session_of(place: &str, text: &str) -> Result<Session, String> {
    let (id, list, usage, model) = if text.starts_with('[') {
        (None, text.to_owned(), Value::Null, None)
    } else {
        let fields: std::collections::HashMap<String, Box<RawValue>> =
            serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
        let list = fields
            .get("messages")
            .ok_or("no `messages` array")?
            .get()
            .to_owned();
        let id = fields
            .get("id")
            .and_then(|id| serde_json::from_str::<String>(id.get()).ok());
        let usage = fields
            .get("usage")
            .and_then(|u| serde_json::from_str(u.get()).ok())
            .unwrap_or(Value::Null);
        let model = fields
            .get("model")
            .and_then(|model| serde_json::from_str::<String>(model.get()).ok());
        (id, list, usage, model)
    };
    let raws: Vec<&RawValue> = serde_json::from_str(&list)
        .map_err(|error| format!("`messages` is not an array: {error}"))?;
    let mut calls = Calls::new();
    let mut messages = Vec::with_capacity(raws.len());
    for (index, raw) in raws.iter().enumerate() {
        let value: Value =
            serde_json::from_str(raw.get()).map_err(|error| format!("message {index}: {error}"))?;
        let message = read_message(raw.get(), &value, &mut calls)
            .ok_or_else(|| format!("message {index}: no known role"))?;
        messages.push(message);
    }
    let mut session = Session {
        id: id.unwrap_or_else(|| place.to_owned()),
        dialect: dialect_of(&messages),
        messages,
        fixed_tokens: 0.0,
        model,
        cold: Vec::new(),
        has_long_cache: false,
        origin: None,
        answers: Vec::new(),
    };
    if session.boundaries().next().is_none() {
        return Err("no request: no assistant message follows another's".to_owned());
    }
    let count = |upto: usize, key: &str| {
        let usage = usage.get(upto)?;
        usage.get(key).and_then(Value::as_f64)
    };
    session.fixed_tokens = fixed_tokens(&session, |upto| count(upto, "request_tokens"));
    session.cold = cold_boundaries(&session, |upto| count(upto, "cache_read"));
    Ok(session)
}

/// Tool results are messages of their own in OpenAI's form, and calls are no blocks.
pub(crate) fn dialect_of(messages: &[Message]) -> Dialect {
    let is_openai = |message: &Message| {
        matches!(message.role, Role::Tool | Role::System) || message.raw.contains("\"tool_calls\"")
    };
    if messages.iter().any(is_openai) {
        Dialect::OpenaiChat
    } else {
        Dialect::AnthropicMessages
    }
}
