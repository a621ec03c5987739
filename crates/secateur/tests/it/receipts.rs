//! Receipts as the command line shows them.
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn secateur(arguments: &[&str]) -> Output {
    Command::new(crate::SECATEUR)
        .args(arguments)
        .output()
        .unwrap()
}

/// A file with a coding session of 30 commands, at the point where the model is called again.
fn request(name: &str, model: &str) -> PathBuf {
    let mut messages = vec![json!({ "role": "user", "content": "make it build" })];
    for step in 0..30 {
        let id = format!("t{step}");
        let log: String = (0..150)
            .map(|line| format!("step {step} compiles unit number {line}\n"))
            .collect();
        messages.push(json!({ "role": "assistant", "content": [
            { "type": "tool_use", "id": id, "name": "Bash", "input": { "command": "make" } }] }));
        messages.push(json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": log }] }));
    }
    let body = json!({ "model": model, "max_tokens": 100, "messages": messages,
        "cache_control": { "type": "ephemeral" } });
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, body.to_string()).unwrap();
    path
}

fn receipt(arguments: &[&str]) -> Value {
    let output = secateur(arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["receipt"].clone()
}

#[test]
fn a_plan_has_a_receipt_as_json_and_as_a_table() {
    let path = request("plan.json", "claude-opus-4-6");
    let path = path.to_str().unwrap();
    let warm = receipt(&["plan", path, "--preset", "openclaw-aggressive", "--json"]);
    assert_eq!(
        (&warm["cache"], &warm["basis"]),
        (&json!("warm"), &json!("estimate"))
    );
    let number = |receipt: &Value, key: &str| receipt[key].as_f64().unwrap();
    assert!(
        number(&warm, "predicted_input_tokens_after")
            < 0.5 * number(&warm, "predicted_input_tokens_before")
    );
    assert!(number(&warm, "predicted_usd_with") > number(&warm, "predicted_next_usd_with"));
    assert!(number(&warm, "break_even_turns") > 0.0);
    assert!(number(&warm, "first_edit_at") > 0.0);
    assert_eq!(warm["prices"], "table");
    let cold = receipt(&[
        "plan",
        path,
        "--preset",
        "openclaw-aggressive",
        "--json",
        "--cache",
        "cold",
    ]);
    assert_eq!(cold["cache"], "cold");
    assert_eq!(number(&cold, "break_even_turns"), 0.0);
    assert!(number(&cold, "predicted_usd_without") > number(&warm, "predicted_usd_without"));
    let table = secateur(&["plan", path, "--preset", "openclaw-aggressive"]);
    let table = String::from_utf8(table.stdout).unwrap();
    for words in [
        "without the cut",
        "with it",
        "further requests",
        "warm cache",
        "list prices of 20",
    ] {
        assert!(table.contains(words), "{words}: {table}");
    }
}

#[test]
fn a_report_of_prune_holds_the_receipt() {
    let path = request("prune.json", "gpt-5");
    let report = path.with_extension("report.json");
    let output = secateur(&[
        "prune",
        path.to_str().unwrap(),
        "--quiet",
        "--preset",
        "openclaw-aggressive",
        "--report",
        report.to_str().unwrap(),
    ]);
    assert!(output.status.success());
    let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert_eq!(report["receipt"]["basis"], "exact");
    assert_eq!(
        report["receipt"]["predicted_input_tokens_after"],
        report["tokens"]["after"]
    );
    assert_eq!(report["receipt"]["first_edit_at"], report["first_edit_at"]);
}

#[test]
fn a_setting_may_name_a_model_with_dots_in_its_name() {
    let path = request("set.json", "gpt-5.1");
    let path = path.to_str().unwrap();
    let setting = "models.\"gpt-5.1\".input_usd=100";
    let receipt = receipt(&["plan", path, "--json", "--set", setting]);
    assert_eq!(receipt["prices"], "policy");
    let unquoted = secateur(&["plan", path, "--set", "models.gpt-5.1.input_usd=100"]);
    assert!(!unquoted.status.success());
}
