//! A conversation that is put together from a log which is not in the form of a provider's messages: as Anthropic's
//! messages for Claude, as OpenAI's chat messages for all other models.

use std::collections::HashSet;

use secateur_core::Dialect;
use serde_json::{Value, json};

use super::Loaded;
use super::estimate;
use super::parts::{Calls, read_message};
use crate::session::{Answer, Origin, Session};

/// One piece of an answer.
#[derive(Debug)]
pub(super) enum Piece {
    Text(String),
    /// Thinking with its signature.
    Thinking(String, String),
    Call {
        id: String,
        name: String,
        arguments: Value,
    },
    /// A call whose input is plain text.
    CustomCall {
        id: String,
        name: String,
        input: String,
    },
}

/// One event of a conversation.
#[derive(Debug)]
enum Event {
    System(String),
    User(String),
    Answer(Vec<Piece>, Answer),
    Result {
        call: String,
        text: String,
        is_error: bool,
    },
}

/// A conversation under construction.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    events: Vec<Event>,
    /// Bytes of text that it holds.
    pub(super) bytes: usize,
}

impl Conversation {
    pub(super) fn system(&mut self, text: String) {
        self.bytes += text.len();
        self.events.push(Event::System(text));
    }

    pub(super) fn user(&mut self, text: String) {
        if !text.is_empty() {
            self.bytes += text.len();
            self.events.push(Event::User(text));
        }
    }

    /// Adds to the answer that is being given, or begins one.
    pub(super) fn answer(&mut self, piece: Piece, begin: impl FnOnce() -> Answer) {
        self.bytes += piece.len();
        match self.events.last_mut() {
            Some(Event::Answer(pieces, answer)) if !answer.is_history => pieces.push(piece),
            _ => self.events.push(Event::Answer(vec![piece], begin())),
        }
    }

    /// A whole answer.
    pub(super) fn whole_answer(&mut self, pieces: Vec<Piece>, answer: Answer) {
        self.bytes += pieces.iter().map(Piece::len).sum::<usize>();
        self.events.push(Event::Answer(pieces, answer));
    }

    /// The newest answer.
    pub(super) fn last_answer(&mut self) -> Option<&mut Answer> {
        self.events.iter_mut().rev().find_map(|event| match event {
            Event::Answer(_, answer) => Some(answer),
            _ => None,
        })
    }

    pub(super) fn result(&mut self, call: String, text: String, is_error: bool) {
        self.bytes += text.len();
        self.events.push(Event::Result {
            call,
            text,
            is_error,
        });
    }

    /// The session; `None` without a request in it.
    pub(super) fn into_session(self, id: String, origin: Origin) -> Option<Session> {
        let mut models = self.events.iter().filter_map(|event| match event {
            Event::Answer(_, answer) => answer.model.clone(),
            _ => None,
        });
        let is_claude = models
            .next_back()
            .is_some_and(|model| model.contains("claude"));
        let (dialect, built) = if is_claude {
            (Dialect::AnthropicMessages, anthropic(self.events))
        } else {
            (Dialect::OpenaiChat, chat(self.events))
        };
        let mut calls = Calls::new();
        let messages = built.messages.into_iter().filter_map(|value| {
            let raw = value.to_string();
            read_message(&raw, &value, &mut calls)
        });
        let mut session = Session {
            id,
            messages: messages.collect(),
            fixed_tokens: 0.0,
            dialect,
            model: None,
            cold: Vec::new(),
            has_long_cache: false,
            origin: Some(origin),
            answers: built.answers,
        };
        session.boundaries().next()?;
        estimate::from_answers(&mut session);
        Some(session)
    }
}

/// Hands over a session of an agent: each context is a conversation of its own.
pub(super) fn hand_over(contexts: Vec<Conversation>, origin: &Origin, loaded: &mut Loaded) {
    for (number, context) in contexts.into_iter().enumerate() {
        let id = match number {
            0 => origin.session.clone(),
            _ => format!("{}.{number}", origin.session),
        };
        loaded
            .sessions
            .extend(context.into_session(id, origin.clone()));
    }
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Self::Text(text) | Self::Thinking(text, _) => text.len(),
            Self::Call { arguments, .. } => match arguments {
                Value::String(text) => text.len(),
                // Strings are most of what arguments hold.
                other => other.as_object().map_or(16, |fields| {
                    let values = fields.values().filter_map(Value::as_str);
                    values.map(str::len).sum::<usize>() + 16
                }),
            },
            Self::CustomCall { input, .. } => input.len(),
        }
    }
}

#[derive(Default)]
struct Built {
    messages: Vec<Value>,
    answers: Vec<Answer>,
}

/// Results and user texts between two answers are one message.
fn anthropic(events: Vec<Event>) -> Built {
    let mut built = Built::default();
    let mut open: Vec<Value> = Vec::new();
    for event in events {
        let (pieces, answer) = match event {
            Event::System(text) | Event::User(text) => {
                open.push(json!({ "type": "text", "text": text }));
                continue;
            }
            Event::Result {
                call,
                text,
                is_error,
            } => {
                open.push(json!({
                    "type": "tool_result", "tool_use_id": call, "content": text, "is_error": is_error
                }));
                continue;
            }
            Event::Answer(pieces, answer) => (pieces, answer),
        };
        if !open.is_empty() {
            // Anthropic wants results before texts.
            let is_result = |block: &Value| block["type"] == "tool_result";
            let (mut blocks, texts): (Vec<Value>, Vec<Value>) =
                std::mem::take(&mut open).into_iter().partition(is_result);
            blocks.extend(texts);
            built
                .messages
                .push(json!({ "role": "user", "content": blocks }));
        }
        let blocks: Vec<Value> = pieces
            .into_iter()
            .map(|piece| match piece {
                Piece::Text(text) => json!({ "type": "text", "text": text }),
                Piece::Thinking(text, signature) => {
                    json!({ "type": "thinking", "thinking": text, "signature": signature })
                }
                Piece::Call {
                    id,
                    name,
                    arguments,
                } => json!({ "type": "tool_use", "id": id, "name": name, "input": arguments }),
                Piece::CustomCall { id, name, input } => {
                    json!({ "type": "tool_use", "id": id, "name": name, "input": { "input": input } })
                }
            })
            .collect();
        built.answers.push(Answer {
            message: built.messages.len(),
            ..answer
        });
        built
            .messages
            .push(json!({ "role": "assistant", "content": blocks }));
    }
    built
}

fn chat(events: Vec<Event>) -> Built {
    let mut built = Built::default();
    let mut called: HashSet<String> = HashSet::new();
    for event in events {
        match event {
            Event::System(text) => built
                .messages
                .push(json!({ "role": "developer", "content": text })),
            Event::User(text) => built
                .messages
                .push(json!({ "role": "user", "content": text })),
            Event::Result { call, text, .. } if called.contains(&call) => built
                .messages
                .push(json!({ "role": "tool", "tool_call_id": call, "content": text })),
            // The chat form has no result without a call.
            Event::Result { text, .. } => built
                .messages
                .push(json!({ "role": "user", "content": text })),
            Event::Answer(pieces, answer) => {
                let (mut text, mut calls) = (String::new(), Vec::new());
                for piece in pieces {
                    match piece {
                        Piece::Text(more) => text.push_str(&more),
                        Piece::Thinking(..) => {}
                        Piece::Call {
                            id,
                            name,
                            arguments,
                        } => {
                            let arguments = match arguments {
                                Value::String(text) => text,
                                other => other.to_string(),
                            };
                            calls.push(json!({ "id": id, "type": "function",
                                "function": { "name": name, "arguments": arguments } }));
                            called.insert(id);
                        }
                        Piece::CustomCall { id, name, input } => {
                            calls.push(json!({ "id": id, "type": "custom",
                                "custom": { "name": name, "input": input } }));
                            called.insert(id);
                        }
                    }
                }
                let mut message = json!({ "role": "assistant", "content": text });
                if !calls.is_empty() {
                    message["tool_calls"] = calls.into();
                }
                built.answers.push(Answer {
                    message: built.messages.len(),
                    ..answer
                });
                built.messages.push(message);
            }
        }
    }
    built
}
