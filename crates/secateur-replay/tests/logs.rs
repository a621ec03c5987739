//! Logs of each agent, in small files made here: two requests, one call with its result, usage of both.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use secateur_core::Dialect;
use secateur_replay::{
    Agent, LogFolders, PartKind, ReadLimits, Role, Session, Source, Usage, find_file, find_in,
    read_log,
};
use serde_json::{Value, json};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

fn read(agent: Agent, path: &Path) -> Vec<Session> {
    let source = Source {
        agent,
        path: path.to_owned(),
        row: None,
        bytes: 0,
    };
    let loaded = read_log(&source, &ReadLimits::default()).unwrap();
    assert_eq!(loaded.unreadable, []);
    loaded.sessions
}

/// What every fixture holds, whatever its form.
fn assert_session(session: &Session, agent: Agent, model: &str) {
    let origin = session.origin.as_ref().unwrap();
    assert_eq!((origin.agent, origin.session.as_str()), (agent, "s1"));
    assert_eq!(session.model.as_deref(), Some(model));
    assert_eq!(session.boundaries().count(), 2, "{session:?}");
    let result = session.messages.iter().flat_map(|m| &m.parts);
    let result = result.filter(|part| part.kind == PartKind::ToolResult);
    let results: Vec<(&str, &str)> = result
        .map(|part| (part.call.as_ref().unwrap().name.as_str(), &*part.text))
        .collect();
    assert_eq!(results.len(), 1);
    assert!(results[0].1.contains("three files"), "{results:?}");
    let times: Vec<Option<i64>> = session.answers.iter().map(|answer| answer.at_ms).collect();
    assert_eq!(times, [Some(1_793_610_005_000), Some(1_793_610_010_000)]);
    let inputs: Vec<u64> = session
        .answers
        .iter()
        .map(|a| a.usage.unwrap().input())
        .collect();
    assert_eq!(inputs, [1000, 1100]);
    let last = session.answers[1].usage.unwrap();
    assert_eq!((last.read, last.output), (900, 20));
    assert!(session.fixed_tokens > 900.0 && session.fixed_tokens < 1000.0);
    assert!(session.cold.is_empty());
}

const AT: [&str; 4] = [
    "2026-11-02T09:00:00.000Z",
    "2026-11-02T09:00:05.000Z",
    "2026-11-02T09:00:06.000Z",
    "2026-11-02T09:00:10.000Z",
];

fn claude_code() -> Vec<Value> {
    let event = |kind: &str, at: usize, message: Value| {
        json!({ "type": kind, "uuid": format!("u{at}"), "sessionId": "s1", "cwd": "/w/shop",
            "timestamp": AT[at], "requestId": format!("r{at}"), "message": message })
    };
    let usage = |plain: u64, read: u64| {
        json!({ "input_tokens": plain, "cache_creation_input_tokens": 200,
            "cache_read_input_tokens": read, "output_tokens": 20 })
    };
    vec![
        json!({ "type": "mode", "sessionId": "s1" }),
        event("user", 0, json!({ "role": "user", "content": "list them" })),
        event(
            "assistant",
            1,
            json!({ "role": "assistant", "id": "m1", "model": "claude-opus-4-6", "usage": usage(800, 0),
            "content": [{ "type": "text", "text": "I look." }] }),
        ),
        event(
            "assistant",
            1,
            json!({ "role": "assistant", "id": "m1", "model": "claude-opus-4-6", "usage": usage(800, 0),
            "content": [{ "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "ls" } }] }),
        ),
        event(
            "user",
            2,
            json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "t1", "content": "three files" }] }),
        ),
        event(
            "assistant",
            3,
            json!({ "role": "assistant", "id": "m2", "model": "claude-opus-4-6", "usage": usage(0, 900),
            "content": [{ "type": "text", "text": "Three." }] }),
        ),
        event(
            "assistant",
            3,
            json!({ "role": "assistant", "id": "m3", "model": "<synthetic>",
            "content": [{ "type": "text", "text": "API Error" }] }),
        ),
    ]
}

fn codex() -> Vec<Value> {
    let event = |kind: &str, at: usize, payload: Value| json!({ "timestamp": AT[at], "type": kind, "payload": payload });
    let usage = |input: u64, cached: u64| json!({ "input_tokens": input, "cached_input_tokens": cached, "output_tokens": 20 });
    let count = |at: usize, input: u64, cached: u64| {
        event(
            "event_msg",
            at,
            json!({ "type": "token_count",
            "info": { "last_token_usage": usage(input, cached) } }),
        )
    };
    vec![
        event("session_meta", 0, json!({ "id": "s1", "cwd": "/w/shop" })),
        event("turn_context", 0, json!({ "model": "gpt-5.5" })),
        event(
            "response_item",
            0,
            json!({ "type": "message", "role": "developer",
            "content": [{ "type": "input_text", "text": "rules" }] }),
        ),
        event(
            "response_item",
            0,
            json!({ "type": "message", "role": "user",
            "content": [{ "type": "input_text", "text": "list them" }] }),
        ),
        event(
            "response_item",
            1,
            json!({ "type": "reasoning", "summary": [] }),
        ),
        event(
            "response_item",
            1,
            json!({ "type": "message", "role": "assistant",
            "content": [{ "type": "output_text", "text": "I look." }] }),
        ),
        event(
            "response_item",
            1,
            json!({ "type": "function_call", "name": "exec_command", "call_id": "c1",
            "arguments": "{\"cmd\":\"ls\"}" }),
        ),
        event(
            "response_item",
            2,
            json!({ "type": "function_call_output", "call_id": "c1",
            "output": "exit 0\nthree files" }),
        ),
        count(2, 1000, 0),
        // The same again, because a limit changed.
        count(2, 1000, 0),
        event(
            "response_item",
            3,
            json!({ "type": "message", "role": "assistant",
            "content": [{ "type": "output_text", "text": "Three." }] }),
        ),
        count(3, 1100, 900),
    ]
}

fn gemini_cli() -> Vec<Value> {
    let call = json!({ "id": "c1", "name": "run_shell_command", "args": { "command": "ls" }, "status": "success",
        "result": [{ "functionResponse": { "id": "c1", "response": { "output": "three files" } } }] });
    let answer = json!({ "id": "g1", "timestamp": AT[1], "type": "gemini", "content": "I look.", "model": "gemini-2.5-pro",
        "tokens": { "input": 1000, "cached": 0, "output": 15, "thoughts": 5 } });
    let mut called = answer.clone();
    called["toolCalls"] = json!([call]);
    vec![
        json!({ "sessionId": "s1", "projectHash": "h", "startTime": AT[0], "kind": "main" }),
        json!({ "id": "u1", "timestamp": AT[0], "type": "user", "content": [{ "text": "list them" }] }),
        answer,
        json!({ "$set": { "lastUpdated": AT[1] } }),
        called,
        json!({ "id": "u2", "timestamp": AT[2], "type": "user", "content": [
            { "functionResponse": { "id": "c1", "response": { "output": "three files" } } }] }),
        json!({ "id": "g2", "timestamp": AT[3], "type": "gemini", "content": "Three.", "model": "gemini-2.5-pro",
            "tokens": { "input": 1100, "cached": 900, "output": 15, "thoughts": 5 } }),
    ]
}

fn pi() -> Vec<Value> {
    let entry = |id: &str, parent: Value, at: usize, message: Value| json!({ "type": "message", "id": id, "parentId": parent, "timestamp": AT[at], "message": message });
    let usage = |input: u64, read: u64| json!({ "input": input, "output": 20, "cacheRead": read, "cacheWrite": 0 });
    vec![
        json!({ "type": "session", "version": 3, "id": "s1", "timestamp": AT[0], "cwd": "/w/shop" }),
        entry(
            "a",
            Value::Null,
            0,
            json!({ "role": "user", "content": [{ "type": "text", "text": "list them" }] }),
        ),
        entry(
            "b",
            "a".into(),
            1,
            json!({ "role": "assistant", "model": "claude-opus-4-6", "usage": usage(1000, 0), "content": [
            { "type": "thinking", "thinking": "hm", "thinkingSignature": "s" },
            { "type": "toolCall", "id": "c1", "name": "bash", "arguments": { "command": "ls" } }] }),
        ),
        entry(
            "c",
            "b".into(),
            2,
            json!({ "role": "toolResult", "toolCallId": "c1", "isError": false,
            "content": [{ "type": "text", "text": "three files" }] }),
        ),
        entry(
            "d",
            "c".into(),
            3,
            json!({ "role": "assistant", "model": "claude-opus-4-6", "usage": usage(200, 900),
            "content": [{ "type": "text", "text": "Three." }] }),
        ),
    ]
}

/// Messages with their parts.
fn opencode() -> Vec<(Value, Vec<Value>)> {
    let assistant = |at: i64| json!({ "role": "assistant", "modelID": "claude-opus-4-6", "providerID": "anthropic", "time": { "created": at } });
    let finish = |write: u64, read: u64| {
        json!({ "type": "step-finish", "tokens": { "input": 0, "output": 12, "reasoning": 8,
            "cache": { "write": write, "read": read } } })
    };
    vec![
        (
            json!({ "role": "user", "time": { "created": 1_793_610_000_000_i64 } }),
            vec![json!({ "type": "text", "text": "list them" })],
        ),
        (
            assistant(1_793_610_005_000),
            vec![
                json!({ "type": "step-start" }),
                json!({ "type": "tool", "tool": "bash", "callID": "c1", "state": { "status": "completed",
                "input": { "command": "ls" }, "output": "three files" } }),
                finish(1000, 0),
            ],
        ),
        (
            assistant(1_793_610_010_000),
            vec![
                json!({ "type": "step-start" }),
                json!({ "type": "text", "text": "Three." }),
                finish(200, 900),
            ],
        ),
    ]
}

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
fn writes_for_an_hour_are_told_apart() {
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

#[test]
fn folders_follow_the_agents_own_variables() {
    let folders = |pairs: &[(&str, &str)]| -> Vec<(Agent, PathBuf)> {
        let find = |name: &str| {
            let pair = pairs.iter().find(|(key, _)| *key == name);
            pair.map(|(_, value)| OsString::from(value))
        };
        LogFolders::of(find).folders().to_vec()
    };
    let usual = folders(&[("HOME", "/h")]);
    for (agent, path) in [
        (Agent::ClaudeCode, "/h/.claude/projects"),
        (Agent::ClaudeCode, "/h/.config/claude/projects"),
        (Agent::Codex, "/h/.codex/sessions"),
        (Agent::Opencode, "/h/.local/share/opencode"),
        (Agent::GeminiCli, "/h/.gemini/tmp"),
        (Agent::Pi, "/h/.pi/agent/sessions"),
    ] {
        assert!(usual.contains(&(agent, path.into())), "{path}");
    }
    let own = folders(&[
        ("USERPROFILE", "/u"),
        ("CLAUDE_CONFIG_DIR", "/a, /b"),
        ("CODEX_HOME", "/c"),
        ("XDG_DATA_HOME", "/d"),
        ("GEMINI_CLI_HOME", "/g"),
        ("PI_CODING_AGENT_DIR", "/p"),
    ]);
    let paths: Vec<&str> = own.iter().map(|(_, path)| path.to_str().unwrap()).collect();
    let expected = [
        "/a/projects",
        "/b/projects",
        "/c/sessions",
        "/c/archived_sessions",
        "/d/opencode",
        "/g/.gemini/tmp",
        "/p/sessions",
    ];
    assert_eq!(paths, expected);
    assert_eq!(folders(&[]), []);
}

#[test]
fn a_folder_is_searched_for_logs_of_all_agents_and_old_ones_are_not_opened() {
    let folder = folder();
    for (name, log) in [
        ("a/one.jsonl", claude_code()),
        ("b/rollout.jsonl", codex()),
        ("c/chat.jsonl", gemini_cli()),
        ("d/e/f.jsonl", pi()),
        ("history.jsonl", vec![json!({ "display": "hi" })]),
        ("rows.jsonl", vec![json!({ "messages": [] })]),
    ] {
        write(&folder.path().join(name), &lines(&log));
    }
    let found = find_in(folder.path(), None);
    let agents: Vec<Agent> = found.sources.iter().map(|source| source.agent).collect();
    assert_eq!(
        agents,
        [Agent::ClaudeCode, Agent::Codex, Agent::GeminiCli, Agent::Pi]
    );
    assert_eq!(found.records, [folder.path().join("rows.jsonl")]);
    let far = find_in(folder.path(), Some(i64::MAX));
    assert_eq!((far.sources.len(), far.older), (0, 6));
}
