//! What a request says of its session: the tools, the calls so far, what the user asked.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::request::Api;

/// How far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The turn of the script, from 0.
    pub turn: usize,
    /// Calls made before this request.
    pub calls: usize,
    /// Whether the turn has no more operations.
    pub is_finished: bool,
}

/// What is known of a declared tool.
#[derive(Clone, Debug, Default)]
pub(super) struct Tool {
    /// Takes one text instead of arguments.
    pub(super) is_custom: bool,
    /// Names of its arguments.
    pub(super) arguments: Vec<String>,
}

pub(super) type Tools = BTreeMap<String, Tool>;

/// The number of a scripted call begins with this, so that ids tell how far a session is even where
/// calls are missing from the request.
const SCRIPTED: u64 = 0x5ec4_7e00_0000_0000;
const SCRIPTED_DIGITS: &str = "5ec47e00";

/// The number of the call after `calls` others.
pub(super) fn first_number(calls: usize) -> u64 {
    SCRIPTED + calls as u64
}

/// How many calls there are up to one of ours, by its id.
fn calls_by_id(id: &str) -> Option<usize> {
    let (_, digits) = id.split_once(SCRIPTED_DIGITS)?;
    Some(usize::from_str_radix(digits.get(..8)?, 16).ok()? + 1)
}

#[derive(Debug, Default)]
pub(super) struct Conversation {
    pub(super) tools: Tools,
    pub(super) calls: usize,
    user_texts: Vec<String>,
}

impl Conversation {
    pub(super) fn read(api: Api, body: &Value) -> Self {
        let mut conversation = Self::default();
        conversation.add_tools(&body["tools"]);
        let mut ids = Vec::new();
        match api {
            Api::Messages => conversation.read_messages(body, &mut ids),
            Api::Responses => conversation.read_responses(body, &mut ids),
            Api::Chat => conversation.read_chat(body, &mut ids),
            Api::Gemini => conversation.read_gemini(body, &mut ids),
        }
        let newest = ids.iter().filter_map(|id| calls_by_id(id)).max();
        conversation.calls = newest.unwrap_or(0).max(ids.len());
        conversation
    }

    /// Whether a text of the user contains `prompt`; agents add context and quotes around it.
    pub(super) fn user_says(&self, prompt: &str) -> bool {
        self.user_texts.iter().any(|text| text.contains(prompt))
    }

    fn read_messages<'b>(&mut self, body: &'b Value, ids: &mut Vec<&'b str>) {
        for message in list(&body["messages"]) {
            if message["role"] == "user" {
                self.add_user_texts(&message["content"]);
            }
            let calls = list(&message["content"]).iter();
            let calls = calls.filter(|block| block["type"] == "tool_use");
            ids.extend(calls.map(|call| call["id"].as_str().unwrap_or_default()));
        }
    }

    fn read_responses<'b>(&mut self, body: &'b Value, ids: &mut Vec<&'b str>) {
        if body["input"].is_string() {
            self.add_user_texts(&body["input"]);
        }
        for item in list(&body["input"]) {
            match item["type"].as_str() {
                Some("function_call" | "custom_tool_call") => {
                    ids.push(item["call_id"].as_str().unwrap_or_default());
                }
                Some("additional_tools") => self.add_tools(&item["tools"]),
                _ if item["role"] == "user" => self.add_user_texts(&item["content"]),
                _ => {}
            }
        }
    }

    fn read_chat<'b>(&mut self, body: &'b Value, ids: &mut Vec<&'b str>) {
        for message in list(&body["messages"]) {
            if message["role"] == "user" {
                self.add_user_texts(&message["content"]);
            }
            let calls = list(&message["tool_calls"]).iter();
            ids.extend(calls.map(|call| call["id"].as_str().unwrap_or_default()));
        }
    }

    fn read_gemini<'b>(&mut self, body: &'b Value, ids: &mut Vec<&'b str>) {
        for turn in list(&body["contents"]) {
            if turn["role"] == "user" {
                self.add_user_texts(&turn["parts"]);
            }
            let calls = list(&turn["parts"]).iter();
            let calls = calls.filter_map(|part| part.get("functionCall"));
            ids.extend(calls.map(|call| call["id"].as_str().unwrap_or_default()));
        }
    }

    fn add_user_texts(&mut self, content: &Value) {
        match content {
            Value::String(text) => self.user_texts.push(text.clone()),
            Value::Array(parts) => {
                let texts = parts.iter().filter_map(|part| part["text"].as_str());
                self.user_texts.extend(texts.map(str::to_owned));
            }
            _ => {}
        }
    }

    /// Tools in the shapes of all APIs; some wrap lists of tools in one entry.
    fn add_tools(&mut self, tools: &Value) {
        for tool in list(tools) {
            for key in ["tools", "functionDeclarations", "function_declarations"] {
                self.add_tools(&tool[key]);
            }
            let declared = tool.get("function").unwrap_or(tool);
            let Some(name) = declared["name"].as_str() else {
                continue;
            };
            let schema = ["input_schema", "parameters", "parametersJsonSchema"]
                .iter()
                .find_map(|key| declared.get(*key));
            let arguments = schema.and_then(|schema| schema["properties"].as_object());
            let arguments = arguments.map(|named| named.keys().cloned().collect());
            let facts = Tool {
                is_custom: tool["type"] == "custom",
                arguments: arguments.unwrap_or_default(),
            };
            self.tools.insert(name.to_owned(), facts);
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
