//! The program as a new user meets it: without a configuration, in a home folder of its own.
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(crate::SECATEUR);
        command
            .args(arguments)
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", "/usr/bin:/bin");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn written(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn any_program_runs_through_a_proxy_and_its_exit_code_is_ours() {
    let home = Home::new();
    // A file in a project changes nothing.
    std::fs::write(home.path().join("secateur.toml"), "not a configuration").unwrap();
    let script = "echo $MY_URL $OPENAI_BASE_URL; exit 7";
    let output = home.run(&[
        "run",
        "--env",
        "MY_URL",
        "--env",
        "OPENAI_BASE_URL",
        "sh",
        "-c",
        script,
    ]);
    assert_eq!(output.status.code(), Some(7), "{}", said(&output));
    let urls = written(&output);
    let (bare, versioned) = urls.trim().split_once(' ').unwrap();
    assert!(
        bare.starts_with("http://127.0.0.1:") && bare.ends_with("/w/agent"),
        "{urls}"
    );
    assert_eq!(versioned, format!("{bare}/v1"));
    assert!(
        said(&output).contains("no request came through"),
        "{}",
        said(&output)
    );
    assert!(
        home.path()
            .join(".local/share/secateur/secateur-ledger.db")
            .exists()
    );
    let named = home.run(&["run", "--config", "secateur.toml", "--env", "X", "true"]);
    assert_eq!(named.status.code(), Some(2), "{}", said(&named));
}

#[test]
fn what_cannot_run_says_what_to_do() {
    let home = Home::new();
    for (arguments, words) in [
        (&["run", "sh"][..], "--env OPENAI_BASE_URL sh"),
        (
            &["run", "claude"],
            "npm install -g @anthropic-ai/claude-code",
        ),
        (
            &["run", "--workload", "x", "--env", "A", "true"],
            "there is no workload `x`",
        ),
        (&["run", "--env", "A=v1", "true"], "like MY_URL=/v1"),
    ] {
        let output = home.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            said(&output).contains(words),
            "{words} in {}",
            said(&output)
        );
    }
    let shown = home.run(&["run", "--print", "--env", "A", "sh", "-c", "it's"]);
    assert_eq!(
        written(&shown),
        "A=http://127.0.0.1:PORT/w/agent \\\n/usr/bin/sh -c 'it'\\''s'\n"
    );
}

#[test]
fn doctor_ends_with_one_where_there_is_an_error() {
    let home = Home::new();
    let good = home.run(&["doctor", "--offline"]);
    assert_eq!(good.status.code(), Some(0), "{}", written(&good));
    let words = written(&good);
    for about in ["config", "keys", "ledger", "disk", "not installed: claude"] {
        assert!(words.contains(about), "{about} in {words}");
    }
    let config = home.path().join("secateur.toml");
    std::fs::write(&config, "[workload.a]\npresett = \"steady\"\n").unwrap();
    let bad = home.run(&["doctor", "--offline", "--json"]);
    assert_eq!(bad.status.code(), Some(1));
    let list: serde_json::Value = serde_json::from_str(&written(&bad)).unwrap();
    assert_eq!(list[0]["grade"], "error");
    let found = list[0]["found"].as_str().unwrap();
    assert!(
        found.contains("unknown key `presett`: did you mean `preset`?"),
        "{found}"
    );
}

#[test]
fn a_written_configuration_prunes_and_the_users_own_is_found_anywhere() {
    let home = Home::new();
    let output = home.run(&["config", "init", "--user"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let file = home.path().join(".config/secateur/secateur.toml");
    let checked = home.run(&["config", "check", file.to_str().unwrap()]);
    assert!(
        written(&checked).contains("agent        prunes ("),
        "{}",
        written(&checked)
    );
    let doctor = written(&home.run(&["doctor", "--offline"]));
    assert!(
        doctor.contains(".config/secateur/secateur.toml: agent on"),
        "{doctor}"
    );
}

#[test]
fn a_body_of_another_dialect_is_rejected() {
    let home = Home::new();
    let body = r#"{"model":"claude-opus-4-6","max_tokens":9,"system":"s","messages":[{"role":"user","content":"hi"}]}"#;
    std::fs::write(home.path().join("r.json"), body).unwrap();
    let wrong = home.run(&["check", "-d", "openai-chat", "r.json"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        said(&wrong).contains("in the dialect anthropic-messages"),
        "{}",
        said(&wrong)
    );
    let right = home.run(&["check", "r.json"]);
    assert!(
        written(&right).contains("1 message\n"),
        "{}",
        written(&right)
    );
}

#[test]
fn savings_without_a_ledger_say_which_one_is_missing() {
    let home = Home::new();
    let output = home.run(&["savings"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("secateur-ledger.db"),
        "{}",
        said(&output)
    );
}

/// A page of the proxy, as text.
fn page(address: &str, path: &str) -> String {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
    answer
}

#[test]
fn the_demo_shows_text_before_and_after_and_warns_of_nothing() {
    let home = Home::new();
    let mut demo = home
        .command(&["demo", "--keep"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines();
    let portal = lines.find_map(|line| {
        let line = line.unwrap();
        let (_, address) = line.strip_suffix("/portal")?.split_once("http://")?;
        Some(address.to_owned())
    });
    let address = portal.unwrap();
    for workload in ["steady", "steady-rag"] {
        let list = format!("/portal/audit?workload={workload}&stack=m7");
        // Rows and texts are written beside the requests.
        let shown = (0..600).find_map(|_| {
            let rows = page(&address, &list);
            let (_, row) = rows.split_once("href=\"/portal/audit/")?;
            let row = page(
                &address,
                &format!("/portal/audit/{}", row.split(['"', '?']).next()?),
            );
            if row.contains("<h3>Before</h3>") {
                return Some(row);
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
            None
        });
        let shown = shown.unwrap_or_else(|| panic!("no text of {workload}"));
        assert!(!shown.contains("cannot be shown"), "{shown}");
    }
    for path in [
        "/portal",
        "/portal/audit",
        "/portal/workloads",
        "/optimize/quality",
        "/optimize/quality/steady",
        "/optimize/quality/steady-rag",
    ] {
        let page = page(&address, path);
        for class in ["notice warn", "notice bad"] {
            assert!(!page.contains(class), "{path}: {page}");
        }
    }
    let start = page(&address, "/portal");
    assert!(
        start.contains("No rollback, resume or warning in the last weeks."),
        "{start}"
    );
    demo.kill().unwrap();
    demo.wait().unwrap();
}
