//! Commands that read one file or none: what they print and their exit codes, as text in `snapshots/`.
//!
//! `SECATEUR_BLESS=1` writes the files instead of comparing them. Read the diff before you commit it.
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

/// A folder with the files that the commands of one test read.
fn inputs(name: &str, files: &[(&str, String)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("snapshots")
        .join(name);
    std::fs::create_dir_all(&folder).unwrap();
    for (file, text) in files {
        std::fs::write(folder.join(file), text).unwrap();
    }
    folder
}

/// Runs the commands in this folder, one after the other, and compares everything that they print.
fn compare(name: &str, folder: &Path, commands: &[&str]) {
    let mut printed = String::new();
    for &line in commands {
        let output = Command::new(crate::SECATEUR)
            .args(line.split(' '))
            .current_dir(folder)
            .env_remove("CLICOLOR_FORCE")
            .output()
            .unwrap();
        writeln!(printed, "$ secateur {line}").unwrap();
        printed.push_str(&String::from_utf8(output.stdout).unwrap());
        for error in String::from_utf8(output.stderr).unwrap().lines() {
            writeln!(printed, "stderr: {error}").unwrap();
        }
        writeln!(printed, "exit code: {}\n", output.status.code().unwrap()).unwrap();
    }
    // Tables fill their last column with spaces, which editors remove.
    let trimmed: Vec<&str> = printed.trim_end().lines().map(str::trim_end).collect();
    let printed = trimmed.join("\n") + "\n";
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/snapshots")
        .join(name)
        .with_extension("txt");
    if std::env::var_os("SECATEUR_BLESS").is_some() {
        std::fs::write(&file, printed).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        printed == expected,
        "{} differs; SECATEUR_BLESS=1 writes it again. Printed:\n{printed}",
        file.display()
    );
}

/// A request that calls a tool; with the tool's result or without it.
fn request(has_result: bool) -> String {
    let mut messages = vec![
        json!({ "role": "user", "content": "Run the tests." }),
        json!({ "role": "assistant", "content": [
            { "type": "tool_use", "id": "a", "name": "Bash", "input": { "command": "make test" } }] }),
    ];
    if has_result {
        messages.push(json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "a", "content": "all passed" }] }));
    }
    messages.push(json!({ "role": "user", "content": "Go on." }));
    body(&messages)
}

fn body(messages: &[Value]) -> String {
    json!({ "model": "claude-opus-4-6", "max_tokens": 100, "messages": messages }).to_string()
}

#[test]
fn check() {
    let folder = inputs(
        "check",
        &[
            ("accepted.json", request(true)),
            ("rejected.json", request(false)),
            ("broken.json", "{\"messages\": [".to_owned()),
        ],
    );
    let commands = [
        "check accepted.json",
        "check accepted.json --dialect anthropic-messages --json",
        "check rejected.json",
        "check rejected.json --json",
        "check accepted.json --dialect gemini-generate-content",
        "check accepted.json --dialect cobol",
        "check accepted.json --max-bytes 10",
        "check broken.json",
        "check missing.json",
    ];
    compare("check", &folder, &commands);
}

#[test]
fn rank() {
    let context = json!({ "question": "Who wrote the report on the harbour?", "chunks": [
        { "title": "Harbour", "text": "The report on the harbour was written by Ada Brook in May." },
        { "title": "Weather", "text": "It rained on most days of the month." },
        "The canteen opens at noon and closes at two.",
        { "title": "Town hall", "content": "A report on the town hall is due next year." },
    ] });
    let prompt = "[1] Ada Brook wrote it.\n\n[2] The canteen opens at noon.\n\n[3] It rained.\n\n\
                  When does the canteen open?";
    let folder = inputs(
        "rank",
        &[
            ("context.json", context.to_string()),
            ("prompt.txt", prompt.to_owned()),
            ("plain.txt", "Some words without any chunks.".to_owned()),
        ],
    );
    let commands = [
        "rank context.json",
        "rank context.json --scorer lexical --min-keep 1 --max-keep 1 --json",
        "rank prompt.txt",
        "rank prompt.txt --question rain --scorer lexical",
        "rank plain.txt",
        "rank missing.json",
        "rank context.json --scorer psychic",
    ];
    compare("rank", &folder, &commands);
}

#[test]
fn strategies() {
    let commands = [
        "strategies",
        "strategies middle-turns",
        "strategies middle-turns --json",
        "strategies middle-turn",
    ];
    compare("strategies", &inputs("strategies", &[]), &commands);
}

#[test]
fn presets() {
    let commands = [
        "presets",
        "presets steady",
        "presets steady-bold",
        "presets unsteady",
    ];
    compare("presets", &inputs("presets", &[]), &commands);
}

#[test]
fn presets_as_json_hold_what_each_prints_as_toml() {
    let run = |arguments: &[&str]| {
        let output = Command::new(crate::SECATEUR)
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let list: Vec<Value> = serde_json::from_str(&run(&["presets", "--json"])).unwrap();
    assert!(!list.is_empty());
    for preset in list {
        let name = preset["name"].as_str().unwrap();
        assert_eq!(preset["toml"], run(&["presets", name]), "{name}");
        assert!(!preset["about"].as_str().unwrap().is_empty(), "{name}");
    }
}

#[test]
fn dialects() {
    let commands = ["dialects", "dialects --json", "dialects anthropic-messages"];
    compare("dialects", &inputs("dialects", &[]), &commands);
}
