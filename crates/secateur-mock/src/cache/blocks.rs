//! A request as the sequence of blocks that the cache sees: tools, instructions, conversation.

use serde_json::Value;

use super::rules::knows_breakpoints;
use crate::request::Api;

/// How long an entry lives after its last use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifetime {
    Short,
    Long,
}

/// One block. Its text is the content without any marker, because markers are not part of the key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) text: String,
    pub(super) marker: Option<Lifetime>,
}

impl Block {
    pub(super) fn chars(&self) -> usize {
        self.text.chars().count()
    }
}

const MARKERS: [&str; 2] = ["cache_control", "prompt_cache_breakpoint"];

/// The blocks of a body, in the order in which providers put them before the model.
pub(super) fn read(api: Api, model: &str, body: &Value) -> Vec<Block> {
    match api {
        Api::Messages => messages(body),
        Api::Chat | Api::Responses => openai(api, model, body),
        Api::Gemini => gemini(body),
    }
}

fn messages(body: &Value) -> Vec<Block> {
    let mut blocks: Vec<Block> = list(&body["tools"])
        .iter()
        .map(|tool| block("", tool))
        .collect();
    push_content(&mut blocks, "system", &body["system"]);
    let mut last_cacheable = blocks.len().checked_sub(1);
    for message in list(&body["messages"]) {
        let role = message["role"].as_str().unwrap_or_default();
        for part in content(&message["content"]) {
            let is_thinking = part["type"]
                .as_str()
                .is_some_and(|kind| kind.contains("thinking"));
            if !is_thinking {
                last_cacheable = Some(blocks.len());
            }
            blocks.push(block(role, part));
        }
    }
    // One marker at the top level stands for the last block that can carry one.
    if let (Some(lifetime), Some(at)) = (lifetime(&body["cache_control"]), last_cacheable) {
        blocks[at].marker = Some(lifetime);
    }
    blocks
}

fn openai(api: Api, model: &str, body: &Value) -> Vec<Block> {
    let mut blocks: Vec<Block> = list(&body["tools"])
        .iter()
        .map(|tool| block("", tool))
        .collect();
    push_content(&mut blocks, "instructions", &body["instructions"]);
    let turns = match api {
        Api::Chat => &body["messages"],
        _ => &body["input"],
    };
    let mut newest_input = None;
    for turn in content(turns) {
        let kind = turn["type"].as_str().unwrap_or_default();
        let role = turn["role"].as_str().unwrap_or(kind);
        let is_input =
            matches!(role, "user" | "tool") || kind.ends_with("_output") || turn.is_string();
        match &turn["content"] {
            Value::Array(parts) if kind != "reasoning" => {
                blocks.extend(parts.iter().map(|part| block(role, part)));
                if let Some(calls) = turn.get("tool_calls") {
                    blocks.push(block(role, calls));
                }
            }
            _ => blocks.push(block(role, turn)),
        }
        if is_input {
            newest_input = blocks.len().checked_sub(1);
        }
    }
    let own_breakpoint =
        body.pointer("/prompt_cache_options/mode") != Some(&Value::from("explicit"));
    if let Some(at) = newest_input
        && own_breakpoint
        && knows_breakpoints(api, model)
    {
        blocks[at].marker = Some(Lifetime::Short);
    }
    blocks
}

fn gemini(body: &Value) -> Vec<Block> {
    let mut blocks: Vec<Block> = list(&body["tools"])
        .iter()
        .map(|tool| block("", tool))
        .collect();
    let instruction = body
        .get("systemInstruction")
        .or_else(|| body.get("system_instruction"));
    blocks.extend(instruction.map(|text| block("system", text)));
    for turn in list(&body["contents"]) {
        let role = turn["role"].as_str().unwrap_or("user");
        blocks.extend(list(&turn["parts"]).iter().map(|part| block(role, part)));
    }
    blocks
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A list's elements, or a single value as a list of one.
fn content(value: &Value) -> &[Value] {
    match value {
        Value::Array(parts) => parts,
        Value::Null => &[],
        one => std::slice::from_ref(one),
    }
}

fn push_content(blocks: &mut Vec<Block>, role: &str, value: &Value) {
    blocks.extend(content(value).iter().map(|part| block(role, part)));
}

fn block(role: &str, value: &Value) -> Block {
    let mut marker = marker_of(value);
    let mut bare = value.clone();
    remove_markers(&mut bare);
    // A marker inside a tool result counts for the result.
    for key in ["content", "output"] {
        if let Some(Value::Array(parts)) = bare.get_mut(key) {
            for part in parts {
                marker = marker.or_else(|| marker_of(part));
                remove_markers(part);
            }
        }
    }
    Block {
        text: format!("{role}{bare}\n"),
        marker,
    }
}

fn remove_markers(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|key, _| !MARKERS.contains(&key.as_str()));
    }
}

fn marker_of(value: &Value) -> Option<Lifetime> {
    lifetime(&value["cache_control"]).or_else(|| {
        (value["prompt_cache_breakpoint"]["mode"] == "explicit").then_some(Lifetime::Short)
    })
}

fn lifetime(marker: &Value) -> Option<Lifetime> {
    match marker {
        Value::Object(fields) if fields.get("ttl") == Some(&Value::from("1h")) => {
            Some(Lifetime::Long)
        }
        Value::Object(_) => Some(Lifetime::Short),
        _ => None,
    }
}
