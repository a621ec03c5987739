//! Logs that are broken, too large, or of a newer version.

use secateur_replay::{Agent, Loaded, ReadLimits, find_file, read_log};
use serde_json::{Value, json};

use super::fixtures::{claude_code, codex, gemini_cli, pi};
use super::{assert_session, folder, lines, write};

#[test]
fn broken_and_half_written_lines_are_named_and_the_others_are_read() {
    let folder = folder();
    let path = folder.path().join("s1.jsonl");
    let mut text = lines(&claude_code());
    text.insert_str(0, "\0\0\0\n{\"type\":7}\n[1,2]\n");
    text.push_str(r#"{"type":"assistant","message":{"role":"assist"#);
    write(&path, &text);
    let source = find_file(&path, None).unwrap().sources.remove(0);
    let loaded = read_log(&source, &ReadLimits::default()).unwrap();
    assert_session(&loaded.sessions[0], Agent::ClaudeCode, "claude-opus-4-6");
    let places: Vec<&str> = loaded
        .unreadable
        .iter()
        .map(|row| row.place.as_str())
        .collect();
    assert_eq!(
        places,
        ["s1.jsonl:1", "s1.jsonl:2", "s1.jsonl:3", "s1.jsonl:11"]
    );
}

#[test]
fn a_log_that_is_too_large_is_read_in_part_and_named() {
    let folder = folder();
    let path = folder.path().join("s1.jsonl");
    write(&path, &lines(&claude_code()));
    let source = find_file(&path, None).unwrap().sources.remove(0);
    let limits = ReadLimits {
        max_message_bytes: 300,
        ..ReadLimits::default()
    };
    let loaded = read_log(&source, &limits).unwrap();
    assert_eq!(loaded.cut_short, ["s1.jsonl"]);
    assert_eq!(loaded.sessions[0].boundaries().count(), 1);
}

fn loaded(log: &[Value]) -> Loaded {
    let folder = folder();
    let path = folder.path().join("s1.jsonl");
    write(&path, &lines(log));
    let source = find_file(&path, None).unwrap().sources.remove(0);
    read_log(&source, &ReadLimits::default()).unwrap()
}

#[test]
fn lines_of_a_newer_version_are_named_and_the_others_are_read() {
    let message = json!({ "role": "assistant", "content": [] });
    let item = json!({ "type": "telepathy", "text": "hm" });
    for (agent, model, mut log, newer) in [
        (
            Agent::ClaudeCode,
            "claude-opus-4-6",
            claude_code(),
            json!({ "type": "telepathy", "message": message }),
        ),
        (
            Agent::Codex,
            "gpt-5.5",
            codex(),
            json!({ "type": "response_item", "payload": item }),
        ),
        (
            Agent::GeminiCli,
            "gemini-2.5-pro",
            gemini_cli(),
            json!({ "type": "telepathy", "content": "hm" }),
        ),
        (
            Agent::Pi,
            "claude-opus-4-6",
            pi(),
            json!({ "type": "telepathy", "id": "x", "parentId": "d", "message": message }),
        ),
    ] {
        log.push(newer);
        let loaded = loaded(&log);
        assert_session(&loaded.sessions[0], agent, model);
        let rows = &loaded.unreadable;
        assert_eq!(rows.len(), 1, "{agent:?}");
        assert_eq!(rows[0].place, format!("s1.jsonl:{}", log.len()));
        assert!(
            rows[0].reason.contains("`telepathy`") && rows[0].reason.contains("newer version"),
            "{}",
            rows[0].reason
        );
    }
}

#[test]
fn events_that_were_never_sent_are_not_named() {
    let mut log = claude_code();
    log.push(json!({ "type": "last-prompt", "sessionId": "s1" }));
    log.push(json!({ "type": "attachment", "message": "text" }));
    assert_eq!(loaded(&log).unreadable, []);
}

#[test]
fn counts_out_of_any_range_do_not_overflow() {
    let most = u64::MAX;
    let mut log = codex();
    log[8]["payload"]["info"]["last_token_usage"] = json!({ "input_tokens": most,
        "cached_input_tokens": most, "cache_write_input_tokens": most, "output_tokens": most });
    let usage = loaded(&log).sessions[0].answers[0].usage.unwrap();
    assert_eq!((usage.plain, usage.input()), (0, most));
    let mut log = gemini_cli();
    log[4]["tokens"] = json!({ "input": most, "output": most, "thoughts": most, "cached": 1 });
    let usage = loaded(&log).sessions[0].answers[0].usage.unwrap();
    assert_eq!((usage.plain, usage.output), (most - 1, most));
}
