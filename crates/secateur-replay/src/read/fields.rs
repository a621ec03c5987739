//! Small questions to JSON values of logs.

use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use serde_json::Value;

/// A text field; empty where there is none.
pub(super) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A count; 0 where there is none.
pub(super) fn tokens(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(0)
}

/// The text of a string, or of the texts in a list.
pub(super) fn joined(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks
                .iter()
                .filter_map(|block| block.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// A model's name without what an agent adds to it, such as `[1m]`.
pub(super) fn model(name: &str) -> Option<Arc<str>> {
    let bare = name.split('[').next().unwrap_or(name).trim();
    (!bare.is_empty()).then(|| bare.into())
}

/// The session's own id, else the name of its log.
pub(super) fn named(session: String, log: &str) -> String {
    if session.is_empty() {
        log.to_owned()
    } else {
        session
    }
}

/// Why a line of a kind that is not known was not read.
pub(super) fn unknown(thing: &str, kind: &str) -> String {
    let kind: String = kind.chars().take(40).collect();
    format!("unknown {thing} `{kind}`: the log may be of a newer version")
}

/// The key of an answer that is known by these ids.
pub(super) fn key(ids: &[&str]) -> Option<u64> {
    let is_known = ids.iter().all(|id| !id.is_empty());
    is_known.then(|| {
        // Without a random key: the same on every run.
        let mut hasher = std::hash::DefaultHasher::new();
        ids.hash(&mut hasher);
        hasher.finish()
    })
}
