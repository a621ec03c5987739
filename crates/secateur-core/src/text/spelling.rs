//! How the bytes of a text are written.

/// How the bytes are written of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// As they are.
    Text,
    /// As in a string of JSON, where newlines, tabs, quotes and backslashes have a backslash before them, and
    /// nothing else has.
    Json,
}
