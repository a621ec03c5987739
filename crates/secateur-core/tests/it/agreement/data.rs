//! Sessions and recorded decisions.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use secateur_core::Dialect;
use secateur_core::policy::Policy;
use secateur_core::{Outcome, Request, prune};
use serde_json::{Value, json};

pub(crate) struct Data {
    folder: PathBuf,
    sessions: HashMap<String, Vec<Value>>,
}

impl Data {
    /// `None` if the folder is not there.
    pub(crate) fn open() -> Option<Self> {
        let folder = crate::data::folder();
        if !folder.join("golden").is_dir() {
            return None;
        }
        let recorded = ["openclaw", "beskar", "opencode"]
            .into_iter()
            .flat_map(|peer| rows(&folder.join(format!("golden/{peer}.jsonl.gz")), |_| true));
        let ids: HashSet<String> = recorded
            .map(|row| row["session"].as_str().unwrap().to_owned())
            .collect();
        // A line begins with its session's id: the others need not be parsed.
        let is_needed = |line: &str| {
            let id = line.split('"').nth(3).unwrap_or_default();
            ids.contains(id)
        };
        let sessions = rows(&folder.join("sessions/claude-code.jsonl.gz"), is_needed)
            .into_iter()
            .map(|session| {
                let messages = session["messages"].as_array().unwrap().clone();
                (session["id"].as_str().unwrap().to_owned(), messages)
            })
            .collect();
        Some(Self { folder, sessions })
    }

    pub(crate) fn recorded(&self, peer: &str) -> Vec<Value> {
        rows(&self.folder.join(format!("golden/{peer}.jsonl.gz")), |_| {
            true
        })
    }

    /// The messages that a row is about.
    pub(crate) fn messages(&self, row: &Value) -> &[Value] {
        let upto = usize::try_from(row["upto"].as_u64().unwrap()).unwrap();
        &self.sessions[row["session"].as_str().unwrap()][..upto]
    }
}

fn rows(path: &Path, is_needed: impl Fn(&str) -> bool) -> Vec<Value> {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .unwrap();
    text.lines()
        .filter(|line| is_needed(line))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(crate) fn body(messages: &[Value]) -> String {
    json!({"model": "some-model", "max_tokens": 1024, "messages": messages}).to_string()
}

pub(crate) fn policy(preset: &str, settings: &[String]) -> Policy {
    Policy::resolve(Some(preset), None, settings).unwrap()
}

pub(crate) fn run<'a>(body: &'a str, policy: &Policy) -> Outcome<'a> {
    let request = Request {
        dialect: Some(Dialect::AnthropicMessages),
        ..Request::default()
    };
    let outcome = prune(body.as_bytes(), &request, policy);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    outcome
}

pub(crate) fn messages_of(outcome: &Outcome<'_>) -> Vec<Value> {
    let body: Value = serde_json::from_slice(&outcome.body).unwrap();
    body["messages"].as_array().unwrap().clone()
}

/// A number of a row, as an index.
pub(crate) fn index(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// Every tool result as (message, block, text).
pub(crate) fn results(messages: &[Value]) -> Vec<((usize, usize), String)> {
    let mut found = Vec::new();
    for (message, value) in messages.iter().enumerate() {
        for (block, part) in value["content"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            if part["type"] == "tool_result" {
                found.push(((message, block), text_of(&part["content"])));
            }
        }
    }
    found
}

/// Text blocks joined by newlines.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
