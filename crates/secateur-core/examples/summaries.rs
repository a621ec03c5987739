//! Older turns become a summary that a model writes. The engine asks no model: it says which summaries are missing, the
//! caller gets them from wherever it likes, and gives them back by their keys.
//!
//! `cargo run -p secateur-core --example summaries`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::HashMap;
use std::sync::Arc;

use secateur_core::summary::{Found, INSTRUCTIONS, Summaries, SummaryKey};
use secateur_core::{Policy, Request, prune};
use serde_json::json;

const POLICY: &str = r#"
[m7]
enabled = true
min_messages = 0
min_body_chars = 0
strategies = ["summarized-turns"]

[summarized-turns]
max_turns = 4
summary = "model"
summary_model = "a-small-model"
"#;

/// The summaries that were made so far.
#[derive(Debug, Default)]
struct Known(HashMap<SummaryKey, Arc<str>>);

impl Summaries for Known {
    fn find(&self, key: &SummaryKey) -> Found {
        self.0
            .get(key)
            .map_or(Found::Missing, |text| Found::Ready(text.clone()))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::resolve(None, Some(POLICY), &[])?;
    let body = serde_json::to_vec(&conversation())?;
    let mut known = Known::default();

    // Nothing is known yet: the request goes out with an extract, and the outcome says what is missing.
    let request = Request {
        summaries: Some(&known),
        ..Request::default()
    };
    let wanted = prune(&body, &request, &policy).wanted;
    assert_eq!(wanted.len(), 1);
    for wanted in wanted {
        println!(
            "{}: {} characters to summarise",
            wanted.model,
            wanted.transcript.len()
        );
        let text = ask_model(&wanted.model, INSTRUCTIONS, &wanted.transcript);
        known.0.insert(wanted.key, text.into());
    }

    // From now on the same turns come out as the summary.
    let request = Request {
        summaries: Some(&known),
        ..Request::default()
    };
    let outcome = prune(&body, &request, &policy);
    assert!(outcome.wanted.is_empty());
    let sent = String::from_utf8_lossy(&outcome.body);
    assert!(sent.contains("The user asked many questions."), "{sent}");
    println!("{} bytes -> {}", body.len(), outcome.body.len());
    Ok(())
}

/// Here a request to a model would go out.
fn ask_model(_model: &str, _instructions: &str, transcript: &str) -> String {
    assert!(transcript.contains("Question 0"));
    "The user asked many questions.".to_owned()
}

fn conversation() -> serde_json::Value {
    let turn = |at: usize| {
        let (role, noun) = if at.is_multiple_of(2) {
            ("user", "Question")
        } else {
            ("assistant", "Answer")
        };
        json!({"role": role, "content": format!("{noun} {at}. {}", "More words. ".repeat(30))})
    };
    let messages: Vec<_> = (0..21).map(turn).collect();
    json!({"model": "gpt-5", "messages": messages})
}
