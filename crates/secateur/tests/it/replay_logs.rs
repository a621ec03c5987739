//! `secateur replay` on a home folder with the logs of several agents, made here.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

const STEPS: usize = 12;

fn home(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn output_of(step: usize) -> String {
    (0..300)
        .map(|line| format!("step {step}: unit_number_{line} is compiled and linked\n"))
        .collect()
}

fn time(step: usize) -> String {
    format!("2026-11-{:02}T10:{:02}:00.000Z", 2 + step / 8, step)
}

/// A Claude Code log whose usage grows with its messages.
fn claude_code(session: &str, model: &str) -> String {
    let event = |kind: &str, step: usize, message: Value| {
        json!({ "type": kind, "sessionId": session, "uuid": format!("{session}-{kind}-{step}"), "cwd": "/w/shop",
            "timestamp": time(step), "requestId": format!("{session}-{step}"), "message": message })
        .to_string()
    };
    let mut lines = vec![event(
        "user",
        0,
        json!({ "role": "user", "content": "make it build" }),
    )];
    for step in 0..STEPS {
        let id = format!("t{step}");
        let read = if step == 0 { 0 } else { 30_000 + 5_000 * step };
        let written = if step == 0 { 30_000 } else { 5_000 };
        lines.push(event("assistant", step, json!({ "role": "assistant", "id": format!("m{step}"), "model": model,
            "usage": { "input_tokens": 3, "cache_creation_input_tokens": written, "cache_read_input_tokens": read,
                "output_tokens": 100 },
            "content": [{ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": "make" } }] })));
        lines.push(event(
            "user",
            step,
            json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": output_of(step) }] }),
        ));
    }
    lines.join("\n") + "\n"
}

/// A codex log with one call.
fn codex(session: &str) -> String {
    let event = |kind: &str, payload: Value| {
        json!({ "timestamp": time(3), "type": kind, "payload": payload }).to_string()
    };
    let message = |role: &str, text: &str| {
        event(
            "response_item",
            json!({ "type": "message", "role": role, "content": [{ "text": text }] }),
        )
    };
    [
        event("session_meta", json!({ "id": session, "cwd": "/w/tool" })),
        event("turn_context", json!({ "model": "gpt-5.5" })),
        message("user", "hello"),
        message("assistant", "Hello."),
        event(
            "event_msg",
            json!({ "type": "token_count", "info": { "last_token_usage": {
            "input_tokens": 10_000, "cached_input_tokens": 2_000, "output_tokens": 1_000 } } }),
        ),
    ]
    .join("\n")
}

fn filled(name: &str) -> PathBuf {
    let home = home(name);
    write(
        &home.join(".claude/projects/p/one.jsonl"),
        &claude_code("one", "claude-opus-4-6"),
    );
    write(
        &home.join(".claude/projects/p/two.jsonl"),
        &claude_code("two", "claude-sonnet-4-5"),
    );
    // A copy of a session, as a fork leaves it: the same requests.
    write(
        &home.join(".claude/projects/p/zz-copy.jsonl"),
        &claude_code("one", "claude-opus-4-6"),
    );
    write(
        &home.join(".claude/projects/p/strange.jsonl"),
        &claude_code("three", "unknown-model"),
    );
    write(&home.join(".claude/projects/p/empty.jsonl"), "");
    write(
        &home.join(".claude/projects/p/newer.jsonl"),
        "{\"v\":9,\"kind\":\"event\"}\n\0\0\n",
    );
    write(
        &home.join(".codex/sessions/2026/11/02/rollout-x.jsonl"),
        &codex("four"),
    );
    home
}

fn run(home: &Path, arguments: &[&str]) -> Output {
    Command::new(crate::SECATEUR)
        .arg("replay")
        .args(arguments)
        .env_clear()
        .env("HOME", home)
        .output()
        .unwrap()
}

fn text(home: &Path, arguments: &[&str]) -> String {
    let output = run(home, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn json_of(home: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&text(home, arguments)).unwrap()
}

/// What was paid for one session, at the prices of its model per million.
fn paid(input: f64, write: f64, read: f64, output: f64) -> f64 {
    let later = (1..STEPS).map(|step| 5_000.0 * write + (30_000.0 + 5_000.0 * step as f64) * read);
    (30_000.0 * write + later.sum::<f64>() + STEPS as f64 * (3.0 * input + 100.0 * output)) / 1e6
}

#[test]
fn what_was_paid_is_the_billed_usage_and_copies_and_unknown_prices_are_named() {
    let home = filled("logs-paid");
    let found = json_of(&home, &["--since", "all", "--json"]);
    let spending = &found["spending"];
    let opus = paid(5.0, 6.25, 0.5, 25.0);
    let sonnet = paid(3.0, 3.75, 0.3, 15.0);
    let gpt = spending["by_agent"][1]["paid_usd"].as_f64().unwrap();
    let total = spending["total"]["paid_usd"].as_f64().unwrap();
    assert!((total - opus - sonnet - gpt).abs() < 1e-9, "{total}");
    assert!(gpt > 0.0);
    assert_eq!(spending["total"]["sessions"], 3);
    assert_eq!(spending["total"]["requests"], 2 * STEPS + 1);
    assert_eq!(spending["repeated_requests"], STEPS);
    assert_eq!(spending["unpriced"]["sessions"], 1);
    assert_eq!(spending["unpriced"]["models"]["unknown-model"], STEPS);
    assert_eq!(spending["by_agent"][0]["agent"], "Claude Code");
    assert_eq!(spending["by_day"][0]["day"], "2026-11-02");
    assert_eq!(spending["by_day"][1]["day"], "2026-11-03");
    let saved = spending["total"]["policies"][0]["saved_usd"]
        .as_f64()
        .unwrap();
    assert!(saved > 0.0 && saved < total, "{saved}");
    assert_eq!(found["logs_without_requests"], 2);
    assert_eq!(found["unreadable"].as_array().unwrap().len(), 2, "{found}");
    let of = |rows: &Value| -> f64 {
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| row["paid_usd"].as_f64().unwrap()).sum()
    };
    for rows in ["by_agent", "by_model", "by_day", "largest_savings"] {
        let missing = if rows == "largest_savings" { gpt } else { 0.0 };
        assert!(
            (of(&spending[rows]) + missing - total).abs() < 1e-9,
            "{rows}"
        );
    }
}

#[test]
fn totals_do_not_depend_on_the_number_of_threads() {
    let home = filled("logs-threads");
    let one = text(&home, &["--since", "all", "--json", "--threads", "1"]);
    for threads in ["2", "5"] {
        let other = text(&home, &["--since", "all", "--json", "--threads", threads]);
        assert_eq!(one, other, "{threads} threads");
    }
}

#[test]
fn the_text_leads_with_one_sentence_and_fits_80_columns() {
    let home = filled("logs-text");
    let shown = text(&home, &["--since", "2026-11-01"]);
    let first = shown.lines().next().unwrap();
    assert!(
        first.starts_with("Since 2026-11-01: 3 sessions, $1."),
        "{first}"
    );
    assert!(
        first.contains(". With `steady` you would have paid $"),
        "{first}"
    );
    for line in shown.lines().skip(1) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let titles = ["By agent", "By model", "By day (UTC)", "Largest savings"];
    let mut at = 0;
    for title in titles {
        at += shown[at..]
            .find(title)
            .unwrap_or_else(|| panic!("{title}: {shown}"));
    }
    for note in [
        "Estimate: system prompt and tool definitions are not in the logs.",
        "Counted once: 12 requests",
        "unknown-model (12)",
        "2 logs without a request.",
        "2 rows could not be read:\n  newer.jsonl:1: no `type`\n  newer.jsonl:2: not JSON",
    ] {
        assert!(shown.contains(note), "{note}: {shown}");
    }
    assert!(!shown.contains("ids"), "what is kept is not checked here");
}

#[test]
fn only_requests_since_then_count() {
    let home = filled("logs-since");
    let found = json_of(&home, &["--since", "2026-11-03", "--json"]);
    let spending = &found["spending"];
    assert_eq!(spending["by_day"].as_array().unwrap().len(), 1);
    assert_eq!(spending["total"]["requests"], 2 * (STEPS - 8));
}

#[test]
fn a_time_without_requests_says_so() {
    let home = filled("logs-later");
    let output = run(&home, &["--since", "1m"]);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains("no request in that time: try --since all"),
        "{errors}"
    );
}

#[test]
fn names_from_logs_cannot_steer_the_terminal_or_widen_the_tables() {
    let home = home("logs-names");
    let folder = format!("/w/{}\u{1b}[2J", "wide".repeat(40));
    let model = format!("claude-opus-4-6-{}", "9".repeat(60));
    let log = claude_code("se\u{1b}]0;x\u{7}ssion", &model).replace("/w/shop", &folder);
    let log = log.replace('\u{1b}', "\\u001b").replace('\u{7}', "\\u0007");
    write(&home.join(".claude/projects/p/a\u{1b}b.jsonl"), &log);
    write(
        &home.join(".claude/projects/p/broken\u{1b}.jsonl"),
        "broken\n",
    );
    let shown = text(&home, &["--since", "all"]);
    assert!(shown.contains("Largest savings"), "{shown}");
    assert!(shown.contains("⟨U+001B⟩"), "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{7}']), "{shown:?}");
    for line in shown.lines().skip(1) {
        assert!(line.chars().count() <= 80, "{line}\nin\n{shown}");
    }
}

#[test]
fn a_home_without_agents_says_where_it_looked() {
    let home = home("logs-none");
    let output = run(&home, &[]);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains("no logs of coding agents found"),
        "{errors}"
    );
    for place in [
        ".claude/projects",
        ".codex/sessions",
        "opencode",
        ".gemini/tmp",
        ".pi/agent/sessions",
    ] {
        assert!(errors.contains(place), "{place}: {errors}");
    }
}

#[test]
fn a_folder_and_a_file_are_replayed_too() {
    let home = filled("logs-folder");
    let folder = home.join(".codex");
    let found = json_of(&home, &["--json", folder.to_str().unwrap()]);
    assert_eq!(found["spending"]["total"]["sessions"], 1);
    assert!(found["policies"][0]["ids"].is_null());
    let file = home.join(".claude/projects/p/two.jsonl");
    let found = json_of(&home, &["--json", file.to_str().unwrap()]);
    assert_eq!(
        found["spending"]["by_model"][0]["model"],
        "claude-sonnet-4-5"
    );
    assert!(
        found["policies"][0]["ids"].is_number(),
        "files are also checked for what is kept"
    );
}

#[test]
fn the_page_has_the_sentence_the_days_and_the_tables() {
    let home = filled("logs-page");
    let page = home.join("report.html");
    let shown = text(&home, &["--since", "all", "--html", page.to_str().unwrap()]);
    let html = std::fs::read_to_string(&page).unwrap();
    let headline = shown.lines().next().unwrap();
    assert!(html.contains(headline), "{headline}");
    assert_eq!(
        html.matches("<rect class=\"paid\"").count(),
        2,
        "a bar for each day"
    );
    assert_eq!(
        html.matches("<svg").count(),
        2,
        "days, and one session over time"
    );
    assert!(html.contains("<h2>By model</h2>") && html.contains("claude-opus-4-6"));
    assert!(!html.contains("<script") && !html.contains("http"));
}
