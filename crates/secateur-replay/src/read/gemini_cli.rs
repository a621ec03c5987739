//! Gemini CLI: `tmp/PROJECT/chats/session-*.jsonl`, or one JSON document in `.json` (older versions).
//!
//! A line is a message (`user`, `gemini`; the same id again replaces it), `{"$set": {…}}`, which may replace all
//! messages, or `{"$rewindTo": id}`. Results are in `toolCalls` of the answer, and again in a `user` message. `tokens.input`
//! includes `tokens.cached`. Checked with 0.61.

use serde_json::Value;

use super::Loaded;
use super::conversation::{Conversation, Piece};
use super::fields::{joined, key, model, text, tokens};
use super::time::millis_of;
use crate::agent::Agent;
use crate::session::{Answer, Origin, Usage};

/// A log on its way.
#[derive(Default)]
pub(super) struct Log {
    session: String,
    messages: Vec<Value>,
    bytes: usize,
}

impl Log {
    /// Bytes of the lines that are held.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes one line, or a whole document.
    pub(super) fn take(&mut self, line: &str) -> Result<(), String> {
        let mut record: Value =
            serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
        if let Some(id) = record.get("sessionId").and_then(Value::as_str) {
            id.clone_into(&mut self.session);
        }
        let set = record.get_mut("$set").map(Value::take);
        if let Some(mut fields) = set {
            if fields.get("messages").is_some() {
                self.bytes += line.len();
            }
            self.replace(&mut fields);
        } else if let Some(to) = record.get("$rewindTo").and_then(Value::as_str) {
            if let Some(at) = self.messages.iter().position(|held| text(held, "id") == to) {
                self.messages.truncate(at);
            }
        } else if matches!(text(&record, "type"), "user" | "gemini") {
            self.bytes += line.len();
            self.upsert(record);
        } else if record.get("messages").is_some() {
            self.bytes += line.len();
            self.replace(&mut record);
        } else if !record.is_object() {
            return Err("not a message".to_owned());
        }
        Ok(())
    }

    fn replace(&mut self, fields: &mut Value) {
        if let Some(Value::Array(messages)) = fields.get_mut("messages").map(Value::take) {
            self.messages = messages;
        }
    }

    /// Updates come soon after what they replace.
    fn upsert(&mut self, message: Value) {
        let id = text(&message, "id");
        let held = self.messages.iter_mut().rev();
        match held
            .take(32)
            .find(|held| !id.is_empty() && text(held, "id") == id)
        {
            Some(held) => *held = message,
            None => self.messages.push(message),
        }
    }

    /// Hands over the session.
    pub(super) fn finish(self, name: &str, loaded: &mut Loaded) {
        let session = if self.session.is_empty() {
            name.to_owned()
        } else {
            self.session
        };
        let mut conversation = Conversation::default();
        for message in &self.messages {
            match text(message, "type") {
                "user" => {
                    let content = message.get("content").map(joined).unwrap_or_default();
                    conversation.user(content);
                }
                "gemini" => answer(&mut conversation, &session, message),
                _ => {}
            }
        }
        let origin = Origin {
            agent: Agent::GeminiCli,
            session: session.clone(),
            project: None,
        };
        loaded
            .sessions
            .extend(conversation.into_session(session, origin));
    }
}

fn answer(conversation: &mut Conversation, session: &str, message: &Value) {
    let mut pieces = vec![Piece::Text(
        message.get("content").map(joined).unwrap_or_default(),
    )];
    let empty = Vec::new();
    let calls = message
        .get("toolCalls")
        .and_then(Value::as_array)
        .unwrap_or(&empty);
    pieces.extend(calls.iter().map(|call| Piece::Call {
        id: text(call, "id").to_owned(),
        name: text(call, "name").to_owned(),
        arguments: call.get("args").cloned().unwrap_or_default(),
    }));
    let answer = Answer {
        at_ms: millis_of(text(message, "timestamp")),
        model: model(text(message, "model")),
        key: key(&[session, text(message, "id")]),
        usage: message.get("tokens").and_then(usage),
        ..Answer::default()
    };
    conversation.whole_answer(pieces, answer);
    for call in calls {
        let is_error = text(call, "status") == "error";
        conversation.result(text(call, "id").to_owned(), result(call), is_error);
    }
}

fn usage(counts: &Value) -> Option<Usage> {
    let read = tokens(counts, "cached");
    let usage = Usage {
        plain: tokens(counts, "input").saturating_sub(read),
        read,
        output: tokens(counts, "output") + tokens(counts, "thoughts"),
        ..Usage::default()
    };
    (usage.input() > 0).then_some(usage)
}

/// A call's result as it was sent.
fn result(call: &Value) -> String {
    let parts = match call.get("result") {
        Some(Value::Array(parts)) => parts.as_slice(),
        Some(Value::String(text)) => return text.clone(),
        _ => return String::new(),
    };
    let response = |part: &Value| {
        let response = part.get("functionResponse")?.get("response")?;
        let text = response.get("output").or_else(|| response.get("error"));
        Some(text.map_or_else(|| response.to_string(), |text| match text {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }))
    };
    let texts: Vec<String> = parts.iter().filter_map(response).collect();
    texts.join("\n")
}
