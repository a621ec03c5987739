//! pi: `sessions/PROJECT/*.jsonl`, a tree of entries.
//!
//! A `message` entry names its parent; going back to an earlier entry begins a branch. Each branch is a conversation from
//! the root on. A `compaction` entry stands for what comes before its `firstKeptEntryId`. `usage` counts plain input,
//! cache reads and writes apart. Checked with 0.73.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::Loaded;
use super::conversation::{Conversation, Piece};
use super::fields::{joined, key, model, named, text, tokens, unknown};
use super::time::millis_of;
use crate::agent::Agent;
use crate::session::{Answer, Origin, Usage};

/// Branches of a session that are read; each is a conversation from the root on.
const MAX_BRANCHES: usize = 16;

/// A log while it is read.
#[derive(Default)]
pub(super) struct Log {
    session: String,
    project: Option<String>,
    entries: Vec<Value>,
    bytes: usize,
}

impl Log {
    /// Bytes of the lines that are held.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes one line.
    pub(super) fn take(&mut self, line: &str) -> Result<(), String> {
        let entry: Value =
            serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
        match text(&entry, "type") {
            "session" => {
                text(&entry, "id").clone_into(&mut self.session);
                self.project = Some(text(&entry, "cwd").to_owned());
            }
            "" => return Err("no `type`".to_owned()),
            kind => {
                let is_known = entry.get("message").is_none() || kind == "message";
                let result = is_known.then_some(()).ok_or_else(|| unknown("entry", kind));
                // Entries of any kind are links to those before.
                self.bytes += line.len();
                self.entries.push(entry);
                return result;
            }
        }
        Ok(())
    }

    /// Hands over the sessions.
    pub(super) fn finish(self, name: &str, loaded: &mut Loaded) {
        let session = &named(self.session.clone(), name);
        let tree = Tree::of(&self.entries);
        if tree.leaves.len() > MAX_BRANCHES {
            loaded.reject(
                name.to_owned(),
                format!("only {MAX_BRANCHES} branches are read"),
            );
        }
        for (number, &leaf) in tree.leaves.iter().take(MAX_BRANCHES).enumerate() {
            let path = tree.path(leaf);
            let mut conversation = Conversation::default();
            let mut parts = 0;
            for (at, entry) in path.iter().enumerate() {
                match text(entry, "type") {
                    "message" => take(&mut conversation, session, entry),
                    "compaction" => {
                        let whole = std::mem::take(&mut conversation);
                        self.add(whole, session, number, parts, loaded);
                        parts += 1;
                        conversation.user(text(entry, "summary").to_owned());
                        let first = text(entry, "firstKeptEntryId");
                        let kept = path[..at]
                            .iter()
                            .skip_while(|kept| text(kept, "id") != first);
                        for kept in kept.filter(|kept| text(kept, "type") == "message") {
                            take(&mut conversation, session, kept);
                            if let Some(answer) = conversation.last_answer() {
                                answer.is_history = true;
                            }
                        }
                    }
                    "branch_summary" => conversation.user(text(entry, "summary").to_owned()),
                    _ => {}
                }
            }
            self.add(conversation, session, number, parts, loaded);
        }
    }

    fn add(
        &self,
        conversation: Conversation,
        session: &str,
        branch: usize,
        part: usize,
        loaded: &mut Loaded,
    ) {
        let origin = Origin {
            agent: Agent::Pi,
            session: session.to_owned(),
            project: self.project.clone(),
        };
        let id = match (branch, part) {
            (0, 0) => session.to_owned(),
            _ => format!("{session}.{branch}.{part}"),
        };
        loaded
            .sessions
            .extend(conversation.into_session(id, origin));
    }
}

/// Entries and the ones that they follow.
struct Tree<'e> {
    entries: &'e [Value],
    parents: Vec<Option<usize>>,
    /// The entries that nothing follows.
    leaves: Vec<usize>,
}

impl<'e> Tree<'e> {
    fn of(entries: &'e [Value]) -> Self {
        let by_id: HashMap<&str, usize> = (0..)
            .zip(entries)
            .map(|(at, entry)| (text(entry, "id"), at))
            .collect();
        // Without ids (an older version) an entry follows the one above it. A parent always comes first.
        let parent = |at: usize| match entries[at].get("parentId") {
            Some(Value::String(id)) => by_id.get(id.as_str()).copied().filter(|&up| up < at),
            Some(_) => None,
            None => at.checked_sub(1),
        };
        let parents: Vec<Option<usize>> = (0..entries.len()).map(parent).collect();
        let followed: HashSet<usize> = parents.iter().flatten().copied().collect();
        let leaves = (0..entries.len()).filter(|at| !followed.contains(at));
        Self {
            entries,
            leaves: leaves.collect(),
            parents,
        }
    }

    /// From the root to an entry.
    fn path(&self, leaf: usize) -> Vec<&'e Value> {
        let up = std::iter::successors(Some(leaf), |&at| self.parents[at]);
        let mut path: Vec<&Value> = up.map(|at| &self.entries[at]).collect();
        path.reverse();
        path
    }
}

fn take(conversation: &mut Conversation, session: &str, entry: &Value) {
    let Some(message) = entry.get("message") else {
        return;
    };
    let content = message.get("content").cloned().unwrap_or_default();
    match text(message, "role") {
        "assistant" => {
            let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
            let answer = Answer {
                at_ms: millis_of(text(entry, "timestamp")),
                model: model(text(message, "model")),
                key: key(&[session, text(entry, "id")]),
                usage: message.get("usage").and_then(usage),
                ..Answer::default()
            };
            conversation.whole_answer(blocks.iter().filter_map(piece).collect(), answer);
        }
        "toolResult" => {
            let is_error = message.get("isError").and_then(Value::as_bool) == Some(true);
            let call = text(message, "toolCallId").to_owned();
            conversation.result(call, joined(&content), is_error);
        }
        _ => conversation.user(joined(&content)),
    }
}

fn piece(block: &Value) -> Option<Piece> {
    match text(block, "type") {
        "text" => Some(Piece::Text(text(block, "text").to_owned())),
        "thinking" => {
            let signature = block.get("thinkingSignature")?.as_str()?;
            let thinking = text(block, "thinking").to_owned();
            Some(Piece::Thinking(thinking, signature.to_owned()))
        }
        "toolCall" => Some(Piece::Call {
            id: text(block, "id").to_owned(),
            name: text(block, "name").to_owned(),
            arguments: block.get("arguments").cloned().unwrap_or_default(),
        }),
        _ => None,
    }
}

fn usage(counts: &Value) -> Option<Usage> {
    let usage = Usage {
        plain: tokens(counts, "input"),
        written: tokens(counts, "cacheWrite"),
        read: tokens(counts, "cacheRead"),
        output: tokens(counts, "output"),
        ..Usage::default()
    };
    (usage.input() > 0).then_some(usage)
}
