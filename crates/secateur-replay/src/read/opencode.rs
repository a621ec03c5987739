//! opencode: messages with parts, in SQLite (`opencode.db`) or, in older versions, as a file for each
//! (`storage/session/PROJECT/ID.json`, `storage/message/SESSION/ID.json`, `storage/part/MESSAGE/ID.json`).
//!
//! An assistant's message has one or more steps, each a request: `step-start`, texts and tools with their results,
//! `step-finish` with the usage. A message with `summary` starts a new context. Checked with 1.18.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};
use serde_json::Value;

use super::conversation::{Conversation, Piece, hand_over};
use super::fields::{key, model, text, tokens};
use super::time::is_date;
use super::{Loaded, ReadLimits};
use crate::agent::Agent;
use crate::session::{Answer, Origin, Usage};

/// A session on its way.
struct Log {
    session: String,
    project: Option<String>,
    contexts: Vec<Conversation>,
}

/// The ids of the sessions in a database that changed since then, oldest first.
pub(crate) fn sessions_since(
    database: &Path,
    since_ms: Option<i64>,
) -> rusqlite::Result<Vec<String>> {
    let connection = open(database)?;
    let mut query = connection
        .prepare("SELECT id FROM session WHERE time_updated >= ?1 ORDER BY time_created, id")?;
    let ids = query.query_map(params![since_ms.unwrap_or(i64::MIN)], |row| row.get(0))?;
    ids.collect()
}

fn open(database: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(
        database,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
}

/// Reads one session of a database.
pub(super) fn read_row(
    database: &Path,
    session: &str,
    limits: &ReadLimits,
    loaded: &mut Loaded,
) -> rusqlite::Result<()> {
    let connection = open(database)?;
    let directory = connection.query_row(
        "SELECT directory FROM session WHERE id = ?1",
        params![session],
        |row| row.get(0),
    )?;
    let mut log = Log::new(session, directory);
    let mut messages = connection
        .prepare("SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id")?;
    let mut parts =
        connection.prepare("SELECT data FROM part WHERE message_id = ?1 ORDER BY id")?;
    let mut rows = messages.query(params![session])?;
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        let data: String = row.get(1)?;
        let found: rusqlite::Result<Vec<String>> =
            parts.query_map(params![id], |row| row.get(0))?.collect();
        let place = || format!("opencode.db:{id}");
        log.take(&id, &data, &found?, loaded, &place);
        if log.bytes() > limits.max_message_bytes {
            loaded.cut_short(format!("opencode.db:{session}"));
            break;
        }
    }
    log.finish(loaded);
    Ok(())
}

/// Reads the session that a file of `storage/session` describes.
pub(super) fn read_files(
    path: &Path,
    limits: &ReadLimits,
    loaded: &mut Loaded,
) -> std::io::Result<()> {
    let info = std::fs::read_to_string(path)?;
    let info: Value = match serde_json::from_str(&info) {
        Ok(info) => info,
        Err(error) => {
            loaded.reject(path.display().to_string(), format!("not JSON: {error}"));
            return Ok(());
        }
    };
    let Some(storage) = path.ancestors().nth(3) else {
        return Ok(());
    };
    let session = text(&info, "id");
    let directory = info.get("directory").and_then(Value::as_str);
    let mut log = Log::new(session, directory.map(str::to_owned));
    for message in json_files(&storage.join("message").join(session)) {
        let id = message
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        let id = id.unwrap_or_default();
        let data = std::fs::read_to_string(&message)?;
        let parts = json_files(&storage.join("part").join(&id));
        let parts: std::io::Result<Vec<String>> =
            parts.iter().map(std::fs::read_to_string).collect();
        let place = || message.display().to_string();
        log.take(&id, &data, &parts?, loaded, &place);
        if log.bytes() > limits.max_message_bytes {
            loaded.cut_short(path.display().to_string());
            break;
        }
    }
    log.finish(loaded);
    Ok(())
}

/// The JSON files of a folder by name, which is the order in which they were made.
fn json_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    files.sort();
    files
}

impl Log {
    fn new(session: &str, project: Option<String>) -> Self {
        Self {
            session: session.to_owned(),
            project,
            contexts: vec![Conversation::default()],
        }
    }

    fn bytes(&self) -> usize {
        self.contexts.iter().map(|context| context.bytes).sum()
    }

    /// Takes a message; what is not JSON in it is named and left out.
    fn take(
        &mut self,
        id: &str,
        message: &str,
        parts: &[String],
        loaded: &mut Loaded,
        place: &dyn Fn() -> String,
    ) {
        let mut read = |text: &str| {
            let value = serde_json::from_str::<Value>(text);
            value
                .map_err(|error| loaded.reject(place(), format!("not JSON: {error}")))
                .ok()
        };
        let Some(message) = read(message) else { return };
        let parts: Vec<Value> = parts.iter().filter_map(|part| read(part)).collect();
        let Some(context) = self.contexts.last_mut() else {
            return;
        };
        if text(&message, "role") == "user" {
            let texts = parts.iter().filter(|part| text(part, "type") == "text");
            texts.for_each(|part| context.user(text(part, "text").to_owned()));
            return;
        }
        let steps: Vec<&[Value]> = steps(&parts);
        for (number, step) in steps.iter().enumerate() {
            let mut answer = answer_of(id, number, &message, step);
            if answer.usage.is_none() && steps.len() == 1 {
                answer.usage = message.get("tokens").and_then(usage);
            }
            add_step(context, step, answer);
        }
        if message.get("summary").and_then(Value::as_bool) == Some(true) {
            let texts = parts.iter().filter(|part| text(part, "type") == "text");
            let summary: String = texts.map(|part| text(part, "text")).collect();
            let mut next = Conversation::default();
            next.user(summary);
            self.contexts.push(next);
        }
    }

    fn finish(self, loaded: &mut Loaded) {
        let origin = Origin {
            agent: Agent::Opencode,
            session: self.session,
            project: self.project,
        };
        hand_over(self.contexts, &origin, loaded);
    }
}

/// The parts of each request: those from a `step-start` on.
fn steps(parts: &[Value]) -> Vec<&[Value]> {
    let is_start = |part: &Value| text(part, "type") == "step-start";
    let mut starts: Vec<usize> = (0..parts.len())
        .filter(|&at| at == 0 || is_start(&parts[at]))
        .collect();
    starts.push(parts.len());
    starts
        .windows(2)
        .map(|pair| &parts[pair[0]..pair[1]])
        .collect()
}

fn answer_of(id: &str, number: usize, message: &Value, step: &[Value]) -> Answer {
    let time = |value: &Value| {
        let times = value.get("time")?;
        let at = times.get("start").or_else(|| times.get("created"))?;
        at.as_i64().filter(|at| is_date(*at))
    };
    let finish = step.iter().find(|part| text(part, "type") == "step-finish");
    Answer {
        at_ms: step.iter().find_map(time).or_else(|| time(message)),
        model: model(text(message, "modelID")),
        key: key(&[id, &number.to_string()]),
        usage: finish.and_then(|part| usage(part.get("tokens")?)),
        ..Answer::default()
    }
}

fn add_step(context: &mut Conversation, step: &[Value], answer: Answer) {
    let null = Value::Null;
    let pieces = step.iter().filter_map(|part| match text(part, "type") {
        "text" => Some(Piece::Text(text(part, "text").to_owned())),
        "tool" => Some(Piece::Call {
            id: text(part, "callID").to_owned(),
            name: text(part, "tool").to_owned(),
            arguments: part.get("state")?.get("input").cloned().unwrap_or_default(),
        }),
        _ => None,
    });
    let pieces: Vec<Piece> = pieces.collect();
    if pieces.is_empty() && answer.usage.is_none() {
        return;
    }
    context.whole_answer(pieces, answer);
    for part in step.iter().filter(|part| text(part, "type") == "tool") {
        let state = part.get("state").unwrap_or(&null);
        let is_error = text(state, "status") == "error";
        let output = text(state, if is_error { "error" } else { "output" });
        context.result(text(part, "callID").to_owned(), output.to_owned(), is_error);
    }
}

fn usage(counts: &Value) -> Option<Usage> {
    let cache = counts.get("cache").unwrap_or(&Value::Null);
    let usage = Usage {
        plain: tokens(counts, "input"),
        written: tokens(cache, "write"),
        read: tokens(cache, "read"),
        output: tokens(counts, "output").saturating_add(tokens(counts, "reasoning")),
        ..Usage::default()
    };
    (usage.input() > 0).then_some(usage)
}
