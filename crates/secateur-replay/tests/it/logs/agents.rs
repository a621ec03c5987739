//! What is read of the log of each agent.

use std::ffi::OsString;

use secateur_core::Dialect;
use secateur_replay::{Agent, LogFolders, ReadLimits, Role, Usage, find_file, read_log};
use serde_json::json;

use super::fixtures::{AT, claude_code, codex, gemini_cli, opencode, pi};
use super::{assert_session, folder, lines, read, write};

#[test]
fn a_log_of_claude_code_is_read_and_the_clients_own_messages_are_left_out() {
    let folder = folder();
    let path = folder.path().join("s1.jsonl");
    write(&path, &lines(&claude_code()));
    let sessions = read(Agent::ClaudeCode, &path);
    assert_eq!(sessions.len(), 1);
    assert_session(&sessions[0], Agent::ClaudeCode, "claude-opus-4-6");
    assert_eq!(sessions[0].messages.len(), 4, "one answer over two lines");
    assert_eq!(
        sessions[0].origin.as_ref().unwrap().project.as_deref(),
        Some("/w/shop")
    );
}

#[test]
fn writes_for_an_hour_are_distinguished() {
    let folder = folder();
    let path = folder.path().join("s1.jsonl");
    let mut log = claude_code();
    for line in [2, 3] {
        log[line]["message"]["usage"]["cache_creation"] =
            json!({ "ephemeral_1h_input_tokens": 200 });
    }
    write(&path, &lines(&log));
    let session = &read(Agent::ClaudeCode, &path)[0];
    let usage = session.answers[0].usage.unwrap();
    let expected = Usage {
        plain: 800,
        written_long: 200,
        output: 20,
        ..Usage::default()
    };
    assert_eq!(usage, expected);
    assert!(session.has_long_cache);
    let body = String::from_utf8(session.body(1)).unwrap();
    assert!(body.contains(r#""ttl":"1h""#), "{body}");
}

#[test]
fn a_log_of_codex_is_read_and_usage_counts_once() {
    let folder = folder();
    let path = folder.path().join("rollout-1.jsonl");
    write(&path, &lines(&codex()));
    let sessions = read(Agent::Codex, &path);
    assert_eq!(sessions.len(), 1);
    assert_session(&sessions[0], Agent::Codex, "gpt-5.5");
    assert_eq!(sessions[0].dialect, Dialect::OpenaiChat);
    let roles: Vec<Role> = sessions[0].messages.iter().map(|m| m.role).collect();
    let expected = [
        Role::System,
        Role::User,
        Role::Assistant,
        Role::Tool,
        Role::Assistant,
    ];
    assert_eq!(roles, expected);
}

#[test]
fn a_compaction_of_codex_starts_a_context_in_which_history_is_not_billed_again() {
    let folder = folder();
    let path = folder.path().join("rollout-1.jsonl");
    let mut log = codex();
    let item = |role: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "text": text }] });
    log.push(json!({ "timestamp": AT[3], "type": "compacted", "payload": { "message": "", "replacement_history": [
        item("user", "list them"), item("assistant", "It was listed."), item("user", "again")] } }));
    log.push(json!({ "timestamp": AT[3], "type": "response_item", "payload": item("assistant", "Three still.") }));
    write(&path, &lines(&log));
    let sessions = read(Agent::Codex, &path);
    assert_eq!(sessions.len(), 2);
    let history: Vec<bool> = sessions[1].answers.iter().map(|a| a.is_history).collect();
    assert_eq!(history, [true, false]);
}

#[test]
fn a_chat_of_gemini_cli_is_read_in_lines_and_as_a_document() {
    let folder = folder();
    let path = folder.path().join("chats/session-1.jsonl");
    write(&path, &lines(&gemini_cli()));
    let sessions = read(Agent::GeminiCli, &path);
    assert_eq!(sessions.len(), 1);
    assert_session(&sessions[0], Agent::GeminiCli, "gemini-2.5-pro");

    let log = gemini_cli();
    let document =
        json!({ "sessionId": "s1", "projectHash": "h", "messages": [log[1], log[4], log[6]] });
    let path = folder.path().join("chats/session-2.json");
    write(&path, &format!("{document:#}"));
    let sessions = read(Agent::GeminiCli, &path);
    assert_session(&sessions[0], Agent::GeminiCli, "gemini-2.5-pro");
    assert_eq!(
        find_file(&path, None).unwrap().sources[0].agent,
        Agent::GeminiCli
    );
}

#[test]
fn a_resumed_chat_of_gemini_cli_is_a_context_with_history() {
    let folder = folder();
    let path = folder.path().join("chats/session-1.jsonl");
    let mut log = gemini_cli();
    log.push(json!({ "$set": { "messages": [
        { "id": "x1", "timestamp": AT[3], "type": "user", "content": [{ "text": "list them" }] },
        { "id": "x2", "timestamp": AT[3], "type": "gemini", "content": [{ "text": "I look." },
            { "functionCall": { "id": "c1", "name": "run_shell_command", "args": {} } }] },
        { "id": "x3", "timestamp": AT[3], "type": "user", "content": [
            { "functionResponse": { "id": "c1", "response": { "output": "masked" } } }] },
        { "id": "x4", "timestamp": AT[3], "type": "gemini", "content": [{ "text": "Three." }] }] } }));
    log.push(
        json!({ "id": "u3", "timestamp": AT[3], "type": "user", "content": [{ "text": "again" }] }),
    );
    log.push(json!({ "id": "g3", "timestamp": AT[3], "type": "gemini", "content": "Three.", "model": "gemini-2.5-pro",
        "tokens": { "input": 1200, "cached": 100, "output": 1 } }));
    write(&path, &lines(&log));
    let sessions = read(Agent::GeminiCli, &path);
    assert_eq!(sessions.len(), 2);
    assert_session(&sessions[0], Agent::GeminiCli, "gemini-2.5-pro");
    let history: Vec<bool> = sessions[1].answers.iter().map(|a| a.is_history).collect();
    assert_eq!(history, [true, true, false]);
    assert_eq!(
        sessions[1].cold,
        [sessions[1].answers[2].message],
        "little was read"
    );
}

#[test]
fn a_session_of_pi_is_read_and_a_branch_shares_what_was_billed() {
    let folder = folder();
    let path = folder.path().join("s1.jsonl");
    write(&path, &lines(&pi()));
    let sessions = read(Agent::Pi, &path);
    assert_eq!(sessions.len(), 1);
    assert_session(&sessions[0], Agent::Pi, "claude-opus-4-6");

    let mut log = pi();
    let mut other = log[4].clone();
    (other["id"], other["message"]["content"][0]["text"]) = ("e".into(), "Four.".into());
    log.push(other);
    write(&path, &lines(&log));
    let sessions = read(Agent::Pi, &path);
    assert_eq!(sessions.len(), 2);
    let keys =
        |session: usize| -> Vec<_> { sessions[session].answers.iter().map(|a| a.key).collect() };
    assert_eq!(keys(0)[0], keys(1)[0], "the first answer is the same one");
    assert_ne!(keys(0)[1], keys(1)[1]);
}

#[test]
fn sessions_of_opencode_are_read_from_files_and_from_its_database() {
    let folder = folder();
    let data = folder.path().join("opencode");
    let session = data.join("storage/session/p/s1.json");
    write(
        &session,
        &json!({ "id": "s1", "directory": "/w/shop" }).to_string(),
    );
    let database = data.join("opencode.db");
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE session (id TEXT, directory TEXT, time_created INTEGER, time_updated INTEGER);
             CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
             CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);
             INSERT INTO session VALUES ('s1', '/w/shop', 1, 2), ('old', '/w/shop', 0, 1);",
        )
        .unwrap();
    for (number, (message, parts)) in opencode().iter().enumerate() {
        let id = format!("m{number}");
        write(
            &data.join(format!("storage/message/s1/{id}.json")),
            &message.to_string(),
        );
        let at = i64::try_from(number).unwrap();
        let row = (&id, "s1", at, message.to_string());
        connection
            .execute("INSERT INTO message VALUES (?1, ?2, ?3, ?4)", row)
            .unwrap();
        for (at, part) in parts.iter().enumerate() {
            let part_id = format!("p{at}");
            write(
                &data.join(format!("storage/part/{id}/{part_id}.json")),
                &part.to_string(),
            );
            let row = (&part_id, &id, "s1", part.to_string());
            connection
                .execute("INSERT INTO part VALUES (?1, ?2, ?3, ?4)", row)
                .unwrap();
        }
    }
    let home: OsString = folder.path().into();
    let folders = LogFolders::of(|name| (name == "XDG_DATA_HOME").then(|| home.clone()));
    let found = folders.find(None);
    assert_eq!(found.unreadable, []);
    let rows: Vec<Option<&str>> = found.sources.iter().map(|s| s.row.as_deref()).collect();
    assert_eq!(rows, [Some("old"), Some("s1"), None]);
    let mut keys = Vec::new();
    for source in &found.sources[1..] {
        let loaded = read_log(source, &ReadLimits::default()).unwrap();
        assert_session(&loaded.sessions[0], Agent::Opencode, "claude-opus-4-6");
        keys.push(loaded.sessions[0].answers[0].key);
    }
    assert_eq!(keys[0], keys[1], "a session in both is billed once");
    let recent: Vec<_> = folders
        .find(Some(2))
        .sources
        .into_iter()
        .filter_map(|s| s.row)
        .collect();
    assert_eq!(recent, ["s1"]);
}

#[test]
fn a_pause_longer_than_the_caches_life_makes_a_request_cold() {
    let folder = folder();
    let path = folder.path().join("s1.jsonl");
    let mut log = pi();
    log[4]["timestamp"] = "2026-11-02T09:05:06Z".into();
    log[4]["message"]["usage"] = json!({ "input": 1100, "output": 20 });
    write(&path, &lines(&log));
    let session = &read(Agent::Pi, &path)[0];
    assert_eq!(session.cold, [3], "301 seconds, and no reads in the log");
    log[4]["timestamp"] = "2026-11-02T09:05:04Z".into();
    write(&path, &lines(&log));
    assert!(read(Agent::Pi, &path)[0].cold.is_empty());
}
