//! A recorded conversation: messages, parts, and the points at which a model was called.

use std::collections::HashMap;
use std::sync::Arc;

use secateur_core::Dialect;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::agent::Agent;

/// Who speaks. `System` also stands for OpenAI's `developer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// System or developer text.
    System,
    /// The user, and in Anthropic's dialect also tool results.
    User,
    /// The model.
    Assistant,
    /// An OpenAI tool result.
    Tool,
}

/// What a part is. The kind is part of a part's identity: the same text as thinking and as text differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartKind {
    /// Plain text.
    Text,
    /// Thinking; the signature is neither priced nor searched.
    Thinking,
    /// A tool call; its text is the input as compact JSON.
    ToolUse,
    /// A tool result; several text blocks are joined by a newline.
    ToolResult,
    /// Image, document, redacted thinking or anything unknown: it has no text.
    Opaque,
}

/// The call that a `ToolUse` part makes, or that a `ToolResult` part answers.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The call's id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments; `Null` where they are not JSON.
    pub input: Value,
}

/// One content block.
#[derive(Debug, Clone)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// Its text as priced and searched.
    pub text: Arc<str>,
    /// Calls carry themselves; results carry the call they answer when it is in the session.
    pub call: Option<Arc<ToolCall>>,
    /// Results: the tool said that it failed.
    pub is_error: bool,
}

/// One message.
#[derive(Debug, Clone)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// Its parts, in order.
    pub parts: Vec<Part>,
    /// The exact JSON of the message.
    pub raw: Box<str>,
}

/// One recorded conversation.
#[derive(Debug, Clone)]
pub struct Session {
    /// Where it came from: the row's id, or the file's name and line.
    pub id: String,
    /// All messages.
    pub messages: Vec<Message>,
    /// Tokens of system prompt and tool schemas in front of the messages; 0 when unknown.
    pub fixed_tokens: f64,
    /// The wire format of its messages.
    pub dialect: Dialect,
    /// The model, where the record names it.
    pub model: Option<String>,
    /// The boundaries whose request followed a pause longer than the cache's lifetime.
    pub cold: Vec<usize>,
    /// Whether the client asks for the cache's longer life.
    pub has_long_cache: bool,
    /// The log that it comes from, if it comes from an agent's log.
    pub origin: Option<Origin>,
    /// What the log says of the model's answers, in the order of the messages. Empty for other records.
    pub answers: Vec<Answer>,
}

/// Which agent kept a log, and of what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The agent.
    pub agent: Agent,
    /// The agent's own id of the session. Conversations of sub-agents and those after a compaction share it.
    pub session: String,
    /// The folder that the agent worked in.
    pub project: Option<String>,
}

/// What a log says of one answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The message that it is.
    pub message: usize,
    /// When it was logged, in milliseconds since 1970.
    pub at_ms: Option<i64>,
    /// The model that gave it.
    pub model: Option<Arc<str>>,
    /// Equal for the same answer in several logs: a copied session is billed once.
    pub key: Option<u64>,
    /// What was billed for it.
    pub usage: Option<Usage>,
    /// It was given and billed in an earlier context, and is history here.
    pub is_history: bool,
}

/// Billed tokens of one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input that is neither read from the cache nor written to it.
    pub plain: u64,
    /// Input written to the cache.
    pub written: u64,
    /// Input written to the cache for its longer life.
    pub written_long: u64,
    /// Input read from the cache.
    pub read: u64,
    /// Output.
    pub output: u64,
}

impl Usage {
    /// All input tokens.
    pub fn input(&self) -> u64 {
        let parts = [self.plain, self.written, self.written_long, self.read];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// The larger count of each kind: an answer is logged several times while it grows.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            plain: self.plain.max(other.plain),
            written: self.written.max(other.written),
            written_long: self.written_long.max(other.written_long),
            read: self.read.max(other.read),
            output: self.output.max(other.output),
        }
    }
}

impl Session {
    /// Lengths of the message lists at which a model was called: `messages[..upto]` was sent and
    /// `messages[upto]` is the answer.
    pub fn boundaries(&self) -> impl Iterator<Item = usize> + '_ {
        (1..self.messages.len()).filter(|&i| {
            self.messages[i].role == Role::Assistant && self.messages[i - 1].role != Role::Assistant
        })
    }

    /// What the log says of this message, where it is an answer.
    pub fn answer_at(&self, message: usize) -> Option<&Answer> {
        let answers = &self.answers;
        let at = answers.binary_search_by_key(&message, |answer| answer.message);
        at.ok().map(|at| &answers[at])
    }

    /// The request body that the client would have sent at the boundary `upto`, with every message
    /// byte for byte as it was recorded. An Anthropic client marks its instructions and its last message.
    pub fn body(&self, upto: usize) -> Vec<u8> {
        let messages = &self.messages[..upto.min(self.messages.len())];
        let size: usize = messages.iter().map(|m| m.raw.len() + 1).sum();
        let mut body = Vec::with_capacity(size + 256);
        body.extend_from_slice(self.head().as_bytes());
        let is_marked = self.dialect == Dialect::AnthropicMessages;
        let marker = self.marker();
        for (i, message) in messages.iter().enumerate() {
            if i > 0 {
                body.push(b',');
            }
            let is_last = is_marked && i + 1 == messages.len();
            match is_last.then(|| marked(&message.raw, marker)).flatten() {
                Some(marked) => body.extend_from_slice(marked.as_bytes()),
                None => body.extend_from_slice(message.raw.as_bytes()),
            }
        }
        body.extend_from_slice(b"]}");
        body
    }

    /// A body up to its first message.
    pub(crate) fn head(&self) -> String {
        let mut head = String::from("{");
        if let Some(model) = &self.model {
            head.push_str(&format!("\"model\":{},", Value::from(model.as_str())));
        }
        if self.dialect == Dialect::AnthropicMessages {
            head.push_str(&system(self.marker()));
        }
        head.push_str("\"messages\":[");
        head
    }

    fn marker(&self) -> &'static str {
        if self.has_long_cache {
            LONG_MARKER
        } else {
            MARKER
        }
    }
}

/// Instructions that stand for those that the record lacks.
fn system(marker: &str) -> String {
    format!(r#""system":[{{"type":"text","text":"(not recorded)",{marker}}}],"#)
}

/// A message with a marker on its last block, all else as recorded; `None` where it has no block.
fn marked(raw: &str, marker: &str) -> Option<String> {
    let message: HashMap<&str, &RawValue> = serde_json::from_str(raw).ok()?;
    let content = message.get("content")?.get();
    let (at, old_len, new) = if content.starts_with('"') {
        let block = format!(r#"[{{"type":"text",{marker},"text":{content}}}]"#);
        (offset(raw, content)?, content.len(), block)
    } else {
        let blocks: Vec<&RawValue> = serde_json::from_str(content).ok()?;
        let last = blocks.last()?.get().strip_prefix('{')?;
        (offset(raw, last)?, 0, format!("{marker},"))
    };
    Some([&raw[..at], &new, &raw[at + old_len..]].concat())
}

const MARKER: &str = r#""cache_control":{"type":"ephemeral"}"#;
const LONG_MARKER: &str = r#""cache_control":{"type":"ephemeral","ttl":"1h"}"#;

/// Where a part of a text begins in it.
fn offset(whole: &str, part: &str) -> Option<usize> {
    part.as_ptr().addr().checked_sub(whole.as_ptr().addr())
}
