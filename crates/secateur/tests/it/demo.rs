//! The demonstration plays to its end by itself.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use secateur_core::policy::PRESETS;

fn demo(args: &[&str]) -> Command {
    let mut command = Command::new(crate::SECATEUR);
    command.arg("demo").args(args);
    command
}

#[test]
fn it_says_what_was_saved_and_where_to_look() {
    let output = demo(&[]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for words in [
        "Playing",
        "in front of a strict provider",
        "steady-rag",
        "cost USD",
        "secateur demo --keep",
    ] {
        assert!(text.contains(words), "no {words} in\n{text}");
    }
    assert!(
        !text.contains("/metrics"),
        "addresses that are gone help nobody\n{text}"
    );
    assert!(!text.contains("sk-"), "no key is needed\n{text}");
}

#[test]
fn every_session_has_a_row_without_and_one_with_the_preset() {
    let output = demo(&["--preset", "tessera"]).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let rows = |session: &str| -> Vec<Vec<&str>> {
        let lines = out.lines();
        let rows = lines.filter(|line| line.starts_with(session) && line.ends_with('%'));
        rows.map(|row| row.split_whitespace().collect()).collect()
    };
    for session in ["long coding agent", "support chat", "retrieval"] {
        let [plain, pruned] = &rows(session)[..] else {
            panic!("no two rows for {session} in\n{out}");
        };
        assert!(
            plain.contains(&"plain") && pruned.contains(&"tessera"),
            "{out}"
        );
    }
    assert!(out.contains("The provider rejected 0 requests."), "{out}");
    let sent = |row: &[&str]| -> u64 { row[row.len() - 5].parse().unwrap() };
    let chat = rows("support chat");
    assert!(sent(&chat[1]) < sent(&chat[0]), "{out}");
}

#[test]
fn the_provider_takes_what_every_preset_makes_of_the_sessions() {
    for preset in PRESETS.iter().filter(|preset| preset.name != "steady") {
        let output = demo(&["--preset", preset.name]).output().unwrap();
        assert!(output.status.success(), "{}: {output:?}", preset.name);
    }
}

#[cfg(unix)]
#[test]
fn a_demo_that_is_stopped_leaves_nothing_behind() {
    for until in ["Playing", "Staying up"] {
        let mut child = demo(&["--keep", "--preset", "tessera"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let seen = lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with(until)));
        assert!(seen.is_some(), "{until}");
        let id = child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(sent.success() && child.wait().unwrap().success(), "{until}");
        let folder = std::env::temp_dir().join(format!("secateur-demo-{id}-0"));
        assert!(!folder.exists(), "{}", folder.display());
    }
}
