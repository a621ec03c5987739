//! The strict provider as a process of its own, for tests that are not written in Rust.
//!
//! Prints one line of JSON with its URL. A line on its standard input is answered with the bodies that
//! came since the last one, as texts in a JSON array. Ends with its standard input.
//!
//! `provider --script FILE --root FOLDER` leads a coding agent through a session in a project at `FOLDER`.
//! `--record FOLDER` writes each body to a file there and what became of it to `log.jsonl`; bodies are then not
//! kept in memory.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use secateur_mock::{Exchange, Mock, MockOptions, Script};
use serde_json::{Value, json};

#[derive(Debug, Default)]
struct Arguments {
    script: Option<PathBuf>,
    root: PathBuf,
    record: Option<PathBuf>,
}

impl Arguments {
    fn read() -> Result<Self, Box<dyn Error>> {
        let mut arguments = Self::default();
        let mut given = std::env::args_os().skip(1);
        while let Some(option) = given.next() {
            let name = option.to_string_lossy().into_owned();
            let value = PathBuf::from(given.next().ok_or(format!("{name} needs a value"))?);
            match name.as_str() {
                "--script" => arguments.script = Some(value),
                "--root" => arguments.root = value,
                "--record" => arguments.record = Some(value),
                _ => return Err(format!("no option {name}: --script, --root, --record").into()),
            }
        }
        Ok(arguments)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read()?;
    let mut options = MockOptions {
        keep_requests: arguments.record.is_none(),
        ..MockOptions::default()
    };
    if let Some(path) = &arguments.script {
        let text = std::fs::read_to_string(path)?;
        options.session = Some(Script::read(&text, &arguments.root)?);
    }
    if let Some(folder) = arguments.record {
        let record = Record::new(folder)?;
        options.observe = Some(Arc::new(move |exchange| record.write(exchange)));
    }
    let mock = Mock::start(options).await?;
    say(&json!({ "url": mock.url() }))?;
    tokio::task::spawn_blocking(move || -> std::io::Result<()> {
        for line in std::io::stdin().lock().lines() {
            line?;
            let text = |body: &[u8]| String::from_utf8_lossy(body).into_owned();
            let bodies = mock.received().into_iter().map(|one| text(&one.body));
            say(&bodies.collect())?;
        }
        Ok(())
    })
    .await??;
    Ok(())
}

fn say(value: &Value) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{value}")?;
    out.flush()
}

/// The folder with bodies and the log.
struct Record {
    folder: PathBuf,
    log: Mutex<(usize, File)>,
}

impl Record {
    fn new(folder: PathBuf) -> std::io::Result<Self> {
        std::fs::create_dir_all(&folder)?;
        let log = Mutex::new((0, File::create(folder.join("log.jsonl"))?));
        Ok(Self { folder, log })
    }

    fn write(&self, exchange: &Exchange<'_>) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.0 += 1;
        let number = log.0;
        let file = format!("{number:04}.json");
        let body = &exchange.received.body;
        // The log is the proof that a request was seen: without it the reader misses the request and fails.
        let written = body.is_empty() || std::fs::write(self.folder.join(&file), body).is_ok();
        if written {
            let _ = writeln!(log.1, "{}", line(exchange, Path::new(&file)));
            let _ = log.1.flush();
        }
    }
}

fn line(exchange: &Exchange<'_>, file: &Path) -> Value {
    let received = exchange.received;
    let usage = exchange.usage.map(|(usage, cost)| {
        json!({"input": usage.input_tokens, "cache_read": usage.cache_read_tokens,
            "cache_write": usage.cache_write_tokens, "cache_write_1h": usage.long_write_tokens,
            "output": usage.output_tokens, "input_cost": cost})
    });
    let progress = exchange.progress.map(|progress| {
        json!({"turn": progress.turn, "calls": progress.calls, "is_finished": progress.is_finished})
    });
    json!({"method": received.method.as_str(), "path": received.uri.to_string(),
        "body": file, "bytes": received.body.len(), "status": exchange.status,
        "rejection": exchange.rejection, "usage": usage, "progress": progress})
}
