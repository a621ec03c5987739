//! `secateur audit` as people run it, on a ledger with rows in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use secateur_ledger::testing::Postgres;
use secateur_ledger::{CompressRow, Ledger, LedgerOptions, ReceiptRow, Row, StepRow, id_time};

/// 2026-11-16 00:00 UTC.
const MONDAY: i64 = 1_794_787_200_000;
const ROWS: i64 = 300;

fn row(number: i64) -> Row {
    let is_even = number % 2 == 0;
    let at = MONDAY + number * 60_000;
    Row {
        id: format!("{}-id-{number:04}", id_time(at)),
        at,
        workload: if is_even { "agent".into() } else { "chat".into() },
        model: (number % 5 != 0).then(|| "claude, \"quoted\" é".into()),
        stack: if is_even { "m7".into() } else { String::new() },
        steps: vec![StepRow { mechanic: "m7".into(), skipped: (!is_even).then(|| "not-eligible".into()) }],
        chars_before: Some(20_000),
        chars_after: Some(if is_even { 15_000 } else { 20_000 }),
        compress: (number % 7 == 0).then_some(CompressRow { chars_before: 10, chars_after: 9 }),
        status: if number == 33 { 500 } else { 200 },
        is_stream: number % 3 == 0,
        receipt: ReceiptRow {
            saved_usd: is_even.then_some(if number % 10 == 0 { -0.25 } else { 0.5 }),
            ..ReceiptRow::default()
        },
        ended: "whole".into(),
        plan: is_even.then(|| {
            r#"{"cuts":[{"message":3,"part":null,"role":"user","action":"drop-turn","strategy":"middle-turns","why":"middle-turn","chars_before":5000,"chars_after":0}],"left":[{"message":null,"part":null,"strategy":null,"reason":"system-stays"}]}"#.into()
        }),
        ..Row::default()
    }
}

/// Records rows in a ledger.
fn record(url: &str, spool: PathBuf, rows: impl Iterator<Item = Row>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let options = LedgerOptions {
            keep_days: 0,
            ..LedgerOptions::new(url, spool)
        };
        let ledger = Ledger::open(options).await.unwrap();
        rows.for_each(|row| ledger.record(row));
        ledger.close().await;
    });
}

struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("secateur")).unwrap();
        let scene = Self { folder };
        record(&scene.url(), scene.path("spool"), (0..ROWS).map(row));
        scene
    }

    fn url(&self) -> String {
        secateur_ledger::default_url(&self.path("secateur"))
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(crate::SECATEUR)
            .arg("audit")
            .args(arguments)
            .current_dir(self.folder.path())
            .env("XDG_DATA_HOME", self.folder.path())
            .output()
            .unwrap()
    }

    fn text(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {printed}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

#[test]
fn tail_shows_the_newest_rows_last_and_filters() {
    let scene = Scene::new();
    let text = scene.text(&["tail", "-n", "3"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(
        lines[0].contains("workload")
            && lines[3].ends_with("id-0299")
            && lines[1].ends_with("id-0297"),
        "{text}"
    );
    assert!(
        lines[2].contains("20,000 → 15,000") && lines[2].contains("2026-11-16 04:58:00"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "no colours into a pipe");
    let trouble = scene.text(&["tail", "--trouble"]);
    assert!(
        trouble.contains("id-0033") && trouble.lines().count() == 2,
        "{trouble}"
    );
    assert_eq!(
        scene
            .text(&["tail", "--until", "2026-11-16T00:02", "-w", "agent"])
            .lines()
            .count(),
        2
    );
}

#[test]
fn tail_follows_new_rows() {
    let scene = Scene::new();
    let mut child = Command::new(crate::SECATEUR)
        .args(["audit", "tail", "-f", "-n", "1"])
        .current_dir(scene.folder.path())
        .env("XDG_DATA_HOME", scene.folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    lines.next();
    assert!(lines.next().unwrap().unwrap().ends_with("id-0299"));
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let fresh = Row {
        id: "fresh".into(),
        at: i64::try_from(since.as_millis()).unwrap(),
        ..row(1)
    };
    record(&scene.url(), scene.path("spool"), [fresh].into_iter());
    let line = lines.find(|line| line.as_ref().is_ok_and(|line| line.ends_with("fresh")));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.is_some());
}

#[test]
fn show_tells_a_row_and_its_plan_in_words() {
    let scene = Scene::new();
    let text = scene.text(&["show", &row(10).id]);
    for words in [
        "middle-turns",
        "between the head and the last turns",
        "the system prompt stays",
        "net-negative",
        "20,000 → 15,000",
        "m7 fired",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    assert!(
        scene
            .text(&["show", &row(11).id])
            .contains("m7: below the thresholds")
    );
    let json: serde_json::Value =
        serde_json::from_str(&scene.text(&["show", &row(10).id, "--json"])).unwrap();
    assert_eq!(json["plan"]["cuts"][0]["strategy"], "middle-turns");
    let missing = scene.run(&["show", "nobody"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("no row `nobody`"));
}

#[test]
fn stats_add_up_and_mistakes_are_explained() {
    let scene = Scene::new();
    let text = scene.text(&["stats", "--by", "workload"]);
    assert!(
        text.contains("agent") && text.contains("chat") && text.contains("all"),
        "{text}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&scene.text(&["stats", "--by", "day", "--json"])).unwrap();
    assert_eq!(json["all"]["requests"], ROWS);
    assert_eq!(json["groups"][0]["group"], "2026-11-16");
    assert_eq!(json["all"]["net_negative"], 30);
    let wrong = scene.run(&["stats", "--ledger", "mysql://u:secret@h/d"]);
    let printed = String::from_utf8_lossy(&wrong.stderr);
    assert!(
        wrong.status.code() == Some(2)
            && printed.contains("sqlite:PATH")
            && !printed.contains("secret"),
        "{printed}"
    );
    let missing = scene.run(&["stats", "--ledger", "sqlite:missing.db"]);
    let printed = String::from_utf8_lossy(&missing.stderr);
    assert!(
        missing.status.code() == Some(2)
            && printed.contains("missing.db")
            && printed.contains("--ledger"),
        "{printed}"
    );
    let wrong = scene.run(&["tail", "--since", "yesterday"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("2026-11-16T08:30"));
}

#[test]
fn exports_hold_every_row_that_fits() {
    let scene = Scene::new();
    let jsonl = scene.text(&["export", "--format", "jsonl", "-o", "-", "--changed"]);
    let rows: Vec<Row> = jsonl
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 150);
    assert_eq!(
        rows[0],
        Row {
            plan: None,
            ..row(298)
        }
    );
    scene.text(&["export", "--format", "csv", "-o", "rows.csv"]);
    let csv = std::fs::read_to_string(scene.path("rows.csv")).unwrap();
    assert_eq!(csv.lines().count(), 301);
    assert!(
        csv.contains("\"claude, \"\"quoted\"\" é\""),
        "{}",
        &csv[..500]
    );
    let left: Vec<_> = std::fs::read_dir(scene.folder.path())
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().contains("part"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn exported_plans_are_objects_of_their_rows_on_both_databases() {
    let scene = Scene::new();
    let shared = Postgres::shared().new_database();
    record(&shared, scene.path("spool of another"), (0..ROWS).map(row));
    for url in [scene.url(), shared] {
        let place = ["--ledger", &url, "--format", "jsonl", "-o", "-"];
        let printed = scene.text(&[&["export", "--plans"][..], &place].concat());
        let found: Vec<serde_json::Value> = printed
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(found.len(), 300);
        for (found, number) in found.iter().zip((0..ROWS).rev()) {
            let row = row(number);
            assert_eq!(found["id"], row.id.as_str());
            let plan = row.plan.map(|plan| serde_json::from_str(&plan).unwrap());
            assert_eq!(found["plan"], plan.unwrap_or(serde_json::Value::Null));
        }
        let without = scene.text(&[&["export"][..], &place].concat());
        assert!(!without.contains("\"plan\""));
    }
    for format in ["csv", "parquet"] {
        let arguments = ["export", "--format", format, "--plans", "-o", "rows"];
        let refused = scene.run(&arguments);
        let printed = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{printed}");
        assert!(printed.contains("--format jsonl"), "{printed}");
        assert!(!scene.path("rows").exists());
    }
}

/// A Python with pyarrow: the system's, or one made for these tests.
fn pyarrow() -> Option<PathBuf> {
    let has = |python: &Path| {
        let output = Command::new(python)
            .args(["-c", "import pyarrow.parquet"])
            .output();
        output.is_ok_and(|output| output.status.success())
    };
    let system = PathBuf::from("python3");
    if has(&system) {
        return Some(system);
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pyarrow");
    let python = folder.join("bin/python3");
    if !has(&python) {
        Command::new("python3")
            .args(["-m", "venv"])
            .arg(&folder)
            .output()
            .ok()?;
        Command::new(&python)
            .args(["-m", "pip", "-q", "install", "pyarrow"])
            .output()
            .ok()?;
    }
    has(&python).then_some(python)
}

#[test]
fn pyarrow_reads_the_parquet_file_as_it_was_written() {
    let scene = Scene::new();
    scene.text(&["export", "--format", "parquet", "-o", "rows.parquet"]);
    scene.text(&[
        "export",
        "--format",
        "parquet",
        "-o",
        "none.parquet",
        "-w",
        "nobody",
    ]);
    let Some(python) = pyarrow() else {
        println!("SKIPPED: pyarrow cannot be had here, so the Parquet file was not read");
        return;
    };
    let script = r#"
import json, pyarrow.parquet as pq
rows = pq.read_table("rows.parquet").to_pylist()
for row in rows:
    row["at"] = int(row["at"].timestamp() * 1000)
print(json.dumps(rows))
assert pq.read_table("none.parquet").num_rows == 0
"#;
    let output = Command::new(python)
        .args(["-c", script])
        .current_dir(scene.folder.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let found: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found.len(), 300);
    for (found, number) in found.iter().zip((0..ROWS).rev()) {
        let row = row(number);
        assert_eq!(found["id"], row.id.as_str());
        assert_eq!(found["at"], row.at);
        assert_eq!(found["model"], serde_json::json!(row.model));
        assert_eq!(found["is_stream"], row.is_stream);
        assert_eq!(found["saved_usd"], serde_json::json!(row.receipt.saved_usd));
        assert_eq!(
            found["compress_chars_before"],
            serde_json::json!(row.compress.map(|compress| compress.chars_before))
        );
        assert_eq!(found["key"], serde_json::Value::Null);
        assert_eq!(found["status"], row.status);
    }
}

#[test]
fn the_beginning_of_an_id_will_do_where_no_other_begins_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let url = secateur_ledger::default_url(folder.path());
    let id = |at: i64, rest: &str| format!("{at:011x}{rest:0>16}");
    let rows = [(MONDAY, "1"), (MONDAY, "2"), (MONDAY + 60_000, "3")];
    let rows = rows.map(|(at, rest)| Row {
        id: id(at, rest),
        at,
        ..row(0)
    });
    record(&url, folder.path().join("spool"), rows.into_iter());
    let show = |id: &str| {
        Command::new(crate::SECATEUR)
            .args(["audit", "show", "--ledger", &url, id])
            .output()
            .unwrap()
    };
    let third = id(MONDAY + 60_000, "3");
    for length in [10, 11, 20, 27] {
        let output = show(&third[..length]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(&third), "{length}: {text}");
    }
    let two = show(&id(MONDAY, "1")[..11]);
    let words = String::from_utf8(two.stderr).unwrap();
    assert!(words.contains("2 ids begin with"), "{words}");
    assert!(!show("abc").status.success() && !show("ffffffffff").status.success());
}

/// What a command says when it fails, and its exit code.
fn printed(folder: &Path, arguments: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(crate::SECATEUR)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(!output.status.success(), "{arguments:?}");
    let words = String::from_utf8(output.stderr).unwrap();
    (words, output.status.code())
}

#[test]
fn a_bad_configuration_is_reported_as_by_config_check() {
    let folder = tempfile::tempdir().unwrap();
    for (text, expected) in [
        (Some("listen = \n"), "c.toml:1: "),
        (
            Some("log = \"json\"\n[ledgr]\n"),
            "c.toml:2: unknown key `ledgr`: did you mean `ledger`?",
        ),
        (
            Some("[ledger]\nurl = 3\n"),
            "c.toml:2: expected a text in quotes, found 3",
        ),
        (
            Some("[ledger]\nurl = \"mysql:x\"\n"),
            "c.toml:2: ledger.url: expected",
        ),
        (
            Some("[ledger]\nurl = \"sqlite:x\"\nurl_env = \"X\"\n"),
            "c.toml:2: ledger: url or url_env, not both",
        ),
        (
            Some("[ledger]\nurl_env = \"SECATEUR_NOT_SET\"\n"),
            "c.toml:2: the environment variable `SECATEUR_NOT_SET` is not set",
        ),
        (None, "c.toml: No such file"),
    ] {
        let file = folder.path().join("c.toml");
        match text {
            Some(text) => std::fs::write(&file, text).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        let checked = printed(folder.path(), &["config", "check", "c.toml"]);
        assert!(checked.0.contains(expected), "{}", checked.0);
        for command in [["audit", "stats"], ["canary", "list"]] {
            let arguments = [&command[..], &["--config", "c.toml"]].concat();
            assert_eq!(printed(folder.path(), &arguments), checked, "{command:?}");
        }
    }
}

#[test]
fn rows_are_read_without_the_credentials_that_the_proxy_needs() {
    let scene = Scene::new();
    let text = "[otlp]\nendpoint = \"http://h\"\nheader_env = { a = \"SECATEUR_NOT_SET\" }\n\
                [ledger]\ncapture_key_env = \"SECATEUR_NOT_SET\"\n\
                [workload.a]\npolicy_file = \"not-here.toml\"\n";
    std::fs::write(scene.path("secateur.toml"), text).unwrap();
    assert!(scene.text(&["tail", "-n", "1"]).contains("id-0299"));
}
