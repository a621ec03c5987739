//! Whether a provider would accept a request, judged from parsed JSON alone.
//!
//! Written from the providers' documented rules, without the engine's reader or its own check, so
//! that one can be held against the other.

use std::collections::BTreeMap;

use secateur_core::dialect::DialectId;
use serde_json::Value;

/// How often each rule is broken; empty for an acceptable request.
pub type Complaints = BTreeMap<&'static str, usize>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    System,
    User,
    Model,
    Tool,
    Stranger,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Text { blank: bool, empty: bool },
    Call(String),
    Result(String),
    Reasoning,
    Else,
}

#[derive(Debug)]
struct Message {
    who: Who,
    parts: Vec<What>,
}

/// What is wrong with a request.
#[must_use]
pub fn complaints(request: &Value, dialect: DialectId) -> Complaints {
    let mut wrong = Complaints::new();
    let messages = messages(request, dialect);
    if messages.is_empty() {
        *wrong.entry("no turns").or_default() += 1;
    }
    if dialect != DialectId::OpenaiResponses {
        ids_are_unique(&messages, &mut wrong);
    }
    match dialect {
        DialectId::AnthropicMessages => {
            first_is_users(&messages, &mut wrong);
            pairs_are_adjacent(&merged(&messages), true, &mut wrong);
            results_lead(&messages, &mut wrong);
            nothing_is_empty(&messages, &mut wrong);
            roles_are_known(&messages, &mut wrong);
        }
        DialectId::GeminiGenerateContent => {
            first_is_users(&messages, &mut wrong);
            let merged = merged(&messages);
            pairs_are_adjacent(&merged, false, &mut wrong);
            calls_follow_users(&merged, &mut wrong);
            roles_are_known(&messages, &mut wrong);
        }
        DialectId::OpenaiResponses => {
            reasoning_is_followed(&messages, &mut wrong);
            known_reasoning_keeps_its_item(list(request, "input"), &mut wrong);
            let elsewhere = ["previous_response_id", "conversation"];
            if elsewhere
                .iter()
                .all(|key| request.get(key).is_none_or(Value::is_null))
            {
                pairs_are_somewhere(&messages, &mut wrong);
            }
        }
        _ => {
            pairs_are_adjacent(&messages, false, &mut wrong);
            roles_are_known(&messages, &mut wrong);
        }
    }
    wrong
}

fn text(value: &Value) -> What {
    let text = value.as_str().unwrap_or_default();
    What::Text {
        blank: text.trim().is_empty(),
        empty: text.is_empty(),
    }
}

fn key(id: Option<&Value>, name: Option<&Value>) -> String {
    match (id.and_then(Value::as_str), name.and_then(Value::as_str)) {
        (Some(id), _) => format!("id {id}"),
        (None, Some(name)) => format!("name {name}"),
        (None, None) => "nothing".to_owned(),
    }
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn messages(request: &Value, dialect: DialectId) -> Vec<Message> {
    let items = list(request, dialect.facts().list_key);
    match dialect {
        DialectId::AnthropicMessages => items.iter().map(anthropic).collect(),
        DialectId::GeminiGenerateContent => items.iter().map(gemini).collect(),
        DialectId::OpenaiResponses => match request.get("input") {
            Some(Value::String(_)) => vec![Message {
                who: Who::User,
                parts: Vec::new(),
            }],
            _ => responses(items),
        },
        _ => items.iter().map(chat).collect(),
    }
}

fn who(role: Option<&Value>) -> Who {
    match role.and_then(Value::as_str) {
        Some("system" | "developer") => Who::System,
        Some("user") => Who::User,
        Some("assistant" | "model") => Who::Model,
        Some("tool" | "function") => Who::Tool,
        _ => Who::Stranger,
    }
}

fn anthropic(message: &Value) -> Message {
    let parts = match message.get("content") {
        Some(Value::Array(blocks)) => blocks
            .iter()
            .map(|block| match block.get("type").and_then(Value::as_str) {
                Some("text") => text(&block["text"]),
                Some("tool_use") => What::Call(key(block.get("id"), None)),
                Some("tool_result") => What::Result(key(block.get("tool_use_id"), None)),
                _ => What::Else,
            })
            .collect(),
        Some(content) => vec![text(content)],
        None => Vec::new(),
    };
    let who = match message.get("role").and_then(Value::as_str) {
        Some("user") => Who::User,
        Some("assistant") => Who::Model,
        Some("system") => Who::System,
        _ => Who::Stranger,
    };
    Message { who, parts }
}

fn gemini(content: &Value) -> Message {
    let part = |part: &Value| {
        if let Some(call) = part.get("functionCall") {
            What::Call(key(call.get("id"), call.get("name")))
        } else if let Some(result) = part.get("functionResponse") {
            What::Result(key(result.get("id"), result.get("name")))
        } else {
            What::Else
        }
    };
    let who = match content.get("role") {
        None => Who::User,
        role => who(role),
    };
    Message {
        who,
        parts: list(content, "parts").iter().map(part).collect(),
    }
}

fn chat(message: &Value) -> Message {
    let who = who(message.get("role"));
    let mut parts = Vec::new();
    if who == Who::Tool {
        parts.push(What::Result(key(
            message.get("tool_call_id"),
            message.get("name"),
        )));
    } else if message
        .get("content")
        .is_some_and(|content| !content.is_null())
    {
        parts.push(What::Else);
    }
    for call in list(message, "tool_calls") {
        parts.push(What::Call(key(
            call.get("id"),
            call.pointer("/function/name"),
        )));
    }
    if let Some(call @ Value::Object(_)) = message.get("function_call") {
        parts.push(What::Call(key(None, call.get("name"))));
    }
    Message { who, parts }
}

/// What the model produced in one go is one message.
fn responses(items: &[Value]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for item in items {
        let kind = item
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or("message");
        let has_id = item.get("call_id").is_some_and(Value::is_string)
            && item.get("execution").is_none_or(|by| by != "server");
        let (by, part) = match kind {
            "message" => (who(item.get("role")), What::Else),
            "reasoning" => (Who::Model, What::Reasoning),
            _ if item.get("role").is_some_and(Value::is_string) => {
                (who(item.get("role")), What::Else)
            }
            _ if kind.ends_with("_call") && has_id => {
                (Who::Model, What::Call(key(item.get("call_id"), None)))
            }
            _ if kind.ends_with("_output") && has_id => {
                (Who::Tool, What::Result(key(item.get("call_id"), None)))
            }
            _ if kind.ends_with("_call") || kind.ends_with("_output") => (Who::Model, What::Else),
            _ => (Who::Stranger, What::Else),
        };
        match messages.last_mut() {
            Some(last) if last.who == Who::Model && by == Who::Model => last.parts.push(part),
            _ => messages.push(Message {
                who: by,
                parts: vec![part],
            }),
        }
    }
    messages
}

fn first_is_users(messages: &[Message], wrong: &mut Complaints) {
    let first = messages.iter().find(|message| message.who != Who::System);
    if first.is_some_and(|first| matches!(first.who, Who::Model | Who::Tool)) {
        *wrong.entry("first turn is not the user's").or_default() += 1;
    }
}

fn ids_are_unique(messages: &[Message], wrong: &mut Complaints) {
    for message in messages {
        let calls = keys(message, true);
        for (nth, call) in calls.iter().enumerate() {
            if call.starts_with("id ") && calls[..nth].contains(call) {
                *wrong.entry("one id twice").or_default() += 1;
            }
        }
    }
}

fn roles_are_known(messages: &[Message], wrong: &mut Complaints) {
    let strangers = messages
        .iter()
        .filter(|message| message.who == Who::Stranger)
        .count();
    if strangers > 0 {
        wrong.insert("unknown role", strangers);
    }
}

/// Neighbouring messages with calls count as one.
fn merged(messages: &[Message]) -> Vec<Message> {
    let mut merged: Vec<Message> = Vec::new();
    for message in messages {
        let calls =
            |message: &Message| !keys(message, true).is_empty() && keys(message, false).is_empty();
        match merged.last_mut() {
            Some(last) if calls(last) && calls(message) => {
                last.parts.extend(message.parts.iter().cloned());
            }
            _ => merged.push(Message {
                who: message.who,
                parts: message.parts.clone(),
            }),
        }
    }
    merged
}

/// The calls of a message are answered by the results right behind it, and only those are.
fn pairs_are_adjacent(messages: &[Message], calls_come_last: bool, wrong: &mut Complaints) {
    for (at, message) in messages.iter().enumerate() {
        let calls = keys(message, true);
        let behind = messages[at + 1..]
            .iter()
            .take_while(|next| !keys(next, false).is_empty());
        // A message that answers and calls again ends the run, but its results still count.
        let mut answers: Vec<&str> = Vec::new();
        for next in behind {
            answers.extend(keys(next, false));
            if !keys(next, true).is_empty() {
                break;
            }
        }
        // A call with text behind it is not answered at once, whatever follows.
        let is_text = |part: &What| matches!(part, What::Text { .. });
        let last_text = message
            .parts
            .iter()
            .rposition(is_text)
            .filter(|_| calls_come_last);
        let parts = message.parts[..last_text.unwrap_or(0)].iter();
        let too_early = parts.filter(|part| matches!(part, What::Call(_))).count();
        for (nth, call) in calls.iter().enumerate() {
            let earlier = calls[..nth].iter().filter(|other| *other == call).count();
            if nth < too_early || answers.iter().filter(|answer| *answer == call).count() <= earlier
            {
                *wrong.entry("call without result").or_default() += 1;
            }
        }
        let caller = messages[..at]
            .iter()
            .rev()
            .find(|before| !keys(before, true).is_empty() || keys(before, false).is_empty());
        for result in keys(message, false) {
            if !caller.is_some_and(|caller| keys(caller, true).contains(&result)) {
                *wrong.entry("result without call").or_default() += 1;
            }
        }
    }
}

/// Both halves are in the list; a call that reuses an id asks for a result of its own.
fn pairs_are_somewhere(messages: &[Message], wrong: &mut Complaints) {
    for (at, message) in messages.iter().enumerate() {
        let calls = keys(message, true);
        for (nth, call) in calls.iter().enumerate() {
            let earlier = calls[..nth].iter().filter(|other| *other == call).count();
            let until_reuse = messages[at + 1..]
                .iter()
                .take_while(|later| !keys(later, true).contains(call))
                .flat_map(|later| keys(later, false))
                .filter(|result| result == call)
                .count();
            if until_reuse <= earlier {
                *wrong.entry("call without result").or_default() += 1;
            }
        }
        for result in keys(message, false) {
            if !messages[..at]
                .iter()
                .any(|before| keys(before, true).contains(&result))
            {
                *wrong.entry("result without call").or_default() += 1;
            }
        }
    }
}

fn keys(message: &Message, calls: bool) -> Vec<&str> {
    let keys = message.parts.iter().filter_map(|part| match part {
        What::Call(key) if calls => Some(key.as_str()),
        What::Result(key) if !calls => Some(key.as_str()),
        _ => None,
    });
    keys.collect()
}

fn results_lead(messages: &[Message], wrong: &mut Complaints) {
    for message in messages.iter().filter(|message| message.who == Who::User) {
        let is_result = |part: &What| matches!(part, What::Result(_));
        let lead = message
            .parts
            .iter()
            .take_while(|part| is_result(part))
            .count();
        if message.parts[lead..].iter().any(is_result) {
            *wrong.entry("result behind other content").or_default() += 1;
        }
    }
}

/// The last turn may be the start of an answer, and empty.
fn nothing_is_empty(messages: &[Message], wrong: &mut Complaints) {
    let count = messages.len();
    for (at, message) in messages.iter().enumerate() {
        if at + 1 == count && message.who == Who::Model {
            continue;
        }
        let is_bad = |part: &&What| match part {
            What::Text { blank, empty } => {
                if message.who == Who::Model {
                    *empty
                } else {
                    *blank
                }
            }
            _ => false,
        };
        let blanks = message.parts.iter().filter(is_bad).count();
        let empty = blanks + usize::from(message.parts.is_empty());
        if empty > 0 {
            *wrong.entry("empty text").or_default() += empty;
        }
    }
}

fn calls_follow_users(messages: &[Message], wrong: &mut Complaints) {
    for pair in messages.windows(2) {
        if pair[0].who == Who::Model && !keys(&pair[1], true).is_empty() {
            *wrong.entry("call after a model turn").or_default() += 1;
        }
    }
}

fn reasoning_is_followed(messages: &[Message], wrong: &mut Complaints) {
    let alone = messages
        .iter()
        .filter(|message| message.parts.last() == Some(&What::Reasoning));
    let count = alone.count();
    if count > 0 {
        wrong.insert("reasoning without the item behind it", count);
    }
}

/// Reasoning that the provider knows by id wants the answer that it came with, with its id.
fn known_reasoning_keeps_its_item(items: &[Value], wrong: &mut Complaints) {
    for pair in items.windows(2) {
        let is_known = pair[0]["type"] == "reasoning"
            && pair[0]["id"].is_string()
            && pair[0]["encrypted_content"].is_string();
        let is_rewritten = pair[1]["role"] == "assistant" && pair[1]["id"].is_null();
        if is_known && is_rewritten {
            *wrong
                .entry("reasoning without the item behind it")
                .or_default() += 1;
        }
    }
}
