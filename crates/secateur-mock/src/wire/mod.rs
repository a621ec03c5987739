//! An answer in each API's own shape: as one JSON value, and as server-sent events.

mod chat;
mod gemini;
mod messages;
mod responses;

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::cache::{Usage, tokens};
use crate::request::Api;

/// What a rendered answer needs besides the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'f> {
    pub(crate) model: &'f str,
    pub(crate) usage: Usage,
    /// Whether a chat stream ends with a usage event.
    pub(crate) stream_usage: bool,
    /// Whether OpenAI's usage tells what was written to the cache.
    pub(crate) counts_writes: bool,
}

/// The answer as one JSON value.
pub(crate) fn json(api: Api, answer: &Answer, frame: &Frame<'_>) -> Value {
    match api {
        Api::Chat => chat::json(answer, frame),
        Api::Responses => responses::json(answer, frame),
        Api::Messages => messages::json(answer, frame),
        Api::Gemini => gemini::json(answer, frame),
    }
}

/// The answer as the text of an event stream.
pub(crate) fn events(api: Api, answer: &Answer, frame: &Frame<'_>) -> String {
    match api {
        Api::Chat => chat::events(answer, frame),
        Api::Responses => responses::events(answer, frame),
        Api::Messages => messages::events(answer, frame),
        Api::Gemini => gemini::events(answer, frame),
    }
}

/// A Gemini stream without `alt=sse`: a JSON array that grows.
pub(crate) fn gemini_array(answer: &Answer, frame: &Frame<'_>) -> String {
    gemini::array(answer, frame)
}

/// An error in the API's shape.
pub(crate) fn error(api: Api, status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    match api {
        Api::Chat | Api::Responses => {
            json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
        }
        Api::Messages => {
            json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_mock"})
        }
        Api::Gemini => {
            let name = match status {
                404 => "NOT_FOUND",
                429 => "RESOURCE_EXHAUSTED",
                500.. => "INTERNAL",
                _ => "INVALID_ARGUMENT",
            };
            json!({"error": {"code": status, "message": message, "status": name}})
        }
    }
}

/// Tokens of what the answer says.
pub(crate) fn output_tokens(model: &str, answer: &Answer) -> usize {
    let tokens = |text: &str| tokens(model, text);
    let calls: usize = answer
        .calls
        .iter()
        .map(|call| tokens(&call.name) + tokens(&call.input.spelled()))
        .sum();
    tokens(&answer.text) + calls + answer.thinking.as_deref().map_or(0, tokens)
}

/// OpenAI's details of the input, in both of its APIs.
fn cached_details(frame: &Frame<'_>) -> Value {
    let mut details = json!({"cached_tokens": frame.usage.cache_read_tokens});
    if frame.counts_writes {
        details["cache_write_tokens"] = json!(frame.usage.cache_write_tokens);
    }
    details
}

/// A text in pieces of a few characters, as models stream it.
fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars
        .chunks(9)
        .map(|piece| piece.iter().collect())
        .collect()
}

fn named_event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}
