//! Reading sessions: rows, documents and logs.

use secateur_replay::{PartKind, Role, read_bytes};

#[test]
fn reads_anthropic_rows_and_names_the_unreadable_ones() {
    let rows = concat!(
        r#"{"id":"a","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/x"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}]},{"role":"assistant","content":"done"}]}"#,
        "\n",
        r#"{"id":"b"}"#,
        "\nnot json\n",
        r#"{"id":"c","messages":[{"role":"user","content":"hi"}]}"#,
        "\n"
    );
    let loaded = read_bytes("rows.jsonl", rows.as_bytes());
    assert_eq!(loaded.sessions.len(), 1);
    let session = &loaded.sessions[0];
    assert_eq!(session.boundaries().collect::<Vec<_>>(), [1, 3]);
    let result = &session.messages[2].parts[0];
    assert_eq!(
        (result.kind, &*result.text),
        (PartKind::ToolResult, "one\ntwo")
    );
    assert_eq!(result.call.as_ref().map(|c| c.name.as_str()), Some("Read"));
    let places: Vec<&str> = loaded.unreadable.iter().map(|u| u.place.as_str()).collect();
    assert_eq!(places, ["rows.jsonl:2", "rows.jsonl:3", "rows.jsonl:4"]);
}

#[test]
fn a_body_holds_the_recorded_bytes_of_its_messages() {
    let row = r#"{"messages": [{"role": "user",  "content": "caf\u00e9"}, {"role":"assistant","content":"x"}]}"#;
    let loaded = read_bytes("one.json", row.as_bytes());
    let body = String::from_utf8(loaded.sessions[0].body(1)).unwrap();
    let marked = r#"[{"type":"text","cache_control":{"type":"ephemeral"},"text":"caf\u00e9"}]"#;
    let message = format!(r#"{{"role": "user",  "content": {marked}}}"#);
    assert!(
        body.ends_with(&format!(r#""messages":[{message}]}}"#)),
        "{body}"
    );
}

#[test]
fn the_client_marks_its_instructions_and_its_last_message_only() {
    let row = r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},
        {"role":"user","content":[{"type":"text","text":"one"}, {"type":"text", "text":"two"}]},{"role":"assistant","content":"x"}]}"#;
    let loaded = read_bytes("one.json", row.as_bytes());
    let body = String::from_utf8(loaded.sessions[0].body(3)).unwrap();
    assert!(body.contains(r#"{"role":"user","content":"q"}"#), "{body}");
    let last = r#"[{"type":"text","text":"one"}, {"cache_control":{"type":"ephemeral"},"type":"text", "text":"two"}]"#;
    assert!(body.contains(last), "{body}");
    assert_eq!(body.matches("cache_control").count(), 2);
    let openai = r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},{"role":"assistant","content":"x"}]}"#;
    let loaded = read_bytes("one.json", openai.as_bytes());
    let body = String::from_utf8(loaded.sessions[0].body(2)).unwrap();
    assert!(!body.contains("cache_control"), "{body}");
}

#[test]
fn reads_openai_calls_and_results() {
    let row = r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"k\":1}"}}]},{"role":"tool","tool_call_id":"c1","content":"found"},{"role":"assistant","content":"ok"}]}"#;
    let loaded = read_bytes("chat.jsonl", row.as_bytes());
    let session = &loaded.sessions[0];
    assert_eq!(session.boundaries().collect::<Vec<_>>(), [2, 4]);
    assert_eq!(session.messages[3].role, Role::Tool);
    assert_eq!(
        session.messages[3].parts[0]
            .call
            .as_ref()
            .map(|c| c.name.as_str()),
        Some("look")
    );
}

#[test]
fn a_pretty_printed_document_is_one_session() {
    let text = "{\n \"messages\": [\n  {\"role\": \"user\", \"content\": \"q\"},\n  {\"role\": \"assistant\", \"content\": \"a\"}\n ]\n}\n";
    assert_eq!(read_bytes("p.json", text.as_bytes()).sessions.len(), 1);
}

#[test]
fn a_log_joins_the_lines_of_one_answer_and_separates_sidechains_and_compactions() {
    let log = [
        r#"{"type":"summary","summary":"s","leafUuid":"u0"}"#,
        r#"{"type":"user","uuid":"u1","sessionId":"s","message":{"role":"user","content":"do it"}}"#,
        r#"{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s","message":{"id":"m1","role":"assistant","usage":{"input_tokens":3,"cache_creation_input_tokens":1000,"cache_read_input_tokens":500},"content":[{"type":"tool_use","id":"t1","name":"Read","input":{}}]}}"#,
        r#"{"type":"user","uuid":"r1","parentUuid":"a1","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"}]}}"#,
        r#"{"type":"assistant","uuid":"a2","parentUuid":"a1","sessionId":"s","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t2","name":"Read","input":{}}]}}"#,
        r#"{"type":"user","uuid":"r2","parentUuid":"a2","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"two"}]}}"#,
        r#"{"type":"user","uuid":"x1","isSidechain":true,"agentId":"ag","sessionId":"s","message":{"role":"user","content":"sub task"}}"#,
        r#"{"type":"assistant","uuid":"x2","isSidechain":true,"agentId":"ag","sessionId":"s","message":{"id":"m9","role":"assistant","content":[{"type":"text","text":"sub answer"}]}}"#,
        r#"{"type":"assistant","uuid":"a3","sessionId":"s","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"done"}]}}"#,
        r#"{"type":"system","subtype":"compact_boundary","uuid":"c1","sessionId":"s"}"#,
        r#"{"type":"user","uuid":"u2","isCompactSummary":true,"sessionId":"s","message":{"role":"user","content":"continued"}}"#,
        r#"{"type":"assistant","uuid":"a4","sessionId":"s","message":{"id":"m3","role":"assistant","content":[{"type":"text","text":"going on"}]}}"#,
        "{broken",
    ]
    .join("\n");
    let loaded = read_bytes("log.jsonl", log.as_bytes());
    let ids: Vec<&str> = loaded.sessions.iter().map(|s| s.id.as_str()).collect();
    assert_eq!(ids, ["log.jsonl#ag", "log.jsonl#main", "log.jsonl#main.1"]);
    let main = &loaded.sessions[1];
    assert_eq!(main.messages.len(), 4);
    assert!((main.fixed_tokens - (1503.0 - 5.0 / 2.6)).abs() < 1e-9);
    assert_eq!(main.messages[1].parts.len(), 2);
    assert_eq!(main.messages[2].parts.len(), 2);
    assert_eq!(loaded.unreadable.len(), 1);
    assert_eq!(loaded.unreadable[0].place, "log.jsonl:13");
}
