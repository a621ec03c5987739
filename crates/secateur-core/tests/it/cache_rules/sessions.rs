//! The properties, on generated and on real sessions.

use secateur_core::Dialect;
use secateur_core::policy::Policy;
use secateur_testkit::session::{agent_session, support_chat};
use serde_json::{Value, json};

use super::client::{Marks, requests};
use super::{Play, Seen, anthropic};
use crate::data::rows;

/// `steady`, `steady-bold`, and settings of it that cut as much and as soon as they may.
fn policies() -> Vec<(&'static str, Policy)> {
    let eager = [
        "rounds.min_gain_chars=200",
        "rounds.horizon=20",
        "stale-results.min_chars=100",
        "stale-results.commands=1",
        "stale-results.named_files=3",
        "stale-results.others=2",
        "stale-results.edits=4",
    ]
    .map(str::to_owned);
    vec![
        ("steady", Policy::preset("steady").unwrap()),
        ("steady-bold", Policy::preset("steady-bold").unwrap()),
        (
            "eager",
            Policy::resolve(Some("steady-bold"), None, &eager).unwrap(),
        ),
    ]
}

/// The instructions and tools of an agent, so that they are long enough to be cached.
fn with_head(mut body: Value) -> Value {
    body["system"] = json!("You are a coding agent. Read before you edit. ".repeat(400));
    body["tools"] = json!([{"name": "Read", "description": "Reads a file.", "input_schema": {"type": "object"}}]);
    body
}

/// The same session without what the user says on the way: one long run of the agent.
fn one_run(mut body: Value) -> Value {
    let messages = body["messages"].take();
    let mut kept: Vec<Value> = Vec::new();
    for message in messages.as_array().unwrap() {
        let has_result = message["content"]
            .as_array()
            .is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "tool_result"));
        if message["role"] == "user" && !has_result && !kept.is_empty() {
            continue;
        }
        match kept.last_mut() {
            Some(last) if last["role"] == message["role"] => {
                let blocks = |content: &Value| match content {
                    Value::String(text) => vec![json!({"type": "text", "text": text})],
                    other => other.as_array().cloned().unwrap_or_default(),
                };
                let both = [blocks(&last["content"]), blocks(&message["content"])].concat();
                // Text after a call is not accepted.
                let (calls, texts): (Vec<_>, Vec<_>) = both
                    .into_iter()
                    .partition(|block| block["type"] == "tool_use");
                last["content"] = json!([texts, calls].concat());
            }
            _ => kept.push(message.clone()),
        }
    }
    body["messages"] = json!(kept);
    body
}

fn body(session: &secateur_testkit::Conversation, dialect: Dialect) -> Value {
    serde_json::from_slice(&session.body(dialect)).unwrap()
}

#[test]
fn no_marked_session_costs_more_and_reads_are_predicted() {
    let dialect = Dialect::AnthropicMessages;
    let mut all = Seen::default();
    for (name, policy) in policies() {
        for marks in Marks::ALL {
            let mut seen = Seen::default();
            for seed in 0..2 {
                let session = match seed {
                    0 => agent_session(7, 76),
                    _ => support_chat(seed, 20),
                };
                let mut whole = with_head(body(&session, dialect));
                if seed == 0 {
                    whole = one_run(whole);
                }
                let play = Play {
                    label: format!("{name}, {marks:?}, seed {seed}"),
                    model: "claude-opus-4-6",
                    dialect,
                    policy: &policy,
                    pauses: None,
                };
                play.run(&anthropic(&whole, marks), &mut seen);
            }
            seen.check(&format!("{name} {marks:?}"));
            let has_room = !matches!(marks, Marks::Four | Marks::HeadOnly | Marks::Nowhere);
            assert!(has_room || seen.anchors == 0, "{marks:?} leaves no place");
            all.add(&seen);
        }
    }
    assert!(
        all.rounds > 20 && all.anchors > 3,
        "hardly a round: {all:?}"
    );
}

#[test]
fn no_marked_session_costs_more_with_pauses() {
    let dialect = Dialect::AnthropicMessages;
    for (name, policy) in policies() {
        for (seed, marks) in (0..).zip(Marks::ALL) {
            let mut seen = Seen::default();
            let whole = with_head(body(&agent_session(seed, 56), dialect));
            let play = Play {
                label: format!("{name}, {marks:?}, seed {seed}"),
                model: "claude-opus-4-6",
                dialect,
                policy: &policy,
                pauses: Some(seed),
            };
            play.run(&anthropic(&whole, marks), &mut seen);
            seen.check(&format!("{name} {marks:?}"));
        }
    }
}

#[test]
fn no_session_of_other_providers_costs_more() {
    let providers = [
        ("gpt-6.1-sol", Dialect::OpenaiResponses),
        ("gpt-5.5", Dialect::OpenaiResponses),
        ("gpt-6.1-sol", Dialect::OpenaiChat),
        ("gpt-5.5", Dialect::OpenaiChat),
        ("gemini-2.5-pro", Dialect::GeminiGenerateContent),
    ];
    for (name, policy) in policies() {
        for (model, dialect) in providers {
            for pauses in [None, Some(3)] {
                let mut seen = Seen::default();
                let bodies = requests(&body(&agent_session(11, 56), dialect), dialect);
                let play = Play {
                    label: format!("{name}, {model}, {dialect}, {pauses:?}"),
                    model,
                    dialect,
                    policy: &policy,
                    pauses,
                };
                play.run(&bodies, &mut seen);
                seen.check(&format!("{name} {model} {dialect}"));
            }
        }
    }
}

#[test]
fn no_real_session_costs_more() {
    let Some(rows) = rows("sessions/claude-code.jsonl.gz") else {
        return;
    };
    let policies = policies();
    let mut seen = Seen::default();
    // One session in eleven keeps the run short; all patterns and settings take part.
    for (number, row) in rows.enumerate().step_by(11) {
        let messages = row["messages"].as_array().unwrap();
        let messages = &messages[..messages.len().min(160)];
        let whole = with_head(json!({ "model": "claude-opus-4-6", "messages": messages }));
        let (name, policy) = &policies[number % policies.len()];
        let marks = Marks::ALL[number % Marks::ALL.len()];
        let play = Play {
            label: format!("{name}, {marks:?}, session {number}"),
            model: "claude-opus-4-6",
            dialect: Dialect::AnthropicMessages,
            policy,
            pauses: (number % 2 == 0).then_some(number as u64),
        };
        play.run(&anthropic(&whole, marks), &mut seen);
    }
    seen.check("real sessions");
    assert!(seen.requests > 300 && seen.rounds > 5, "{seen:?}");
}
