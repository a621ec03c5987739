//! Finds byte ranges in a JSON body without building a tree.
//!
//! A [`Cursor`] walks the body once, validates as it goes, and hands out spans. A [`JsonStr`] is a
//! string literal that was found: its raw bytes stay where they are, its decoded text is made only
//! on request, and an [`OffsetMap`] maps offsets in the decoded text back to the raw
//! bytes, so that a cut next to `caf\u00e9` leaves the escape as it was.

#![deny(missing_docs)]

mod block;
mod compact;
mod cursor;
mod error;
mod escape;
mod limits;
mod line_buffer;
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
mod literal;
mod path;
mod spelled_lines;
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
mod spelled_offsets;
mod step;
pub mod strings;
mod text;
mod unescape;
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
mod vector;
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
mod window;

pub use compact::compact_chars;
pub use cursor::{Cursor, Kind};
pub use error::{JsonError, JsonProblem};
pub use escape::escape_into;
pub use limits::Limits;
pub use line_buffer::{DecodedLines, LineBuffer};
pub use path::path_at;
pub use spelled_lines::spelled_line_ends;
pub use text::{DecodedChars, JsonStr, OffsetMap};
pub use text::{Spelled, unescaped};

/// A half-open byte range of the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`.
    #[must_use]
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// Its length in bytes.
    #[must_use]
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether it covers no byte.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The same bytes, counted from where a slice that starts at `by` was taken.
    #[must_use]
    pub fn shifted(self, by: u32) -> Self {
        Self::new(self.start + by, self.end + by)
    }

    /// The bytes of `body` it covers. A span that does not fit the body gives the empty string.
    #[must_use]
    pub fn of(self, body: &str) -> &str {
        body.get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}
