//! A policy of one's own: a preset, a file that overrides some of it, and single settings.
//!
//! `cargo run -p secateur-core --example custom_policy`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use secateur_core::policy::template;
use secateur_core::{Policy, Request, prune};
use serde_json::json;

const FILE: &str = r#"
preset = "tessera"

[middle-turns]
keep_last_turns = 4

[models."own-model"]
window_tokens = 32000
input_usd = 0.5
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = ["m7.min_messages=5".to_owned()];
    let policy = Policy::resolve(None, Some(FILE), &settings)?;
    assert_eq!(policy.options.middle_turns.keep_last_turns, 4);
    assert_eq!(policy.m7.min_messages, 5);
    assert_eq!(policy.window_tokens(Some("own-model")), 32_000);

    let turn = |at: usize| {
        let role = if at.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        json!({"role": role, "content": format!("turn {at}")})
    };
    let messages: Vec<_> = (0..9).map(turn).collect();
    let body = serde_json::to_vec(&json!({"model": "own-model", "messages": messages}))?;
    let outcome = prune(&body, &Request::default(), &policy);
    println!("{}", String::from_utf8_lossy(&outcome.body));
    assert_eq!(
        outcome.report.turns_removed, 4,
        "the first turn and the last four stay"
    );

    // A typo is an error that says where it is and what was probably meant.
    let typo = FILE.replace("keep_last_turns", "keep_last_turn");
    let error = Policy::resolve(None, Some(&typo), &[])
        .err()
        .ok_or("a typo")?;
    println!("{error}");
    assert!(
        error
            .to_string()
            .contains("did you mean `keep_last_turns`?")
    );

    // Every key with its documentation, to start from.
    assert!(template().contains("keep_last_turns"));
    Ok(())
}
