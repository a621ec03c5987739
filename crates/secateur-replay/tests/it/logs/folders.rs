//! Where logs are found.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;

use secateur_replay::{Agent, LogFolders, ReadLimits, find_in, read_log};
use serde_json::json;

use super::fixtures::{claude_code, codex, gemini_cli, pi};
use super::{assert_session, folder, lines, write};

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

#[test]
fn a_compressed_log_is_recognised_and_read() {
    let folder = folder();
    let path = folder.path().join("one.jsonl.gz");
    let file = std::fs::File::create(&path).unwrap();
    let mut out = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    out.write_all(lines(&claude_code()).as_bytes()).unwrap();
    out.finish().unwrap();
    let found = find_in(folder.path(), None);
    assert!(found.records.is_empty());
    let loaded = read_log(&found.sources[0], &ReadLimits::default()).unwrap();
    assert_session(&loaded.sessions[0], Agent::ClaudeCode, "claude-opus-4-6");
}

#[test]
fn what_is_found_twice_is_listed_once() {
    let folder = folder();
    write(&folder.path().join("a/one.jsonl"), &lines(&claude_code()));
    write(&folder.path().join("b.jsonl"), "{\"messages\":[]}");
    let mut found = find_in(folder.path(), None);
    found.append(find_in(&folder.path().join("a"), None));
    found.append(find_in(folder.path(), None));
    found.sort();
    assert_eq!((found.sources.len(), found.records.len()), (1, 1));
}
