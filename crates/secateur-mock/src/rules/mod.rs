//! What the providers reject, written anew over parsed JSON.
//!
//! The messages follow the real ones in substance, so that a client's handling of them is exercised.
//! Checked against recorded 4xx answers, November 2026.

mod chat;
mod gemini;
mod markers;
mod messages;
mod responses;

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::cache::knows_breakpoints;
use crate::request::Api;

/// Judges a request as its provider would.
///
/// # Errors
/// What is wrong with it, in words.
pub fn check(api: Api, body: &Value) -> Result<(), String> {
    if !body.is_object() {
        return Err("the request must be a JSON object".to_owned());
    }
    let has_breakpoints = knows_breakpoints(api, text(body, "model"));
    match api {
        Api::Chat => {
            markers::check_breakpoints(&body["messages"], has_breakpoints)?;
            chat::check(body)
        }
        Api::Responses => {
            markers::check_breakpoints(&body["input"], has_breakpoints)?;
            responses::check(body)
        }
        Api::Messages => {
            markers::check_cache_control(body)?;
            messages::check(body)
        }
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

/// Whether a signature is this provider's own and does not fit the text that it came with.
fn is_forged(signature: &str, thinking: &str) -> bool {
    signature.starts_with("mock-") && sign(thinking) != signature
}

/// The signature of a thinking text of ours.
pub(crate) fn sign(thinking: &str) -> String {
    let mut hasher = DefaultHasher::new();
    thinking.hash(&mut hasher);
    format!("mock-{:016x}", hasher.finish())
}
