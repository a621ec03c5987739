//! Why a body could not be read.

use secateur_json::{JsonError, path_at};

use super::dialect::Dialect;

/// Why a body could not be read. It is then passed on as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Not one JSON value within the limits.
    #[error("{0}")]
    Json(#[from] JsonError),
    /// JSON, but not of the dialect's shape.
    #[error("{what} at byte {at}")]
    Shape {
        /// What was expected.
        what: &'static str,
        /// Byte offset in the body.
        at: usize,
    },
    /// A key that is missing at the top level.
    #[error("no `{key}` at the top level: not a {dialect} request")]
    Missing {
        /// The missing key.
        key: &'static str,
        /// The dialect that was tried.
        dialect: Dialect,
    },
    /// The shape fits more than one dialect.
    #[error("the body could be {0} or {1}: name the dialect")]
    Ambiguous(Dialect, Dialect),
    /// The shape fits no dialect.
    #[error(
        "the body looks like none of the known dialects (no `messages`, `input` or `contents` list at the top level)"
    )]
    Unknown,
    /// A bound on memory.
    #[error("more than {limit} parts")]
    TooManyParts {
        /// The bound.
        limit: usize,
    },
}

impl ReadError {
    /// Where in the body, if it is one place.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        match self {
            Self::Json(error) => Some(error.at),
            Self::Shape { at, .. } => Some(*at),
            _ => None,
        }
    }

    /// The error with the JSON path of its place, for people.
    #[must_use]
    pub fn explain(&self, body: &[u8]) -> String {
        match self.offset() {
            Some(at) if !matches!(path_at(body, at).as_str(), "(top level)") => {
                format!("{self} (in {})", path_at(body, at))
            }
            _ => self.to_string(),
        }
    }
}
