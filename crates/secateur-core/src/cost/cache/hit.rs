//! How much of a request the cache holds, and why.

use serde::Serialize;

/// How much of one version of a body goes through the cache, in bytes from its start. Tools and instructions that
/// follow the turns in the body come before them in the prompt, so they are covered too where this is not 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Covered {
    /// Read from the cache up to here.
    pub read: usize,
    /// Read or written up to here. What follows is plain input.
    pub marked: usize,
}

/// What the provider's cache holds of a request, by the rules of its model.
///
/// Where every request is planned from scratch, the request before may have been cut in other places: then the
/// cache is taken to hold nothing after the first edit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cached {
    /// Whether the body shows an earlier request, which may have left something in the cache.
    pub has_earlier: bool,
    /// Whether the client's turns go through the cache, and not its instructions alone.
    pub covers_turns: bool,
    /// Of the input.
    pub before: Covered,
    /// Of the output.
    pub after: Covered,
    /// Of the output: what would be read had this request changed nothing that was sent before.
    pub unbroken_after: usize,
    /// Why so much of the output is read.
    pub hit: CacheHit,
}

/// By which rule a request reads from the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum CacheHit {
    /// No earlier request is known.
    #[default]
    FirstRequest,
    /// The model has no cache.
    NoCache,
    /// The request has no marker, so that nothing is cached.
    NoMarker,
    /// The longest prefix that was sent before.
    Prefix {
        /// The message that it ends in.
        message: Option<usize>,
    },
    /// A marker of the client reached an entry.
    Marker {
        /// The message at whose end the entry is; `None`: at the end of the instructions.
        message: Option<usize>,
    },
    /// A marker that was added for this request reached an entry.
    Anchor {
        /// The message at whose end the entry is.
        message: Option<usize>,
    },
    /// No marker reaches an entry.
    OutOfReach,
}

impl CacheHit {
    /// In words.
    #[must_use]
    pub fn describe(&self) -> String {
        let at = |message: &Option<usize>| match message {
            Some(message) => format!("at message {message}"),
            None => "at the end of the instructions".to_owned(),
        };
        match self {
            Self::FirstRequest => "the first request of the conversation".to_owned(),
            Self::NoCache => "the model has no cache".to_owned(),
            Self::NoMarker => "no block is marked for the cache".to_owned(),
            Self::Prefix {
                message: Some(message),
            } => {
                format!("the same prefix up to message {message} was sent before")
            }
            Self::Prefix { message: None } => "the same instructions were sent before".to_owned(),
            Self::Marker { message } => format!("the marker reached an entry {}", at(message)),
            Self::Anchor { message } => {
                format!("an added marker reached an entry {}", at(message))
            }
            Self::OutOfReach => "no marker reaches an entry".to_owned(),
        }
    }
}
