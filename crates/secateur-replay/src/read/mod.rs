//! Files to sessions: gzip or plain; one JSON document, JSON lines with a `messages` array each, or a
//! Claude Code log. What cannot be read is counted and named, never dropped in silence.

mod claude_code;
pub(crate) mod parts;
mod rows;

use std::io::Read;
use std::path::Path;

use crate::session::Session;

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
}

impl Loaded {
    /// Adds what another file held.
    pub fn append(&mut self, mut other: Self) {
        self.sessions.append(&mut other.sessions);
        self.unreadable.append(&mut other.unreadable);
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
}

/// Reads all sessions of a file; a name that ends in `.gz` is decompressed.
pub fn read_path(path: &Path) -> Result<Loaded, ReadSessionError> {
    let io_error = |source| ReadSessionError::Io {
        path: path.display().to_string(),
        source,
    };
    let raw = std::fs::read(path).map_err(io_error)?;
    let name = path.file_name().map_or_else(
        || path.display().to_string(),
        |n| n.to_string_lossy().into_owned(),
    );
    if raw.starts_with(&[0x1f, 0x8b]) {
        let mut text = Vec::new();
        flate2::read::MultiGzDecoder::new(raw.as_slice())
            .read_to_end(&mut text)
            .map_err(io_error)?;
        return Ok(read_bytes(&name, &text));
    }
    Ok(read_bytes(&name, &raw))
}

/// Reads all sessions of a file's content. `name` is used to say where an unreadable row stands.
pub fn read_bytes(name: &str, content: &[u8]) -> Loaded {
    let mut loaded = Loaded::default();
    let text = match std::str::from_utf8(content) {
        Ok(text) => text,
        Err(error) => {
            loaded.unreadable.push(Unreadable {
                place: name.to_owned(),
                reason: format!("not UTF-8: {error}"),
            });
            return loaded;
        }
    };
    if claude_code::looks_like_log(text) {
        claude_code::read(name, text, &mut loaded);
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
