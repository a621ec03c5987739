//! Claude Code's own logs: one event per line.
//!
//! Events of type `user` and `assistant` carry a message. One answer of the model is written as several
//! `assistant` lines with the same `message.id`, one block each, with results of its calls in between; the
//! client sends them as one message, followed by the results. Sidechains (sub-agents) are conversations of
//! their own, told apart by `agentId`, or by the root of their `parentUuid` chain. A compaction
//! (`compact_boundary`, or a user event with `isCompactSummary`) starts a new context. Other events
//! (summaries, snapshots, progress, queue operations) were never sent.

use std::collections::{BTreeMap, HashMap};

use secateur_core::Dialect;
use serde_json::Value;

use super::parts::{Calls, read_message};
use super::rows::{cold_boundaries, fixed_tokens};
use super::{Loaded, Unreadable};
use crate::session::{Message, Session};

/// True when the first line that is an object has a `type` and no `messages`.
pub(crate) fn looks_like_log(text: &str) -> bool {
    let known = [
        "user",
        "assistant",
        "summary",
        "system",
        "progress",
        "file-history-snapshot",
        "queue-operation",
        "permission-mode",
    ];
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .take(20)
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .any(|v| {
            let event = v
                .get("type")
                .and_then(Value::as_str)
                .is_some_and(|t| known.contains(&t));
            event
                && v.get("messages").is_none()
                && (v.get("sessionId").is_some()
                    || v.get("uuid").is_some()
                    || v.get("leafUuid").is_some())
        })
}

/// A message under construction; further lines of the same answer carry its id.
struct Draft {
    role: &'static str,
    blocks: Vec<Value>,
    id: Option<String>,
    /// Input tokens billed for the request that this answers, cached ones included.
    billed: Option<f64>,
    /// Of these, read from the cache.
    cache_read: Option<f64>,
    model: Option<String>,
}

#[derive(Default)]
struct Chain {
    drafts: Vec<Draft>,
}

/// Reads a log. Each conversation becomes a session with the id `name#chain`.
pub(crate) fn read(name: &str, text: &str, loaded: &mut Loaded) {
    let mut chains: BTreeMap<(String, usize), Chain> = BTreeMap::new();
    let mut contexts: HashMap<String, usize> = HashMap::new();
    let mut roots: HashMap<String, String> = HashMap::new();
    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let event: Value = match serde_json::from_str(line) {
            Ok(event) => event,
            Err(error) => {
                let place = format!("{name}:{}", number + 1);
                loaded.unreadable.push(Unreadable {
                    place,
                    reason: format!("not JSON: {error}"),
                });
                continue;
            }
        };
        let chain = chain_of(&event, &mut roots);
        let context = contexts.entry(chain.clone()).or_default();
        let compacted = event.get("subtype").and_then(Value::as_str) == Some("compact_boundary")
            || event.get("isCompactSummary").and_then(Value::as_bool) == Some(true);
        if compacted
            && chains
                .get(&(chain.clone(), *context))
                .is_some_and(|c| !c.drafts.is_empty())
        {
            *context += 1;
        }
        let kind = event
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if !matches!(kind, "user" | "assistant") {
            continue;
        }
        match event.get("message") {
            Some(message) if message.get("content").is_some() => {
                chains
                    .entry((chain, *context))
                    .or_default()
                    .take(kind == "assistant", message);
            }
            _ => loaded.unreadable.push(Unreadable {
                place: format!("{name}:{}", number + 1),
                reason: format!("`{kind}` event without message content"),
            }),
        }
    }
    for ((chain, context), built) in chains {
        let id = if context == 0 {
            format!("{name}#{chain}")
        } else {
            format!("{name}#{chain}.{context}")
        };
        let billed: Vec<Option<f64>> = built.drafts.iter().map(|d| d.billed).collect();
        let read: Vec<Option<f64>> = built.drafts.iter().map(|d| d.cache_read).collect();
        let model = built.drafts.iter().find_map(|d| d.model.clone());
        let mut session = Session {
            id: id.clone(),
            messages: built.messages(),
            fixed_tokens: 0.0,
            dialect: Dialect::AnthropicMessages,
            model,
            cold: Vec::new(),
        };
        session.fixed_tokens = fixed_tokens(&session, |upto| billed.get(upto).copied().flatten());
        session.cold = cold_boundaries(&session, |upto| read.get(upto).copied().flatten());
        if session.boundaries().next().is_some() {
            loaded.sessions.push(session);
        } else {
            loaded.unreadable.push(Unreadable {
                place: id,
                reason: "no request: no assistant message follows another's".to_owned(),
            });
        }
    }
}

/// `main`, or the name of the sidechain that an event belongs to.
fn chain_of(event: &Value, roots: &mut HashMap<String, String>) -> String {
    let field = |key: &str| event.get(key).and_then(Value::as_str);
    let chain = if event.get("isSidechain").and_then(Value::as_bool) != Some(true) {
        "main".to_owned()
    } else if let Some(agent) = field("agentId") {
        agent.to_owned()
    } else {
        let parent = field("parentUuid")
            .and_then(|p| roots.get(p))
            .filter(|c| *c != "main")
            .cloned();
        parent.unwrap_or_else(|| format!("side-{}", field("uuid").unwrap_or("unknown")))
    };
    if let Some(uuid) = field("uuid") {
        roots.insert(uuid.to_owned(), chain.clone());
    }
    chain
}

fn billed_tokens(message: &Value) -> Option<f64> {
    let usage = message.get("usage")?;
    let count = |key: &str| usage.get(key).and_then(Value::as_f64).unwrap_or(0.0);
    let sum = count("input_tokens")
        + count("cache_creation_input_tokens")
        + count("cache_read_input_tokens");
    (sum > 0.0).then_some(sum)
}

fn cache_read(message: &Value) -> Option<f64> {
    message
        .get("usage")?
        .get("cache_read_input_tokens")?
        .as_f64()
}

impl Chain {
    fn take(&mut self, assistant: bool, message: &Value) {
        let blocks = match message.get("content") {
            Some(Value::Array(blocks)) => blocks.clone(),
            Some(Value::String(text)) => vec![serde_json::json!({ "type": "text", "text": text })],
            _ => Vec::new(),
        };
        let role = if assistant { "assistant" } else { "user" };
        let id = message.get("id").and_then(Value::as_str).map(str::to_owned);
        // Further lines of an answer that has begun join it, even with results in between.
        let begun = id
            .is_some()
            .then(|| self.drafts.iter_mut().rev().take(16).find(|d| d.id == id))
            .flatten();
        if let Some(draft) = begun {
            draft.blocks.extend(blocks);
            return;
        }
        match self.drafts.last_mut() {
            // The client sends neighbouring user events as one message.
            Some(last) if last.role == role && !assistant => last.blocks.extend(blocks),
            _ => self.drafts.push(Draft {
                role,
                blocks,
                id,
                billed: billed_tokens(message),
                cache_read: billed_tokens(message).and(cache_read(message)),
                model: message
                    .get("model")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            }),
        }
    }

    fn messages(self) -> Vec<Message> {
        let mut calls = Calls::new();
        self.drafts
            .into_iter()
            .filter_map(|draft| {
                let value = serde_json::json!({ "role": draft.role, "content": draft.blocks });
                read_message(&value.to_string(), &value, &mut calls)
            })
            .collect()
    }
}
