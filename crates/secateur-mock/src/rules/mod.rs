//! What the providers reject, written anew over parsed JSON.
//!
//! The messages follow the real ones in substance, so that a client's handling of them is exercised.
//! Checked against recorded 4xx answers, November 2026.

mod chat;
mod gemini;
mod messages;
mod responses;

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::request::Api;

/// Judges a request as its provider would.
///
/// # Errors
/// What is wrong with it, in words.
pub fn check(api: Api, body: &Value) -> Result<(), String> {
    if !body.is_object() {
        return Err("the request must be a JSON object".to_owned());
    }
    match api {
        Api::Chat => chat::check(body),
        Api::Responses => responses::check(body),
        Api::Messages => messages::check(body),
        Api::Gemini => gemini::check(body),
    }
}

/// The list under `key`, which must be there and hold something.
fn list<'b>(body: &'b Value, key: &str) -> Result<&'b Vec<Value>, String> {
    let list = body.get(key).and_then(Value::as_array);
    let list = list.ok_or_else(|| format!("{key}: a list is required"))?;
    if list.is_empty() {
        return Err(format!("{key}: at least one is required"));
    }
    Ok(list)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// The signature of a thinking text of ours.
pub(crate) fn sign(thinking: &str) -> String {
    let mut hasher = DefaultHasher::new();
    thinking.hash(&mut hasher);
    format!("mock-{:016x}", hasher.finish())
}
