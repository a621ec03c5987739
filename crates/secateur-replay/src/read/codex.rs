//! codex: `sessions/YYYY/MM/DD/rollout-*.jsonl`, one event per line.
//!
//! `response_item` lines hold what was sent and answered, in the form of the Responses API; `turn_context` names the
//! model; usage is in `token_usage_record`, or in `event_msg` lines of type `token_count`, after the answer. A
//! `compacted` line starts a new context. Checked with 0.169.

use serde_json::Value;

use super::Loaded;
use super::conversation::{Conversation, Piece, hand_over};
use super::fields::{joined, key, model, named, text, tokens, unknown};
use super::time::millis_of;
use crate::agent::Agent;
use crate::session::{Answer, Origin, Usage};

/// Items without text of their own: reasoning is encrypted, searches and images are made by the provider.
const NOT_READ: [&str; 6] = [
    "reasoning",
    "web_search_call",
    "image_generation_call",
    "compaction",
    "ghost_snapshot",
    "other",
];

/// A log while it is read.
#[derive(Default)]
pub(super) struct Log {
    session: String,
    project: Option<String>,
    model: String,
    contexts: Vec<Conversation>,
}

impl Log {
    /// Bytes of text that are held.
    pub(super) fn bytes(&self) -> usize {
        self.contexts.iter().map(|context| context.bytes).sum()
    }

    fn context(&mut self) -> &mut Conversation {
        if self.contexts.is_empty() {
            self.contexts.push(Conversation::default());
        }
        let last = self.contexts.len() - 1;
        &mut self.contexts[last]
    }

    /// Takes one line.
    pub(super) fn take(&mut self, line: &str) -> Result<(), String> {
        let event: Value =
            serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
        let null = Value::Null;
        let payload = event.get("payload").unwrap_or(&null);
        match text(&event, "type") {
            "session_meta" if self.session.is_empty() => {
                text(payload, "id").clone_into(&mut self.session);
                self.project = Some(text(payload, "cwd").to_owned());
            }
            "turn_context" => text(payload, "model").clone_into(&mut self.model),
            "response_item" => self.item(payload, text(&event, "timestamp"))?,
            "token_usage_record" => {
                let thread = text(payload, "thread_id");
                let key = key(&[
                    thread,
                    text(payload, "turn_id"),
                    text(payload, "response_id"),
                ]);
                self.bill(payload.get("usage"), key);
            }
            "event_msg" if text(payload, "type") == "token_count" => {
                let usage = payload
                    .get("info")
                    .and_then(|info| info.get("last_token_usage"));
                self.bill(usage, None);
            }
            "compacted" => self.compact(payload)?,
            "" => return Err("no `type`".to_owned()),
            _ => {}
        }
        Ok(())
    }

    fn item(&mut self, item: &Value, timestamp: &str) -> Result<(), String> {
        let call = || text(item, "call_id").to_owned();
        let name = || text(item, "name").to_owned();
        let piece = match text(item, "type") {
            "message" => {
                let content = item.get("content").map(joined).unwrap_or_default();
                match text(item, "role") {
                    "assistant" => Piece::Text(content),
                    "user" => {
                        self.context().user(content);
                        return Ok(());
                    }
                    _ => {
                        self.context().system(content);
                        return Ok(());
                    }
                }
            }
            "function_call" => Piece::Call {
                id: call(),
                name: name(),
                arguments: text(item, "arguments").into(),
            },
            "custom_tool_call" => Piece::CustomCall {
                id: call(),
                name: name(),
                input: text(item, "input").to_owned(),
            },
            "local_shell_call" => Piece::Call {
                id: call(),
                name: "local_shell".to_owned(),
                arguments: item.get("action").cloned().unwrap_or_default(),
            },
            "function_call_output" | "custom_tool_call_output" => {
                self.context().result(call(), output(item), false);
                return Ok(());
            }
            kind if NOT_READ.contains(&kind) => return Ok(()),
            kind => return Err(unknown("item", kind)),
        };
        let answer = Answer {
            at_ms: millis_of(timestamp),
            model: model(&self.model),
            ..Answer::default()
        };
        self.context().answer(piece, || answer);
        Ok(())
    }

    /// Usage belongs to the newest answer. It is logged again when limits change; the first time counts.
    fn bill(&mut self, usage: Option<&Value>, key: Option<u64>) {
        let Some(usage) = usage.filter(|usage| tokens(usage, "input_tokens") > 0) else {
            return;
        };
        let read = tokens(usage, "cached_input_tokens");
        let written = tokens(usage, "cache_write_input_tokens");
        let usage = Usage {
            plain: tokens(usage, "input_tokens").saturating_sub(read.saturating_add(written)),
            written,
            read,
            output: tokens(usage, "output_tokens"),
            ..Usage::default()
        };
        if let Some(answer) = self.context().last_answer()
            && !answer.is_history
        {
            answer.usage = answer.usage.or(Some(usage));
            answer.key = answer.key.or(key);
        }
    }

    fn compact(&mut self, payload: &Value) -> Result<(), String> {
        self.contexts.push(Conversation::default());
        let Some(items) = payload.get("replacement_history").and_then(Value::as_array) else {
            self.context().user(text(payload, "message").to_owned());
            return Ok(());
        };
        let mut result = Ok(());
        for item in items {
            result = result.and(self.item(item, ""));
            if let Some(answer) = self.context().last_answer() {
                answer.is_history = true;
            }
        }
        result
    }

    /// Hands over the sessions.
    pub(super) fn finish(self, name: &str, loaded: &mut Loaded) {
        let origin = Origin {
            agent: Agent::Codex,
            session: named(self.session, name),
            project: self.project,
        };
        hand_over(self.contexts, &origin, loaded);
    }
}

/// A result is a string, a list of texts, or an object with one of them.
fn output(item: &Value) -> String {
    match item.get("output") {
        Some(Value::Object(fields)) => fields.get("content").map(joined).unwrap_or_default(),
        Some(output) => joined(output),
        None => String::new(),
    }
}
