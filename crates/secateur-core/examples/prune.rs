//! Prunes one request: the agent read the same file twice, and the second read becomes a note.
//!
//! `cargo run -p secateur-core --example prune`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use secateur_core::report::{Cut, Verdict};
use secateur_core::{Policy, Request, prune};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::preset("steady")?;
    let body = serde_json::to_vec(&conversation())?;

    // Never fails: on any doubt `outcome.body` is the input, and the report says why.
    let outcome = prune(&body, &Request::default(), &policy);

    let report = &outcome.report;
    assert_eq!(report.verdict, Verdict::Pruned);
    assert!(report.after.chars < report.before.chars);
    println!(
        "{} characters -> {}",
        report.before.chars, report.after.chars
    );
    for cut in &report.cuts {
        println!(
            "message {:?}: {} ({})",
            cut.place.message,
            cut.why.describe(),
            cut.strategy
        );
    }
    let is_repeated = |cut: &&Cut| cut.strategy.0 == "repeated-lines";
    assert_eq!(report.cuts.iter().filter(is_repeated).count(), 1);

    // What is not cut goes out byte for byte.
    let cut_at = report.first_edit_at.ok_or("there is a cut")?;
    assert_eq!(outcome.body[..cut_at], body[..cut_at]);
    let sent = String::from_utf8_lossy(&outcome.body);
    assert!(sent.contains("unchanged since the earlier read of main.rs]"));
    Ok(())
}

fn conversation() -> Value {
    let source: String = (1..=80)
        .map(|line| format!("{line:>6}→    let value_{line} = compute({line});\n"))
        .collect();
    let read = |id: &str| {
        [
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "Read",
                "input": {"file_path": "src/main.rs"}}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id,
                "content": source}]}),
        ]
    };
    let [first_call, first_result] = read("toolu_1");
    let [second_call, second_result] = read("toolu_2");
    json!({
        "model": "claude-sonnet-4-5",
        "max_tokens": 1000,
        "messages": [
            {"role": "user", "content": "Find the bug in src/main.rs"},
            first_call, first_result, second_call, second_result
        ]
    })
}
