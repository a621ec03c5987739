//! Whether a provider would accept a request, judged from parsed JSON alone.
//!
//! Written from the providers' documented rules, without the engine's reader or its own check, so
//! that one can be held against the other.

mod read;

use std::collections::BTreeMap;

use secateur_core::Dialect;
use serde_json::Value;

use read::{Message, What, Who, list, messages};

/// How often each rule is broken; empty for an acceptable request.
pub type Complaints = BTreeMap<&'static str, usize>;

/// What is wrong with a request.
#[must_use]
pub fn complaints(request: &Value, dialect: Dialect) -> Complaints {
    let mut wrong = Complaints::new();
    let messages = messages(request, dialect);
    if messages.is_empty() {
        *wrong.entry("no turns").or_default() += 1;
    }
    if dialect != Dialect::OpenaiResponses {
        ids_are_unique(&messages, &mut wrong);
    }
    match dialect {
        Dialect::AnthropicMessages => {
            pairs_are_adjacent(&merged(&messages), true, &mut wrong);
            results_lead(&messages, &mut wrong);
            nothing_is_empty(&messages, &mut wrong);
            roles_are_known(&messages, &mut wrong);
        }
        Dialect::GeminiGenerateContent => {
            first_is_users(&messages, &mut wrong);
            let merged = merged(&messages);
            pairs_are_adjacent(&merged, false, &mut wrong);
            calls_follow_users(&merged, &mut wrong);
            roles_are_known(&messages, &mut wrong);
        }
        Dialect::OpenaiResponses => {
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

/// Whether a request begins with a user's turn. No output may begin otherwise if its input did not, although Anthropic
/// would take it.
#[must_use]
pub fn begins_with_user(request: &Value, dialect: Dialect) -> bool {
    is_users_first(&messages(request, dialect))
}

fn is_users_first(messages: &[Message]) -> bool {
    let first = messages.iter().find(|message| message.who != Who::System);
    !first.is_some_and(|first| matches!(first.who, Who::Model | Who::Tool))
}

fn first_is_users(messages: &[Message], wrong: &mut Complaints) {
    if !is_users_first(messages) {
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
