//! A request cut into raw bytes by serde_json, not by the engine's scanner.

use std::collections::BTreeMap;

use secateur_core::Dialect;
use serde_json::Value;
use serde_json::value::RawValue;

/// Top-level members and the elements of the list of turns, byte for byte.
#[derive(Debug)]
pub struct RawRequest<'a> {
    /// All members but the list.
    pub members: BTreeMap<String, &'a str>,
    /// The elements of the list.
    pub items: Vec<&'a str>,
    /// What stands before the list.
    pub before: &'a str,
    /// What stands behind the list.
    pub behind: &'a str,
    body: &'a str,
}

impl<'a> RawRequest<'a> {
    /// Cuts a body; `None` if it has no list of turns.
    #[must_use]
    pub fn cut(body: &'a [u8], dialect: Dialect) -> Option<Self> {
        let body = std::str::from_utf8(body).ok()?;
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(body).ok()?;
        let list = members.get(dialect.facts().list_key)?.get();
        let items: Vec<&RawValue> = serde_json::from_str(list).ok()?;
        let start = offset(body, list);
        Some(Self {
            before: body.get(..start)?,
            behind: body.get(start + list.len()..)?,
            items: items.into_iter().map(RawValue::get).collect(),
            members: members
                .iter()
                .filter(|(key, _)| key.as_str() != dialect.facts().list_key)
                .map(|(key, value)| (key.clone(), value.get()))
                .collect(),
            body,
        })
    }

    /// Where a piece of this request starts.
    #[must_use]
    pub fn offset(&self, piece: &str) -> usize {
        offset(self.body, piece)
    }
}

fn offset(body: &str, piece: &str) -> usize {
    (piece.as_ptr() as usize).saturating_sub(body.as_ptr() as usize)
}

/// What a block is, as far as it must be left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// Media or of unknown kind: never touched.
    Untouchable,
    /// Reasoning: kept byte for byte, or gone.
    Thinking,
}

/// Kinds of blocks and items that may be edited or that hold such.
const KNOWN: [&str; 12] = [
    "text",
    "input_text",
    "output_text",
    "refusal",
    "tool_use",
    "tool_result",
    "function",
    "custom",
    "message",
    "function_call",
    "function_call_output",
    "server_tool_use",
];

/// Gemini's members that say what a part is.
const KNOWN_MEMBERS: [&str; 8] = [
    "text",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
    "role",
];

/// The blocks in an element of the list (itself included) that must be left alone.
#[must_use]
pub fn blocks_in(item: &str, dialect: Dialect) -> Vec<(BlockKind, &str)> {
    let mut found = Vec::new();
    walk(item, dialect, true, &mut found);
    found
}

fn walk<'a>(raw: &'a str, dialect: Dialect, is_item: bool, found: &mut Vec<(BlockKind, &'a str)>) {
    let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(raw) else {
        return;
    };
    let string = |key: &str| {
        let value = members.get(key)?;
        serde_json::from_str::<String>(value.get()).ok()
    };
    match string("type").as_deref() {
        Some("thinking" | "redacted_thinking" | "reasoning") => {
            return found.push((BlockKind::Thinking, raw));
        }
        // What a provider's tool found goes or stays with its turn, whatever kinds are inside.
        Some(kind) if kind != "tool_result" && kind.ends_with("_tool_result") => return,
        Some(kind) => {
            let is_server_tool = kind.ends_with("_call")
                || kind.ends_with("_call_output")
                || kind.ends_with("_tool_use")
                || kind.ends_with("_search_output");
            if !KNOWN.contains(&kind) && !is_server_tool && !members.contains_key("role") {
                return found.push((BlockKind::Untouchable, raw));
            }
        }
        None if dialect == Dialect::GeminiGenerateContent && !is_item => {
            if members
                .get("thought")
                .is_some_and(|thought| thought.get() == "true")
            {
                return found.push((BlockKind::Thinking, raw));
            }
            if !members
                .keys()
                .any(|key| KNOWN_MEMBERS.contains(&key.as_str()))
            {
                return found.push((BlockKind::Untouchable, raw));
            }
        }
        None => {}
    }
    for key in ["content", "parts", "output"] {
        let Some(value) = members.get(key) else {
            continue;
        };
        let elements: Vec<&RawValue> = serde_json::from_str(value.get()).unwrap_or_default();
        for element in elements {
            walk(element.get(), dialect, false, found);
        }
    }
    if let Some(response) = members.get("functionResponse")
        && let Ok(Value::Object(inner)) = serde_json::from_str(response.get())
        && inner.contains_key("parts")
    {
        found.push((BlockKind::Untouchable, raw));
    }
}
