//! Files to sessions: gzip or plain; one JSON document, JSON lines with a `messages` array each, or the
//! log of an agent. What cannot be read is counted and named, never dropped in silence.

mod claude_code;
mod codex;
mod conversation;
mod estimate;
mod fields;
mod gemini_cli;
mod lines;
mod log;
mod open;
pub(crate) mod opencode;
pub(crate) mod parts;
mod pi;
mod rows;
mod time;

use std::io::Read as _;
use std::path::Path;

use crate::session::Session;

pub use lines::ReadLimits;
pub(crate) use lines::read_line;
pub use log::{Source, agent_of_file, read_log};
pub(crate) use open::{head, open};
pub(crate) use rows::read_row;

/// A row that could not be read as a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// File and 1-based line.
    pub place: String,
    /// What was wrong with it.
    pub reason: String,
}

/// What a file held.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The sessions that have at least one request boundary.
    pub sessions: Vec<Session>,
    /// Rows that are not sessions, with the reason.
    pub unreadable: Vec<Unreadable>,
    /// Further rows that are not sessions.
    pub unnamed: usize,
    /// Files that were not read to their end, because they are too large.
    pub cut_short: Vec<String>,
}

/// Unreadable rows of a file that are named; the others are counted.
const MAX_NAMED: usize = 100;

impl Loaded {
    /// Adds what another file held.
    pub fn append(&mut self, mut other: Self) {
        self.sessions.append(&mut other.sessions);
        self.unreadable.append(&mut other.unreadable);
        self.unnamed += other.unnamed;
        self.cut_short.append(&mut other.cut_short);
    }

    /// Notes a row that cannot be read.
    pub fn reject(&mut self, place: String, reason: String) {
        if self.unreadable.len() < MAX_NAMED {
            self.unreadable.push(Unreadable { place, reason });
        } else {
            self.unnamed += 1;
        }
    }

    fn cut_short(&mut self, place: String) {
        self.cut_short.push(place);
    }
}

/// The file itself could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadSessionError {
    /// Opening or reading failed.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// A database could not be read.
    #[error("cannot read {path}: {source}")]
    Database {
        /// The file.
        path: String,
        /// The cause.
        source: rusqlite::Error,
    },
}

/// Reads all sessions of a file, plain or compressed.
pub fn read_path(path: &Path) -> Result<Loaded, ReadSessionError> {
    let io_error = |source| ReadSessionError::Io {
        path: path.display().to_string(),
        source,
    };
    let mut content = Vec::new();
    let mut file = open(path).map_err(io_error)?;
    file.read_to_end(&mut content).map_err(io_error)?;
    Ok(read_bytes(&file_name(path), &content))
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Reads all sessions of a file's content. `name` is used to say where an unreadable row is.
pub fn read_bytes(name: &str, content: &[u8]) -> Loaded {
    let mut loaded = Loaded::default();
    let text = match std::str::from_utf8(content) {
        Ok(text) => text,
        Err(error) => {
            loaded.reject(name.to_owned(), format!("not UTF-8: {error}"));
            return loaded;
        }
    };
    if let Some(agent) = log::agent_of_text(text) {
        log::read_text(agent, name, text, &mut loaded);
    } else if rows::is_one_document(text) {
        rows::read_document(name, 1, text.trim(), &mut loaded);
    } else {
        for (number, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
        {
            rows::read_document(name, number + 1, line.trim(), &mut loaded);
        }
    }
    loaded
}
