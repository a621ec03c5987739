//! Conversations for tests: written once, spelled in every dialect.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::policy::Policy;
use crate::read::dialect::Dialect;
use crate::read::view::PartKind;
use crate::read::wire;
use crate::report::Report;
use crate::{Request, prune};

/// One message.
#[derive(Clone, Debug)]
pub(in crate::strategy) enum Say {
    User(String),
    Model(String),
    /// A user's image.
    Picture,
    /// A call of this tool. Its id is the tool's name and the number of the message.
    Call(&'static str),
    /// The result of the call in the message before.
    Result(String),
    /// The same, marked as failed where the dialect can.
    Failed(String),
    /// The same, with an image beside the text.
    ResultWithPicture(String),
}

pub(in crate::strategy) fn user(text: &str) -> Say {
    Say::User(text.to_owned())
}

pub(in crate::strategy) fn model(text: &str) -> Say {
    Say::Model(text.to_owned())
}

/// A call and its result.
pub(in crate::strategy) fn exchange(tool: &'static str, result: &str) -> [Say; 2] {
    [Say::Call(tool), Say::Result(result.to_owned())]
}

pub(in crate::strategy) fn body(dialect: Dialect, says: &[Say]) -> String {
    let mut id = ("", String::new());
    let mut turns = Vec::new();
    for (at, say) in says.iter().enumerate() {
        if let Say::Call(tool) = say {
            id = (tool, format!("{tool}-{at}"));
        }
        turns.push(match dialect {
            Dialect::AnthropicMessages => anthropic(say, &id.1),
            Dialect::OpenaiChat => chat(say, &id.1),
            Dialect::OpenaiResponses => responses(say, &id.1),
            Dialect::GeminiGenerateContent => gemini(say, id.0, &id.1),
        });
    }
    json!({"model": "some-model", dialect.facts().list_key: turns}).to_string()
}

fn anthropic(say: &Say, id: &str) -> Value {
    let result = |text: &str, is_error: bool| {
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": text,
                            "is_error": is_error});
        json!({"role": "user", "content": [result]})
    };
    match say {
        Say::User(text) => json!({"role": "user", "content": text}),
        Say::Model(text) => {
            json!({"role": "assistant", "content": [{"type": "text", "text": text}]})
        }
        Say::Picture => json!({"role": "user", "content": [{"type": "image", "source": {}}]}),
        Say::Call(tool) => json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": tool, "input": {}}]}),
        Say::Result(text) => result(text, false),
        Say::Failed(text) => result(text, true),
        Say::ResultWithPicture(text) => json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": [
                {"type": "text", "text": text}, {"type": "image", "source": {}}]}]}),
    }
}

fn chat(say: &Say, id: &str) -> Value {
    match say {
        Say::User(text) => json!({"role": "user", "content": text}),
        Say::Model(text) => json!({"role": "assistant", "content": text}),
        Say::Picture => json!({"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "data:,"}}]}),
        Say::Call(tool) => json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": tool, "arguments": "{}"}}]}),
        Say::Result(text) | Say::Failed(text) => {
            json!({"role": "tool", "tool_call_id": id, "content": text})
        }
        Say::ResultWithPicture(text) => json!({"role": "tool", "tool_call_id": id, "content": [
            {"type": "text", "text": text}, {"type": "image_url", "image_url": {}}]}),
    }
}

fn responses(say: &Say, id: &str) -> Value {
    match say {
        Say::User(text) => json!({"role": "user", "content": text}),
        Say::Model(text) => json!({"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": text}]}),
        Say::Picture => json!({"role": "user", "content": [
            {"type": "input_image", "image_url": "data:,"}]}),
        Say::Call(tool) => {
            json!({"type": "function_call", "call_id": id, "name": tool, "arguments": "{}"})
        }
        Say::Result(text) | Say::Failed(text) => {
            json!({"type": "function_call_output", "call_id": id, "output": text})
        }
        Say::ResultWithPicture(text) => {
            json!({"type": "function_call_output", "call_id": id, "output": [
                {"type": "input_text", "text": text}, {"type": "input_image"}]})
        }
    }
}

fn gemini(say: &Say, tool: &str, id: &str) -> Value {
    let result = |key: &str, text: &str| {
        let response = json!({"id": id, "name": tool, "response": {key: text}});
        json!({"role": "user", "parts": [{"functionResponse": response}]})
    };
    match say {
        Say::User(text) => json!({"role": "user", "parts": [{"text": text}]}),
        Say::Model(text) => json!({"role": "model", "parts": [{"text": text}]}),
        Say::Picture => json!({"role": "user", "parts": [{"inlineData": {}}]}),
        Say::Call(tool) => json!({"role": "model", "parts": [
            {"functionCall": {"id": id, "name": tool, "args": {}}}]}),
        Say::Result(text) => result("output", text),
        Say::Failed(text) => result("error", text),
        Say::ResultWithPicture(text) => json!({"role": "user", "parts": [
            {"functionResponse": {"id": id, "name": tool, "response": {"output": text},
                                  "parts": [{"inlineData": {}}]}}]}),
    }
}

/// What was pruned, read back: one line per turn, and the report.
#[derive(Debug)]
pub(in crate::strategy) struct Pruned {
    pub(in crate::strategy) turns: Vec<String>,
    pub(in crate::strategy) report: Report,
    pub(in crate::strategy) output: Vec<u8>,
}

/// Runs a policy and demands that a second run changes nothing.
pub(in crate::strategy) fn pruned(dialect: Dialect, says: &[Say], policy: &str) -> Pruned {
    let found = pruned_once(dialect, body(dialect, says).as_bytes(), policy);
    let again = pruned_once(dialect, &found.output, policy);
    assert_eq!(again.turns, found.turns, "{dialect}: not idempotent");
    assert_eq!(again.output, found.output, "{dialect}: not idempotent");
    found
}

pub(in crate::strategy) fn pruned_once(dialect: Dialect, body: &[u8], policy: &str) -> Pruned {
    let gate = "[m7]\nenabled = true\nmin_messages = 0\nmin_body_chars = 0\n";
    let policy = Policy::resolve(None, Some(&format!("{gate}{policy}")), &[]).unwrap();
    let request = Request {
        dialect: Some(dialect),
        ..Request::default()
    };
    let outcome = prune(body, &request, &policy);
    assert!(outcome.error.is_none(), "{dialect}: {:?}", outcome.error);
    assert!(outcome.body.len() <= body.len());
    if outcome.report.plan.edits.is_empty() {
        assert!(matches!(outcome.body, Cow::Borrowed(_)));
    }
    Pruned {
        turns: lines(dialect, &outcome.body),
        report: outcome.report,
        output: outcome.body.into_owned(),
    }
}

/// A turn as a line: texts and results as they are, calls as `call name`.
fn lines(dialect: Dialect, body: &[u8]) -> Vec<String> {
    let view = wire::read(body, dialect, &secateur_json::Limits::default()).unwrap();
    let line = |turn| {
        let parts = view.parts_of(turn).map(|part| match view.part(part).kind {
            PartKind::Call => format!("call {}", view.name(part).unwrap_or_default()),
            PartKind::Media => "picture".to_owned(),
            _ => view.text(part).into_owned(),
        });
        parts.collect::<Vec<_>>().join(" | ")
    };
    view.turn_ids().map(line).collect()
}
