//! What can be wrong with the syntax of a body.

/// A body that is not one JSON value within the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at byte {at}")]
pub struct JsonError {
    /// What was found.
    pub problem: JsonProblem,
    /// Byte offset in the body.
    pub at: usize,
}

/// The closed list of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonProblem {
    /// The body holds no value.
    #[error("the body is empty")]
    Empty,
    /// The body starts with a byte order mark, which RFC 8259 forbids and providers reject.
    #[error("the body starts with a byte order mark; send UTF-8 without it")]
    ByteOrderMark,
    /// A byte sequence that is not UTF-8.
    #[error("invalid UTF-8")]
    InvalidUtf8,
    /// More bytes than `max_bytes`.
    #[error("the body has more than {0} bytes; raise the size limit to read it")]
    TooLarge(usize),
    /// More levels than `max_depth`.
    #[error("nested deeper than {0} levels; raise the depth limit to read it")]
    TooDeep(usize),
    /// The body ends inside a value.
    #[error("the body ends in the middle of a value (truncated?)")]
    UnexpectedEnd,
    /// Not the start of any JSON value (`NaN`, a comment, a bare word).
    #[error("not a JSON value")]
    NotAValue,
    /// A value of another kind was needed here.
    #[error("expected {0}")]
    Expected(&'static str),
    /// A number that JSON's grammar does not allow (`01`, `1.`, `+1`).
    #[error("malformed number")]
    BadNumber,
    /// An escape that JSON does not know.
    #[error("malformed escape in a string")]
    BadEscape,
    /// A raw control character inside a string.
    #[error("unescaped control character in a string")]
    ControlCharacter,
    /// Bytes after the one value.
    #[error("unexpected bytes after the JSON value")]
    TrailingBytes,
    /// The same key twice in an object whose meaning matters here.
    #[error("duplicate key: parsers disagree on which one counts")]
    DuplicateKey,
}
