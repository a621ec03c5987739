//! Clients: a conversation as the requests that an agent makes of it, each with the markers that it sets.

use secateur_core::Dialect;
use serde_json::{Value, json};

/// Where a client puts its markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marks {
    /// Instructions and the last message.
    Last,
    /// Instructions and the last two messages.
    LastTwo,
    /// The first user message and the last message.
    FirstAndLast,
    /// One at the top level of the body; content may be strings.
    TopLevel,
    /// Instructions only.
    HeadOnly,
    /// Nowhere; content may be strings.
    Nowhere,
    /// All four: two blocks of the instructions, the last two messages.
    Four,
    /// Instructions and the last message, kept for an hour.
    LastForAnHour,
    /// Instructions kept for an hour, the last message for five minutes.
    HourThenMinutes,
}

impl Marks {
    pub(crate) const ALL: [Self; 9] = [
        Self::Last,
        Self::LastTwo,
        Self::FirstAndLast,
        Self::TopLevel,
        Self::HeadOnly,
        Self::Nowhere,
        Self::Four,
        Self::LastForAnHour,
        Self::HourThenMinutes,
    ];

    fn marker(self, is_head: bool) -> Value {
        match self {
            Self::LastForAnHour => json!({"type": "ephemeral", "ttl": "1h"}),
            Self::HourThenMinutes if is_head => json!({"type": "ephemeral", "ttl": "1h"}),
            _ => json!({"type": "ephemeral"}),
        }
    }

    fn keeps_strings(self) -> bool {
        matches!(self, Self::TopLevel | Self::Nowhere | Self::HeadOnly)
    }
}

/// The conversation's elements in a body of this dialect.
pub(crate) fn list(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenaiResponses => "input",
        Dialect::GeminiGenerateContent => "contents",
        _ => "messages",
    }
}

fn is_of_model(item: &Value) -> bool {
    match item["role"].as_str() {
        Some(role) => matches!(role, "assistant" | "model"),
        None => !item["type"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("_output")),
    }
}

/// The bodies that an agent sent, from the first request of the conversation to its last.
pub(crate) fn requests(whole: &Value, dialect: Dialect) -> Vec<Value> {
    let key = list(dialect);
    let items = whole[key].as_array().unwrap();
    let mut ends: Vec<usize> = (1..items.len())
        .filter(|&at| is_of_model(&items[at]) && !is_of_model(&items[at - 1]))
        .collect();
    if items.last().is_some_and(|last| !is_of_model(last)) {
        ends.push(items.len());
    }
    let cut = |end: usize| {
        let mut body = whole.clone();
        body[key].as_array_mut().unwrap().truncate(end);
        body
    };
    ends.into_iter().map(cut).collect()
}

/// A body of an Anthropic client that marks it so.
pub(crate) fn mark_anthropic(body: &mut Value, marks: Marks) {
    if !marks.keeps_strings() {
        for message in body["messages"].as_array_mut().unwrap() {
            as_blocks(&mut message["content"]);
        }
    }
    let head = marks.marker(true);
    let tail = marks.marker(false);
    let has_marked_head = !matches!(
        marks,
        Marks::TopLevel | Marks::Nowhere | Marks::FirstAndLast
    );
    if has_marked_head {
        as_blocks(&mut body["system"]);
        let system = body["system"].as_array_mut().unwrap();
        if marks == Marks::Four {
            system.insert(
                0,
                json!({"type": "text", "text": "Billing header.", "cache_control": head}),
            );
        }
        system.last_mut().unwrap()["cache_control"] = head;
    }
    let messages = body["messages"].as_array_mut().unwrap();
    let count = messages.len();
    match marks {
        Marks::TopLevel => body["cache_control"] = tail,
        Marks::HeadOnly | Marks::Nowhere => {}
        Marks::Last | Marks::LastForAnHour | Marks::HourThenMinutes => {
            mark_last_block(&mut messages[count - 1], &tail);
        }
        Marks::LastTwo | Marks::Four => {
            for message in messages.iter_mut().rev().take(2) {
                mark_last_block(message, &tail);
            }
        }
        Marks::FirstAndLast => {
            mark_last_block(&mut messages[0], &tail);
            mark_last_block(&mut messages[count - 1], &tail);
        }
    }
}

fn as_blocks(content: &mut Value) {
    if content.is_string() {
        *content = json!([{"type": "text", "text": content.take()}]);
    }
}

fn mark_last_block(message: &mut Value, marker: &Value) {
    let blocks = message["content"].as_array_mut().unwrap();
    let is_thinking = |block: &&mut Value| {
        block["type"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("thinking"))
    };
    if let Some(block) = blocks.iter_mut().rfind(|block| !is_thinking(block)) {
        block["cache_control"] = marker.clone();
    }
}
