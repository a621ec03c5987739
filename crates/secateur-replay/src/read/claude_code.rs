//! Claude Code: `projects/PROJECT/*.jsonl`, one event per line.
//!
//! Events of type `user` and `assistant` carry a message. One answer of the model is written as several
//! `assistant` lines with the same `message.id`, one block each, with results of its calls in between; the
//! client sends them as one message, followed by the results. Sidechains (sub-agents) are conversations of
//! their own, distinguished by `agentId`, or by the root of their `parentUuid` chain. A compaction
//! (`compact_boundary`, or a user event with `isCompactSummary`) starts a new context. Answers of the model
//! `<synthetic>` are the client's own. Other events (summaries, snapshots, progress, queue operations) were never sent.

use std::collections::{BTreeMap, HashMap};

use secateur_core::Dialect;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Loaded;
use super::estimate;
use super::fields::{key, model, text, tokens, unknown};
use super::parts::{Calls, read_message};
use super::time::millis_of;
use crate::agent::Agent;
use crate::session::{Answer, Message, Origin, Session, Usage};

/// What is read of an event.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event<'e> {
    r#type: Option<String>,
    subtype: Option<String>,
    uuid: Option<String>,
    parent_uuid: Option<String>,
    session_id: Option<String>,
    agent_id: Option<String>,
    request_id: Option<String>,
    request_ref: Option<String>,
    timestamp: Option<String>,
    cwd: Option<String>,
    is_sidechain: Option<bool>,
    is_compact_summary: Option<bool>,
    #[serde(borrow)]
    message: Option<&'e RawValue>,
}

/// A message under construction; further lines of the same answer carry its id.
struct Draft {
    role: &'static str,
    blocks: Vec<Value>,
    id: Option<String>,
    answer: Option<Answer>,
}

#[derive(Default)]
struct Chain {
    drafts: Vec<Draft>,
}

/// A log while it is read.
#[derive(Default)]
pub(super) struct Log {
    chains: BTreeMap<(String, usize), Chain>,
    contexts: HashMap<String, usize>,
    roots: HashMap<String, String>,
    session: Option<String>,
    project: Option<String>,
    bytes: usize,
}

impl Log {
    /// Bytes of the messages that are held.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes one line.
    pub(super) fn take(&mut self, line: &str) -> Result<(), String> {
        let event: Event<'_> =
            serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
        let chain = self.chain_of(&event);
        let context = self.contexts.entry(chain.clone()).or_default();
        let compacted = event.subtype.as_deref() == Some("compact_boundary")
            || event.is_compact_summary == Some(true);
        if compacted
            && self
                .chains
                .get(&(chain.clone(), *context))
                .is_some_and(|c| !c.drafts.is_empty())
        {
            *context += 1;
        }
        let kind = match event.r#type.as_deref().ok_or("no `type`")? {
            kind @ ("user" | "assistant") => kind,
            // Other kinds were never sent; those of today have no message.
            kind if is_message(event.message) => return Err(unknown("event", kind)),
            _ => return Ok(()),
        };
        let without = || format!("`{kind}` event without message content");
        let message = event.message.ok_or_else(without)?;
        let value: Value =
            serde_json::from_str(message.get()).map_err(|error| format!("not JSON: {error}"))?;
        if value.get("content").is_none() {
            return Err(without());
        }
        if text(&value, "model") == "<synthetic>" {
            return Ok(());
        }
        self.bytes += message.get().len();
        if self.session.is_none() {
            self.session.clone_from(&event.session_id);
        }
        if self.project.is_none() {
            self.project.clone_from(&event.cwd);
        }
        let answer = (kind == "assistant").then(|| answer_of(&event, &value));
        self.chains
            .entry((chain, *context))
            .or_default()
            .take(value, answer);
        Ok(())
    }

    /// `main`, or the name of the sidechain that an event belongs to.
    fn chain_of(&mut self, event: &Event<'_>) -> String {
        let chain = if event.is_sidechain != Some(true) {
            "main".to_owned()
        } else if let Some(agent) = &event.agent_id {
            agent.clone()
        } else {
            let parent = event.parent_uuid.as_ref();
            let parent = parent
                .and_then(|parent| self.roots.get(parent))
                .filter(|chain| *chain != "main")
                .cloned();
            let uuid = event.uuid.as_deref();
            parent.unwrap_or_else(|| format!("side-{}", uuid.unwrap_or("unknown")))
        };
        if let Some(uuid) = &event.uuid
            && chain != "main"
        {
            self.roots.insert(uuid.clone(), chain.clone());
        }
        chain
    }

    /// Hands over the sessions. Each conversation becomes one with the id `name#chain`.
    pub(super) fn finish(self, name: &str, loaded: &mut Loaded) {
        for ((chain, context), built) in self.chains {
            let id = match context {
                0 => format!("{name}#{chain}"),
                _ => format!("{name}#{chain}.{context}"),
            };
            let (messages, answers) = built.messages();
            let mut session = Session {
                id,
                messages,
                fixed_tokens: 0.0,
                dialect: Dialect::AnthropicMessages,
                model: None,
                cold: Vec::new(),
                has_long_cache: false,
                origin: Some(Origin {
                    agent: Agent::ClaudeCode,
                    session: self.session.clone().unwrap_or_else(|| name.to_owned()),
                    project: self.project.clone(),
                }),
                answers,
            };
            if session.boundaries().next().is_some() {
                estimate::from_answers(&mut session);
                loaded.sessions.push(session);
            }
        }
    }
}

/// Whether a field has the form of a message to or from a model.
fn is_message(field: Option<&RawValue>) -> bool {
    let value = field.and_then(|field| serde_json::from_str::<Value>(field.get()).ok());
    value.is_some_and(|value| value.get("role").is_some() && value.get("content").is_some())
}

fn answer_of(event: &Event<'_>, message: &Value) -> Answer {
    let request = event.request_id.as_deref().or(event.request_ref.as_deref());
    Answer {
        message: 0,
        at_ms: event.timestamp.as_deref().and_then(millis_of),
        model: model(text(message, "model")),
        key: key(&[text(message, "id"), request.unwrap_or_default()]),
        usage: message.get("usage").and_then(usage),
        is_history: false,
    }
}

/// Writes with the longer life are counted apart where the log has both.
fn usage(counts: &Value) -> Option<Usage> {
    let written = tokens(counts, "cache_creation_input_tokens");
    let long = counts.get("cache_creation");
    let long = long.map_or(0, |kinds| tokens(kinds, "ephemeral_1h_input_tokens"));
    let usage = Usage {
        plain: tokens(counts, "input_tokens"),
        written: written.saturating_sub(long),
        written_long: long.min(written),
        read: tokens(counts, "cache_read_input_tokens"),
        output: tokens(counts, "output_tokens"),
    };
    (usage.input() > 0).then_some(usage)
}

impl Chain {
    fn take(&mut self, mut message: Value, answer: Option<Answer>) {
        let blocks = match message.get_mut("content").map(Value::take) {
            Some(Value::Array(blocks)) => blocks,
            Some(Value::String(text)) => vec![serde_json::json!({ "type": "text", "text": text })],
            _ => Vec::new(),
        };
        let id = message.get("id").and_then(Value::as_str).map(str::to_owned);
        // Further lines of an answer that has begun join it, even with results in between.
        let begun = id
            .is_some()
            .then(|| self.drafts.iter_mut().rev().take(16).find(|d| d.id == id))
            .flatten();
        if let Some(draft) = begun {
            draft.blocks.extend(blocks);
            if let (Some(begun), Some(more)) = (&mut draft.answer, answer) {
                begun.usage = match (begun.usage, more.usage) {
                    (Some(before), Some(now)) => Some(before.max(now)),
                    (before, now) => before.or(now),
                };
            }
            return;
        }
        match self.drafts.last_mut() {
            // The client sends neighbouring user events as one message.
            Some(last) if last.role == "user" && answer.is_none() => last.blocks.extend(blocks),
            _ => self.drafts.push(Draft {
                role: if answer.is_some() {
                    "assistant"
                } else {
                    "user"
                },
                blocks,
                id,
                answer,
            }),
        }
    }

    fn messages(self) -> (Vec<Message>, Vec<Answer>) {
        let mut calls = Calls::new();
        let (mut messages, mut answers) = (Vec::new(), Vec::new());
        for draft in self.drafts {
            let value = serde_json::json!({ "role": draft.role, "content": draft.blocks });
            let Some(message) = read_message(&value.to_string(), &value, &mut calls) else {
                continue;
            };
            answers.extend(draft.answer.map(|answer| Answer {
                message: messages.len(),
                ..answer
            }));
            messages.push(message);
        }
        (messages, answers)
    }
}
