//! A recorded conversation: messages, parts, and the points at which a model was called.

use std::collections::HashMap;
use std::sync::Arc;

use secateur_core::Dialect;
use serde_json::Value;
use serde_json::value::RawValue;

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
    /// The boundaries whose request came after a pause that outlasted the cache.
    pub cold: Vec<usize>,
}

impl Session {
    /// Lengths of the message lists at which a model was called: `messages[..upto]` was sent and
    /// `messages[upto]` is the answer.
    pub fn boundaries(&self) -> impl Iterator<Item = usize> + '_ {
        (1..self.messages.len()).filter(|&i| {
            self.messages[i].role == Role::Assistant && self.messages[i - 1].role != Role::Assistant
        })
    }

    /// The request body that the client would have sent at the boundary `upto`, with every message
    /// byte for byte as it was recorded. An Anthropic client marks its instructions and its last message.
    pub fn body(&self, upto: usize) -> Vec<u8> {
        let messages = &self.messages[..upto.min(self.messages.len())];
        let size: usize = messages.iter().map(|m| m.raw.len() + 1).sum();
        let mut body = Vec::with_capacity(size + 256);
        body.push(b'{');
        if let Some(model) = &self.model {
            body.extend_from_slice(
                format!("\"model\":{},", Value::from(model.as_str())).as_bytes(),
            );
        }
        let is_marked = self.dialect == Dialect::AnthropicMessages;
        if is_marked {
            body.extend_from_slice(SYSTEM);
        }
        body.extend_from_slice(b"\"messages\":[");
        for (i, message) in messages.iter().enumerate() {
            if i > 0 {
                body.push(b',');
            }
            match marked(&message.raw).filter(|_| is_marked && i + 1 == messages.len()) {
                Some(marked) => body.extend_from_slice(marked.as_bytes()),
                None => body.extend_from_slice(message.raw.as_bytes()),
            }
        }
        body.extend_from_slice(b"]}");
        body
    }
}

/// Instructions that stand for those that the record lacks.
const SYSTEM: &[u8] =
    br#""system":[{"type":"text","text":"(not recorded)","cache_control":{"type":"ephemeral"}}],"#;

/// A message with a marker on its last block, all else as recorded; `None` where it has no block.
fn marked(raw: &str) -> Option<String> {
    let message: HashMap<&str, &RawValue> = serde_json::from_str(raw).ok()?;
    let content = message.get("content")?.get();
    let (at, old_len, new) = if content.starts_with('"') {
        let block = format!(r#"[{{"type":"text",{MARKER},"text":{content}}}]"#);
        (offset(raw, content)?, content.len(), block)
    } else {
        let blocks: Vec<&RawValue> = serde_json::from_str(content).ok()?;
        let last = blocks.last()?.get().strip_prefix('{')?;
        (offset(raw, last)?, 0, format!("{MARKER},"))
    };
    Some([&raw[..at], &new, &raw[at + old_len..]].concat())
}

const MARKER: &str = r#""cache_control":{"type":"ephemeral"}"#;

/// Where a part of a text begins in it.
fn offset(whole: &str, part: &str) -> Option<usize> {
    part.as_ptr().addr().checked_sub(whole.as_ptr().addr())
}
