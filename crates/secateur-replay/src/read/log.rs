//! An agent's log, whichever agent it is.

use std::io::{BufRead, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::fields::text;
use super::lines::{Line, for_each_line};
use super::{
    Loaded, ReadLimits, ReadSessionError, claude_code, codex, file_name, gemini_cli, head, open,
    opencode, pi,
};
use crate::agent::Agent;

/// One log of one session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// Whose it is.
    pub agent: Agent,
    /// The file.
    pub path: PathBuf,
    /// The session in it, where the file is a database.
    pub row: Option<String>,
    /// Its size; 0 for a row of a database.
    pub bytes: u64,
}

/// The first bytes of a file by which its agent is recognised.
const HEAD_BYTES: u64 = 256 << 10;

/// What an SQLite file begins with.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// A log of lines on its way.
enum Log {
    ClaudeCode(claude_code::Log),
    Codex(codex::Log),
    GeminiCli(gemini_cli::Log),
    Pi(pi::Log),
}

impl Log {
    /// `None`: the agent does not keep its log in lines.
    fn of(agent: Agent) -> Option<Self> {
        match agent {
            Agent::ClaudeCode => Some(Self::ClaudeCode(claude_code::Log::default())),
            Agent::Codex => Some(Self::Codex(codex::Log::default())),
            Agent::GeminiCli => Some(Self::GeminiCli(gemini_cli::Log::default())),
            Agent::Pi => Some(Self::Pi(pi::Log::default())),
            Agent::Opencode => None,
        }
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        match self {
            Self::ClaudeCode(log) => log.take(line),
            Self::Codex(log) => log.take(line),
            Self::GeminiCli(log) => log.take(line),
            Self::Pi(log) => log.take(line),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::ClaudeCode(log) => log.bytes(),
            Self::Codex(log) => log.bytes(),
            Self::GeminiCli(log) => log.bytes(),
            Self::Pi(log) => log.bytes(),
        }
    }

    fn finish(self, name: &str, loaded: &mut Loaded) {
        match self {
            Self::ClaudeCode(log) => log.finish(name, loaded),
            Self::Codex(log) => log.finish(name, loaded),
            Self::GeminiCli(log) => log.finish(name, loaded),
            Self::Pi(log) => log.finish(name, loaded),
        }
    }
}

/// Reads one log.
pub fn read_log(source: &Source, limits: &ReadLimits) -> Result<Loaded, ReadSessionError> {
    let mut loaded = Loaded::default();
    let path = || source.path.display().to_string();
    if let Some(session) = &source.row {
        opencode::read_row(&source.path, session, limits, &mut loaded).map_err(|source| {
            ReadSessionError::Database {
                path: path(),
                source,
            }
        })?;
        return Ok(loaded);
    }
    let io_error = |source| ReadSessionError::Io {
        path: path(),
        source,
    };
    let Some(log) = Log::of(source.agent) else {
        opencode::read_files(&source.path, limits, &mut loaded).map_err(io_error)?;
        return Ok(loaded);
    };
    let name = file_name(&source.path);
    let file = open(&source.path).map_err(io_error)?;
    if is_document(&name) {
        let mut text = String::new();
        let max = limits.max_message_bytes as u64 + 1;
        file.take(max).read_to_string(&mut text).map_err(io_error)?;
        if text.len() > limits.max_message_bytes {
            loaded.reject(name, "the file is too large".to_owned());
        } else {
            read_whole(log, &name, &text, &mut loaded);
        }
    } else {
        read_lines(log, &name, file, limits, &mut loaded).map_err(io_error)?;
    }
    Ok(loaded)
}

fn is_document(name: &str) -> bool {
    name.strip_suffix(".gz").unwrap_or(name).ends_with(".json")
}

fn read_whole(mut log: Log, name: &str, text: &str, loaded: &mut Loaded) {
    if let Err(reason) = log.take(text) {
        loaded.reject(name.to_owned(), reason);
    }
    log.finish(name, loaded);
}

/// Reads the text of a log.
pub(super) fn read_text(agent: Agent, name: &str, text: &str, loaded: &mut Loaded) {
    let Some(log) = Log::of(agent) else { return };
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        return read_whole(log, name, text, loaded);
    }
    let limits = ReadLimits {
        max_line_bytes: usize::MAX,
        max_message_bytes: usize::MAX,
        max_file_bytes: u64::MAX,
    };
    if let Err(error) = read_lines(log, name, text.as_bytes(), &limits, loaded) {
        loaded.reject(name.to_owned(), error.to_string());
    }
}

fn read_lines(
    mut log: Log,
    name: &str,
    reader: impl BufRead,
    limits: &ReadLimits,
    loaded: &mut Loaded,
) -> std::io::Result<()> {
    let mut is_full = false;
    let take = |number: usize, line: Line<'_>| {
        let taken = line.map_err(str::to_owned).and_then(|line| log.take(line));
        if let Err(reason) = taken {
            loaded.reject(format!("{name}:{number}"), reason);
        }
        is_full = log.bytes() > limits.max_message_bytes;
        !is_full
    };
    let is_longer = for_each_line(reader, limits, take)?;
    if is_full || is_longer {
        loaded.cut_short(name.to_owned());
    }
    log.finish(name, loaded);
    Ok(())
}

/// Whose log a file is, by how it begins; `None`: nobody's, or it cannot be opened.
pub fn agent_of_file(path: &Path) -> Option<Agent> {
    let head = head(path, HEAD_BYTES).ok()?;
    if head.starts_with(SQLITE) {
        return Some(Agent::Opencode);
    }
    // The end may be in the middle of a character.
    agent_of_text(&String::from_utf8_lossy(&head))
}

/// Whose log a text is.
pub(super) fn agent_of_text(text: &str) -> Option<Agent> {
    let lines = text.lines().filter(|line| !line.trim().is_empty()).take(20);
    let values = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let of_lines = values.into_iter().find_map(|value| agent_of_line(&value));
    of_lines.or_else(|| {
        // A document over many lines.
        let head = &text[..text.floor_char_boundary(4096)];
        let is_gemini = head.contains("\"sessionId\"") && head.contains("\"projectHash\"");
        is_gemini.then_some(Agent::GeminiCli)
    })
}

fn agent_of_line(value: &Value) -> Option<Agent> {
    let has = |key: &str| value.get(key).is_some();
    if has("sessionId") && has("projectHash") {
        return Some(Agent::GeminiCli);
    }
    if has("messages") {
        return None;
    }
    let kind = text(value, "type");
    if has("payload") && has("timestamp") && !kind.is_empty() {
        return Some(Agent::Codex);
    }
    if kind == "session" && has("cwd") {
        return Some(Agent::Pi);
    }
    let is_claude_code = !kind.is_empty() && (has("sessionId") || has("uuid") || has("leafUuid"));
    is_claude_code.then_some(Agent::ClaudeCode)
}
