//! Recorded provider exchanges and real sessions, if they are available.
//!
//! The data is not part of the project: `SECATEUR_DATA` names its folder, `../shared/data` beside
//! the workspace is the default, and without it the tests say so and pass.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::collections::BTreeMap;

use secateur_core::Limits;
use secateur_core::check::{Rule, check};
use secateur_core::dialect::{self, Dialect};
use secateur_testkit::invariants::{Fate, agree, hold};
use secateur_testkit::policies::{self, Named};
use serde_json::{Value, json};

use crate::data::rows;

struct Recording {
    id: String,
    dialect: Dialect,
    status: u64,
    body: Vec<u8>,
}

fn recordings() -> Option<impl Iterator<Item = Recording>> {
    let rows = rows("wire/recordings.jsonl.gz")?;
    Some(rows.map(|line| Recording {
        id: line["id"].as_str().unwrap().to_owned(),
        dialect: Dialect::from_name(line["dialect"].as_str().unwrap()).unwrap(),
        status: line["status"].as_u64().unwrap(),
        body: serde_json::to_vec(&line["request"]).unwrap(),
    }))
}

#[test]
fn the_dialect_of_every_recorded_request_is_found_by_shape() {
    let Some(recordings) = recordings() else {
        return;
    };
    let mut wrong = Vec::new();
    for recording in recordings {
        let found = dialect::detect(&recording.body, &Limits::default());
        if found != Ok(recording.dialect) {
            wrong.push(format!(
                "{} is {}, detected {found:?}",
                recording.id, recording.dialect
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn check_accepts_what_the_providers_accepted() {
    let Some(recordings) = recordings() else {
        return;
    };
    let mut wrong = Vec::new();
    for recording in recordings.filter(|recording| recording.status == 200) {
        match dialect::read(&recording.body, recording.dialect, &Limits::default()) {
            Err(error) => wrong.push(format!(
                "{}: {}",
                recording.id,
                error.explain(&recording.body)
            )),
            Ok(view) => {
                let found = check(&view);
                if !found.is_empty() {
                    wrong.push(format!("{} {}: {found:?}", recording.dialect, recording.id));
                }
            }
        }
        if let Err(apart) = agree(recording.dialect, &recording.body) {
            wrong.push(format!("{}: {apart}", recording.id));
        }
    }
    assert!(wrong.is_empty(), "{} {wrong:#?}", wrong.len());
}

/// Rejections that blame the structure of the list, by what the provider said.
#[test]
fn check_names_the_rule_that_the_provider_named() {
    let Some(rows) = rows("wire/recordings.jsonl.gz") else {
        return;
    };
    let said = [
        (
            "without its required following item",
            Rule::ReasoningWithoutFollower,
        ),
        (
            "ids were found without `tool_result` blocks",
            Rule::CallWithoutResult,
        ),
        ("No tool output found for", Rule::CallWithoutResult),
    ];
    let mut seen = 0;
    for line in rows.filter(|line| line["status"] == 400) {
        let response = line["response"].to_string();
        let Some((_, rule)) = said.iter().find(|(words, _)| response.contains(words)) else {
            continue;
        };
        let dialect = Dialect::from_name(line["dialect"].as_str().unwrap()).unwrap();
        let body = serde_json::to_vec(&line["request"]).unwrap();
        let found = check(&dialect::read(&body, dialect, &Limits::default()).unwrap());
        assert!(
            found.iter().any(|violation| violation.rule == *rule),
            "{} {found:?}",
            line["id"]
        );
        seen += 1;
    }
    assert!(seen >= 2, "only {seen} recorded rejections about structure");
}

#[test]
fn no_recorded_request_is_broken_by_any_strategy_or_preset() {
    let Some(recordings) = recordings() else {
        return;
    };
    let mut fates: BTreeMap<String, usize> = BTreeMap::new();
    let sets: Vec<_> = (0..8).map(policies::all).collect();
    for (at, recording) in recordings.enumerate() {
        for named in &sets[at % sets.len()] {
            match hold(recording.dialect, &recording.body, named) {
                Ok(fate) => {
                    *fates
                        .entry(format!("{} {fate:?}", recording.dialect))
                        .or_default() += 1;
                }
                Err(broken) => panic!("{} with {}: {broken}", recording.id, named.name),
            }
        }
    }
    println!("{fates:#?}");
}

/// Prunes a session as it was at every `step`-th message.
fn hold_at_boundaries(
    dialect: Dialect,
    messages: &[Value],
    frame: &Value,
    step: usize,
    at: usize,
    policies: &[Named],
) -> usize {
    let mut pruned = 0;
    for (nth, end) in (1..=messages.len()).rev().step_by(step).enumerate() {
        let mut request = frame.clone();
        request["messages"] = messages[..end].into();
        let body = serde_json::to_vec(&request).unwrap();
        let named = &policies[(at + nth) % policies.len()];
        match hold(dialect, &body, named) {
            Ok(fate) => pruned += usize::from(fate == Fate::Pruned),
            Err(broken) => panic!("{} messages with {}: {broken}", end, named.name),
        }
    }
    pruned
}

#[test]
fn no_session_is_broken_at_any_boundary() {
    let anthropic = json!({"model": "claude-opus-4-6", "max_tokens": 4096});
    let bound = json!({"model": "claude-fable-5-1", "max_tokens": 4096});
    let chat = json!({"model": "gpt-5", "n": 1});
    let sessions = [
        (
            "sessions/claude-code.jsonl.gz",
            Dialect::AnthropicMessages,
            &anthropic,
            41,
        ),
        (
            "sessions/claude-code.jsonl.gz",
            Dialect::AnthropicMessages,
            &bound,
            101,
        ),
        (
            "sessions/tau2-openai.jsonl.gz",
            Dialect::OpenaiChat,
            &chat,
            13,
        ),
        (
            "sessions/pi-large-session.jsonl.gz",
            Dialect::AnthropicMessages,
            &anthropic,
            61,
        ),
    ];
    let sets: Vec<_> = (0..8).map(policies::all).collect();
    for (file, dialect, frame, step) in sessions {
        let Some(rows) = rows(file) else { return };
        let mut pruned = 0;
        for (at, line) in rows.enumerate() {
            let messages = line["messages"].as_array().unwrap();
            let policies = &sets[at % sets.len()];
            pruned += hold_at_boundaries(dialect, messages, frame, step, at, policies);
        }
        println!("{file} with {}: {pruned} pruned", frame["model"]);
        assert!(pruned > 0, "{file}");
    }
}
