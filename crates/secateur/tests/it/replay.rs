//! `secateur replay` on sessions of every form, made here.
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

const STEPS: usize = 24;

fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn output_of(step: usize) -> String {
    (0..400)
        .map(|line| format!("step {step}: unit_number_{line} is compiled and linked\n"))
        .collect()
}

fn anthropic_messages() -> Vec<Value> {
    let mut messages = vec![json!({ "role": "user", "content": "make it build" })];
    for step in 0..STEPS {
        let id = format!("t{step}");
        messages.push(json!({ "role": "assistant", "content": [
            { "type": "text", "text": format!("unit_number_{step} next") },
            { "type": "tool_use", "id": id, "name": "Bash", "input": { "command": "make" } }] }));
        messages.push(json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": output_of(step) }] }));
    }
    messages.push(json!({ "role": "assistant", "content": "done" }));
    messages
}

fn openai_messages() -> Vec<Value> {
    let mut messages = vec![
        json!({ "role": "system", "content": "be brief" }),
        json!({ "role": "user", "content": "make it build" }),
    ];
    for step in 0..STEPS {
        let id = format!("c{step}");
        messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": id, "type": "function", "function": { "name": "shell", "arguments": "{\"cmd\":\"make\"}" } }] }));
        messages.push(json!({ "role": "tool", "tool_call_id": id, "content": output_of(step) }));
    }
    messages.push(json!({ "role": "assistant", "content": "done" }));
    messages
}

/// A Claude Code log: one line for each message.
fn log() -> String {
    let lines = anthropic_messages().into_iter().enumerate().map(|(at, message)| {
        let role = message["role"].clone();
        let message = match message["content"].as_str().map(str::to_owned) {
            Some(text) if role == "assistant" => {
                json!({ "role": role, "id": format!("m{at}"), "content": [{ "type": "text", "text": text }] })
            }
            _ if role == "assistant" => {
                json!({ "role": role, "id": format!("m{at}"), "content": message["content"],
                    "usage": { "input_tokens": 20_000 + at * 500 } })
            }
            _ => message,
        };
        json!({ "type": role, "uuid": format!("u{at}"), "sessionId": "s", "message": message }).to_string()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn secateur(arguments: &[&str], files: &[&Path]) -> Output {
    let output = Command::new(crate::SECATEUR)
        .arg("replay")
        .args(files)
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

fn replay(arguments: &[&str], files: &[&Path]) -> Value {
    serde_json::from_slice(&secateur(arguments, files).stdout).unwrap()
}

fn assert_pruned(found: &Value) {
    assert_eq!(found["sessions"], 1, "{found}");
    assert_eq!(found["requests"], STEPS + 1);
    let row = &found["policies"][0];
    let number = |key: &str| row[key].as_f64().unwrap();
    assert!(number("bill") < 1.0 && number("worst") <= 1.0, "{row}");
    assert!(number("tokens") < 1.0 && number("pruned") > 10.0);
    assert!(number("cache_read_share") > 0.3);
    assert_eq!(row["failed_open"], 0);
    let receipts = &row["receipts"];
    assert_eq!(receipts["requests"], STEPS + 1);
    assert!(
        receipts["predicted_input_tokens_after"].as_u64()
            < receipts["predicted_input_tokens_before"].as_u64()
    );
}

#[test]
fn sessions_in_anthropic_form_are_replayed() {
    let path = folder("anthropic").join("sessions.jsonl");
    let row = json!({ "id": "one", "messages": anthropic_messages() });
    std::fs::write(&path, format!("{row}\n")).unwrap();
    let found = replay(&["--json", "--model", "claude-opus-4-6"], &[&path]);
    assert_pruned(&found);
    let usd = |key: &str| found["policies"][0]["receipts"][key].as_f64().unwrap();
    assert!(usd("predicted_usd_with") < usd("predicted_usd_without"));
}

#[test]
fn sessions_in_openai_form_are_replayed() {
    let path = folder("openai").join("session.json");
    std::fs::write(&path, json!({ "messages": openai_messages() }).to_string()).unwrap();
    assert_pruned(&replay(&["--json"], &[&path]));
}

#[test]
fn claude_code_logs_are_replayed() {
    let path = folder("log").join("s.jsonl");
    std::fs::write(&path, log()).unwrap();
    assert_pruned(&replay(&["--json"], &[&path]));
}

#[test]
fn rows_that_cannot_be_read_are_counted_and_named() {
    let path = folder("broken").join("mixed.jsonl");
    let row = json!({ "id": "one", "messages": anthropic_messages() });
    std::fs::write(&path, format!("{row}\nnot json\n{{\"id\":\"none\"}}\n")).unwrap();
    let found = replay(&["--json"], &[&path]);
    let places: Vec<&str> = found["unreadable"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["place"].as_str().unwrap())
        .collect();
    assert_eq!(places, ["mixed.jsonl:2", "mixed.jsonl:3"]);
    let table = String::from_utf8(secateur(&[], &[&path]).stdout).unwrap();
    assert!(table.contains("2 rows could not be read") && table.contains("mixed.jsonl:2"));
}

#[test]
fn the_table_has_a_row_for_each_policy_and_the_order_of_threads_does_not_matter() {
    let path = folder("compare").join("sessions.jsonl");
    let rows: Vec<String> = (0..5)
        .map(|n| {
            json!({ "id": format!("s{n}"), "messages": anthropic_messages()[..20 + 6 * n] })
                .to_string()
        })
        .collect();
    std::fs::write(&path, rows.join("\n")).unwrap();
    let arguments = |threads| {
        [
            "--json",
            "--compare",
            "steady,opencode,tessera",
            "--threads",
            threads,
        ]
    };
    let one = replay(&arguments("1"), &[&path]);
    assert_eq!(one, replay(&arguments("3"), &[&path]));
    let names: Vec<&str> = one["policies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["policy"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["steady", "opencode", "tessera"]);
    let table =
        String::from_utf8(secateur(&["--compare", "steady,opencode"], &[&path]).stdout).unwrap();
    for head in [
        "bill",
        "worst",
        "ids",
        "lines",
        "cache reads",
        "rounds/session",
        "skips",
        "opencode",
    ] {
        assert!(table.contains(head), "{head}: {table}");
    }
}

#[test]
fn the_page_stands_alone_and_escapes_what_it_shows() {
    let folder = folder("page");
    let (path, page) = (folder.join("sessions.jsonl"), folder.join("report.html"));
    let evil = "<img src=x onerror=alert(1)>";
    let rows = [
        json!({ "id": "small", "messages": anthropic_messages()[..12] }),
        json!({ "id": evil, "messages": anthropic_messages() }),
    ];
    std::fs::write(&path, format!("{}\n{}\n<b>no row</b>\n", rows[0], rows[1])).unwrap();
    let page_name = page.to_str().unwrap();
    let arguments = [
        "--compare",
        "steady,openclaw-aggressive",
        "--html",
        page_name,
    ];
    secateur(&arguments, &[&path]);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
    assert!(!html.contains(evil) && html.contains("&lt;img src=x onerror=alert(1)&gt;"));
    for foreign in ["<script", "http:", "https:", "url(", "@import", "<link"] {
        assert!(!html.contains(foreign), "{foreign}");
    }
    assert!(html.contains("prefers-color-scheme: dark"));
    assert_eq!(html.matches("<svg").count(), 2);
    assert_eq!(
        html.matches("<circle class=\"dot\"").count(),
        2,
        "a point for each policy"
    );
    assert_eq!(html.matches("class=\"course\"").count(), 2);
    assert!(
        html.contains(&format!("{} requests</p>", STEPS + 1)),
        "the largest session"
    );
    assert!(html.contains("Rows that could not be read: 1"));

    let mut chosen = arguments.to_vec();
    chosen.extend(["--session", "small"]);
    secateur(&chosen, &[&path]);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("<p>small, "));
    let missing = Command::new(crate::SECATEUR)
        .args([
            "replay",
            path.to_str().unwrap(),
            "--html",
            page_name,
            "--session",
            "nobody",
        ])
        .output()
        .unwrap();
    assert!(!missing.status.success());
    assert!(String::from_utf8_lossy(&missing.stderr).contains("nobody"));
}

#[test]
fn a_compressed_file_is_read_like_a_plain_one() {
    use std::io::Write as _;
    let path = folder("gz").join("sessions.jsonl.gz");
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    let row = json!({ "id": "one", "messages": anthropic_messages() });
    writer.write_all(row.to_string().as_bytes()).unwrap();
    writer.finish().unwrap();
    assert_pruned(&replay(&["--json"], &[&path]));
}
