//! Gemini CLI: `tmp/PROJECT/chats/session-*.jsonl`, or one JSON document in `.json` (older versions).
//!
//! A line is a message (`user`, `gemini`; the same id again replaces it), `{"$set": {…}}`, which may replace all
//! messages, or `{"$rewindTo": id}`. Replaced messages are a new context: a session that is resumed, with old results
//! masked. Answers in it have no `tokens`. Results are in `toolCalls` of the answer, and again in a `user` message.
//! `tokens.input` includes `tokens.cached`. Checked with 0.61.

use std::collections::HashSet;

use serde_json::Value;

use super::Loaded;
use super::conversation::{Conversation, Piece, hand_over};
use super::fields::{joined, key, model, named, text, tokens, unknown};
use super::time::millis_of;
use crate::agent::Agent;
use crate::session::{Answer, Origin, Usage};

/// A log while it is read.
#[derive(Default)]
pub(super) struct Log {
    session: String,
    contexts: Vec<Conversation>,
    messages: Vec<Value>,
    /// Of the messages, those from the front that a `$set` brought.
    history: usize,
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
        if !record.is_object() {
            return Err("not a message".to_owned());
        }
        if let Some(id) = record.get("sessionId").and_then(Value::as_str) {
            id.clone_into(&mut self.session);
        }
        if let Some(fields) = record.get_mut("$set") {
            if let Some(Value::Array(messages)) = fields.get_mut("messages").map(Value::take) {
                self.bytes += line.len();
                self.close_context();
                self.history = messages.len();
                self.messages = messages;
            }
        } else if let Some(to) = record.get("$rewindTo").and_then(Value::as_str) {
            if let Some(at) = self.messages.iter().position(|held| text(held, "id") == to) {
                self.rewind(at);
            }
        } else if matches!(text(&record, "type"), "user" | "gemini") {
            self.bytes += line.len();
            self.upsert(record);
        } else if let Some(Value::Array(messages)) = record.get_mut("messages").map(Value::take) {
            self.bytes += line.len();
            self.messages = messages;
        } else if let kind = text(&record, "type")
            && !matches!(kind, "" | "info" | "warning" | "error")
        {
            return Err(unknown("message", kind));
        }
        Ok(())
    }

    /// What was said after a message was billed, and is not sent any more.
    fn rewind(&mut self, to: usize) {
        let kept = self.messages[..to].to_vec();
        self.close_context();
        self.history = kept.len();
        self.messages = kept;
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

    /// Puts a context together from the messages, if any request was made in it.
    fn close_context(&mut self) {
        let messages = std::mem::take(&mut self.messages);
        let is_answer = |message: &&Value| text(message, "type") == "gemini";
        if !messages
            .iter()
            .skip(self.history)
            .any(|message| is_answer(&message))
        {
            return;
        }
        let mut conversation = Conversation::default();
        let mut answered: HashSet<String> = HashSet::new();
        for (at, message) in messages.iter().enumerate() {
            match text(message, "type") {
                "user" => user(&mut conversation, message, &answered),
                "gemini" => {
                    let is_history = at < self.history;
                    let calls = answer(&mut conversation, &self.session, message, is_history);
                    answered.extend(calls);
                }
                _ => {}
            }
        }
        self.contexts.push(conversation);
    }

    /// Hands over the sessions.
    pub(super) fn finish(mut self, name: &str, loaded: &mut Loaded) {
        self.close_context();
        let origin = Origin {
            agent: Agent::GeminiCli,
            session: named(self.session, name),
            project: None,
        };
        hand_over(self.contexts, &origin, loaded);
    }
}

fn parts<'m>(message: &'m Value, key: &str) -> &'m [Value] {
    let list = message.get(key).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// A user's text, and results that are not in the answer that called for them.
fn user(conversation: &mut Conversation, message: &Value, answered: &HashSet<String>) {
    for part in parts(message, "content") {
        let Some(response) = part.get("functionResponse") else {
            continue;
        };
        let id = text(response, "id");
        if !answered.contains(id) {
            let result = response.get("response").map(output).unwrap_or_default();
            conversation.result(id.to_owned(), result, false);
        }
    }
    conversation.user(message.get("content").map(joined).unwrap_or_default());
}

/// An answer with its calls and their results; the ids of the calls that have one.
fn answer(
    conversation: &mut Conversation,
    session: &str,
    message: &Value,
    is_history: bool,
) -> Vec<String> {
    let call = |call: &Value| Piece::Call {
        id: text(call, "id").to_owned(),
        name: text(call, "name").to_owned(),
        arguments: call.get("args").cloned().unwrap_or_default(),
    };
    let content = message.get("content").map(joined).unwrap_or_default();
    let mut pieces = vec![Piece::Text(content)];
    let calls = parts(message, "toolCalls");
    pieces.extend(calls.iter().map(call));
    let in_content = parts(message, "content").iter();
    pieces.extend(in_content.filter_map(|part| part.get("functionCall").map(call)));
    conversation.whole_answer(
        pieces,
        Answer {
            at_ms: millis_of(text(message, "timestamp")),
            model: model(text(message, "model")),
            key: key(&[session, text(message, "id")]),
            usage: message.get("tokens").and_then(usage),
            is_history,
            ..Answer::default()
        },
    );
    for call in calls {
        let is_error = text(call, "status") == "error";
        conversation.result(text(call, "id").to_owned(), result(call), is_error);
    }
    calls
        .iter()
        .map(|call| text(call, "id").to_owned())
        .collect()
}

fn usage(counts: &Value) -> Option<Usage> {
    let read = tokens(counts, "cached");
    let usage = Usage {
        plain: tokens(counts, "input").saturating_sub(read),
        read,
        output: tokens(counts, "output").saturating_add(tokens(counts, "thoughts")),
        ..Usage::default()
    };
    (usage.input() > 0).then_some(usage)
}

/// A call's result as it was sent.
fn result(call: &Value) -> String {
    if let Some(Value::String(text)) = call.get("result") {
        return text.clone();
    }
    let response = |part: &Value| Some(output(part.get("functionResponse")?.get("response")?));
    let texts: Vec<String> = parts(call, "result").iter().filter_map(response).collect();
    texts.join("\n")
}

/// The text of a function's response.
fn output(response: &Value) -> String {
    let text = response.get("output").or_else(|| response.get("error"));
    match text {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => response.to_string(),
    }
}
