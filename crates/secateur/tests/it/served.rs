//! `secateur serve` as a process of its own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Method;
use secateur_core::Dialect;
use secateur_mock::client::{TestClient, client, conversation, request, whole};

use crate::SECATEUR;

pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
    pub(crate) url: String,
    pub(crate) client: TestClient,
}

impl Served {
    pub(crate) async fn start(config: &Path) -> Self {
        Self::run(Command::new(SECATEUR), config).await
    }

    /// With no room for a single byte in any file, as on a full disk.
    #[cfg(unix)]
    pub(crate) async fn start_on_a_full_disk(config: &Path) -> Self {
        let mut command = Command::new("sh");
        let script = "trap '' XFSZ; ulimit -f 0; exec \"$@\"";
        command.args(["-c", script, "sh"]).arg(SECATEUR);
        Self::run(command, config).await
    }

    async fn run(mut command: Command, config: &Path) -> Self {
        let mut child = command
            .args(["serve", "--log", "json", "--config"])
            .arg(config)
            .env("XDG_DATA_HOME", config.parent().unwrap())
            .env("CAPTURE_KEY", "07".repeat(32))
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let sink = Arc::clone(&lines);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                sink.lock().unwrap().push(line);
            }
        });
        let mut served = Self {
            child,
            lines,
            url: String::new(),
            client: client(),
        };
        let line = served.wait_for("\"event\":\"listening\"").await;
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        served.url = line["url"].as_str().unwrap().to_owned();
        served
    }

    pub(crate) async fn wait_for(&self, what: &str) -> String {
        for _ in 0..500 {
            {
                let mut lines = self.lines.lock().unwrap();
                if let Some(at) = lines.iter().position(|line| line.contains(what)) {
                    return lines.remove(at);
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("no {what} in {:?}", self.lines.lock().unwrap());
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([name, &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(status.success());
    }

    pub(crate) async fn stack(&self) -> String {
        let body = conversation(Dialect::OpenaiChat, 21, false);
        let response = request(
            &self.client,
            &self.url,
            Method::POST,
            "/w/p/v1/chat/completions",
            &[],
            body,
        )
        .await;
        let answer = whole(response.unwrap()).await;
        assert_eq!(answer.status, 200);
        answer
            .headers
            .get("x-secateur-stack")
            .map_or("off".to_owned(), |stack| stack.to_str().unwrap().to_owned())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("secateur-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
