//! The wire formats: one file each, behind one small trait.
//!
//! **Invariant:** JSON shapes are known here and in `lower`, nowhere else.

mod anthropic_messages;
mod detect;
mod gemini_generate_content;
mod openai_chat;
mod openai_responses;
mod read;

pub use detect::detect;

use crate::read::view::{Builder, View};
use secateur_json::{Cursor, JsonError, Limits, path_at};

/// The wire formats that this version reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Dialect {
    /// OpenAI chat completions, and the many servers that speak it.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Anthropic Messages.
    AnthropicMessages,
    /// Gemini `generateContent`.
    GeminiGenerateContent,
}

impl Dialect {
    /// All of them, in the order in which they are listed to people.
    pub const ALL: [Self; 4] = [
        Self::OpenaiChat,
        Self::OpenaiResponses,
        Self::AnthropicMessages,
        Self::GeminiGenerateContent,
    ];

    /// Its name in commands, configuration and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.dialect().facts().name
    }

    /// The dialect of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|id| id.name() == name)
    }

    /// What is known of it.
    #[must_use]
    pub fn facts(self) -> &'static Facts {
        self.dialect().facts()
    }

    pub(crate) fn dialect(self) -> &'static dyn WireFormat {
        match self {
            Self::OpenaiChat => &openai_chat::OpenaiChat,
            Self::OpenaiResponses => &openai_responses::OpenaiResponses,
            Self::AnthropicMessages => &anthropic_messages::AnthropicMessages,
            Self::GeminiGenerateContent => &gemini_generate_content::GeminiGenerateContent,
        }
    }
}

impl std::fmt::Display for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What a dialect is called and what its provider demands.
#[derive(Debug)]
pub struct Facts {
    /// Its name.
    pub name: &'static str,
    /// The endpoint that takes it.
    pub endpoint: &'static str,
    /// The member that holds the turns.
    pub list_key: &'static str,
    /// What the provider rejects.
    pub rules: Rules,
}

/// The provider's rules on the order and shape of turns. Checked against recorded traffic,
/// November 2026.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The first turn that is not a system turn must be a user's.
    pub first_turn_is_user: bool,
    /// An output begins with a user's turn wherever its input does, also if the provider would take another.
    pub user_stays_first: bool,
    /// Every result must answer a call of the nearest assistant turn before it, with nothing but
    /// results between.
    pub results_follow_their_call: bool,
    /// In a turn that answers calls, results come before anything else.
    pub results_come_first: bool,
    /// A turn with calls must directly follow a user turn or results.
    pub calls_follow_user: bool,
    /// Turns with calls that follow each other count as one turn.
    pub calling_turns_merge: bool,
    /// In a turn that calls, no text may stand behind a call.
    pub calls_end_their_turn: bool,
    /// Text blocks and contents must not be empty.
    pub text_is_not_empty: bool,
    /// A reasoning item needs the item that was produced with it right behind it.
    pub reasoning_has_follower: bool,
    /// Signed thinking may not be removed while the call or text that it produced stays.
    pub signed_thinking_goes_with_its_turn: bool,
}

/// One wire format.
pub(crate) trait WireFormat: Sync {
    fn facts(&self) -> &'static Facts;

    /// Reads the whole body into `builder`; the cursor stands on the top-level object.
    fn read<'a>(&self, cursor: &mut Cursor<'a>, builder: &mut Builder<'a>)
    -> Result<(), ReadError>;

    /// A user turn with this text, which is already escaped.
    fn user_turn(&self, escaped: &str) -> String;
}

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

/// Reads a body of a known dialect.
///
/// # Errors
/// Not JSON, over the limits, or of another shape.
pub fn read<'a>(body: &'a [u8], dialect: Dialect, limits: &Limits) -> Result<View<'a>, ReadError> {
    let mut cursor = Cursor::new(body, limits)?;
    let mut builder = Builder::new(dialect, cursor.body());
    dialect.dialect().read(&mut cursor, &mut builder)?;
    cursor.finish()?;
    let view = builder.finish();
    if view.list().is_none() && view.turns().is_empty() {
        return Err(ReadError::Missing {
            key: dialect.facts().list_key,
            dialect,
        });
    }
    Ok(view)
}
