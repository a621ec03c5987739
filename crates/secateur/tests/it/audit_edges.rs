//! `secateur audit` and `secateur canary` where things are unusual: names that hold anything, outputs that take
//! nothing, readers that go away.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use secateur_ledger::moment::{DAY_MS, now};
use secateur_ledger::{Ledger, LedgerOptions, ReceiptRow, Row, id_time};

const ROWS: i64 = 75;

/// Row `number` of the last minute.
fn row(number: i64) -> Row {
    let is_held = number % 2 == 0;
    Row {
        id: format!("id-{number:04}"),
        at: now() - 60_000 + number,
        workload: "agent".into(),
        session: Some(format!("session-{}", number % 10)),
        model: Some("gpt\u{1b}[31m\nsecond line".into()),
        stack: if is_held { String::new() } else { "m7".into() },
        struck_stack: if number == 7 {
            "m7".into()
        } else {
            String::new()
        },
        held_out: is_held,
        chars_before: Some(20_000),
        chars_after: Some(15_000),
        status: 200,
        receipt: ReceiptRow {
            billed_input_usd: Some(if is_held { 0.02 } else { 0.01 } + number as f64 * 1e-5),
            ..ReceiptRow::default()
        },
        ended: "complete".into(),
        ..Row::default()
    }
}

fn record(folder: &Path, rows: Vec<Row>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let data = folder.join("secateur");
    std::fs::create_dir_all(&data).unwrap();
    runtime.block_on(async {
        let options = LedgerOptions {
            keep_days: 0,
            ..LedgerOptions::new(secateur_ledger::default_url(&data), folder.join("spool"))
        };
        let ledger = Ledger::open(options).await.unwrap();
        rows.into_iter().for_each(|row| ledger.record(row));
        ledger.close().await;
    });
}

struct Scene(tempfile::TempDir);

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        record(folder.path(), (0..ROWS).map(row).collect());
        Self(folder)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(crate::SECATEUR);
        command.args(arguments).current_dir(self.0.path());
        command.env("XDG_DATA_HOME", self.0.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn text(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {told}");
        String::from_utf8(output.stdout).unwrap()
    }
}

const PRINTING: [&[&str]; 5] = [
    &["audit", "stats"],
    &["audit", "tail"],
    &["audit", "show", "id-0001"],
    &["audit", "export", "--format", "csv", "-o", "-"],
    &["canary", "list"],
];

#[test]
fn an_output_that_takes_nothing_is_an_error_with_a_sentence() {
    let scene = Scene::new();
    for arguments in PRINTING {
        let full = std::fs::File::create("/dev/full").unwrap();
        let output = scene.command(arguments).stdout(full).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
        assert!(told.contains("No space left"), "{arguments:?}: {told}");
        assert!(!told.contains("panicked"), "{arguments:?}: {told}");
    }
    let device = ["audit", "export", "--format", "csv", "-o", "/dev/full"];
    let output = scene.run(&device);
    assert_eq!(output.status.code(), Some(1));
    assert!(!Path::new("/dev/full").is_file());
}

#[test]
fn a_reader_that_has_seen_enough_is_a_quiet_end() {
    let scene = Scene::new();
    for arguments in PRINTING {
        let mut child = scene
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (output.status.code(), &*told),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
}

#[test]
fn names_of_clients_do_not_reach_the_terminal_as_they_are() {
    let scene = Scene::new();
    for arguments in [
        ["audit", "stats", "--by", "model"],
        ["audit", "tail", "-n", "1"],
    ] {
        let text = scene.text(&arguments);
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert!(text.contains("gpt⟨U+001B⟩[31m⟨U+000A⟩"), "{text}");
    }
}

#[test]
fn stats_tell_rejected_changes_and_the_hold_out() {
    let scene = Scene::new();
    let text = scene.text(&["audit", "stats"]);
    assert!(text.contains("rejected"), "{text}");
    assert!(
        text.contains("hold-out of agent: ") && text.contains("5 sessions held out, 5 pruned"),
        "{text}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&scene.text(&["audit", "stats", "--json"])).unwrap();
    assert_eq!(json["all"]["struck"], 1);
    assert_eq!(json["holdout"][0]["workload"], "agent");
    assert!(json["holdout"][0]["saving"].as_f64().unwrap() > 0.3);
    let trouble = scene.text(&["audit", "tail", "--trouble"]);
    assert!(
        trouble.contains("id-0007") && trouble.contains("rejected: m7"),
        "{trouble}"
    );
    let partial = scene.text(&["audit", "stats", "--stack", "m7"]);
    assert!(!partial.contains("hold-out"), "{partial}");
}

#[test]
fn following_shows_what_was_asked_for_and_then_what_is_new() {
    let scene = Scene::new();
    assert_eq!(scene.text(&["audit", "tail", "-n", "0"]).lines().count(), 1);
    assert_eq!(
        scene
            .text(&["audit", "tail", "-n", "12000"])
            .lines()
            .count(),
        76
    );
    let mut child = scene
        .command(&["audit", "tail", "-f", "-n", "2"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    next();
    assert!(next().ends_with("id-0073") && next().ends_with("id-0074"));
    // Time for a few looks at what is there.
    std::thread::sleep(Duration::from_millis(1_300));
    record(scene.0.path(), vec![row(200)]);
    let line = next();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.ends_with("id-0200"), "{line}");
}

#[test]
fn exported_rows_say_nothing_of_plans_that_they_do_not_have() {
    let scene = Scene::new();
    let text = scene.text(&["audit", "export", "--format", "jsonl", "-o", "-"]);
    assert_eq!(text.lines().count(), 75);
    assert!(!text.contains("\"plan\""), "{text}");
}

#[test]
fn a_held_out_row_is_told_as_such() {
    let scene = Scene::new();
    let text = scene.text(&["audit", "show", "id-0002"]);
    assert!(
        text.ends_with("Nothing was looked at: the session is held out.\n"),
        "{text}"
    );
}

#[test]
fn what_the_canary_switched_is_listed_without_clearing_anything_away() {
    let scene = Scene::new();
    let at = now() - 100 * DAY_MS;
    let id = format!("{}-old", id_time(at));
    let old = Row { id, at, ..row(1) };
    record(scene.0.path(), vec![old]);
    scene.text(&["canary", "list"]);
    let resume = ["canary", "resume", "--workload", "agent", "--stack", "m7"];
    assert_eq!(scene.run(&resume).status.code(), Some(1));
    assert!(scene.text(&["audit", "tail", "-n", "100"]).contains("-old"));
}

#[test]
fn what_cannot_be_meant_is_told_at_once() {
    let scene = Scene::new();
    for (arguments, words) in [
        (&["mcp", "--url", "nonsense"][..], "http://127.0.0.1:8787"),
        (
            &["audit", "stats", "--ledger", "postgres://h/d?foo=bar"],
            "foo",
        ),
    ] {
        let output = scene.run(arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(words), "{told}");
    }
    std::fs::write(
        scene.0.path().join("secateur.toml"),
        "[ledger]\nenabled = false\n",
    )
    .unwrap();
    let output = scene.run(&["audit", "stats"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("keeps no ledger"), "{told}");
}
