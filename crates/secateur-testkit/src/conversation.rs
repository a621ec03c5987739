//! A conversation without a dialect.

use crate::json::Json;
use crate::spelling::Spelling;

/// A conversation that can be written in every dialect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    /// The model's name; empty leaves it out.
    pub model: String,
    /// System texts outside the list of turns (in chat: turns at its start).
    pub system: Vec<String>,
    /// A single system text is written as a plain string, where the dialect has both forms.
    pub system_as_string: bool,
    /// The turns.
    pub turns: Vec<Turn>,
    /// The provider holds earlier turns (Responses only).
    pub history_elsewhere: bool,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Instructions in the list of turns. Left out where the dialect has none.
    System(String),
    /// The user's.
    User(Vec<Part>),
    /// The model's.
    Assistant(Vec<Part>),
    /// Results of calls, each group one message where the dialect lets several share one. Text
    /// behind them stands in the same message where the dialect allows.
    Results {
        /// The groups.
        groups: Vec<Vec<ToolResult>>,
        /// The user's words behind the last group.
        then: Option<String>,
        /// The user's words before the first group, in the same message.
        first: Option<String>,
    },
    /// A message of a role that nobody knows.
    Stranger(String),
}

/// One content block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text as a block of its own.
    Text(String),
    /// Text as the plain string that is the whole content, if it is the only part.
    Plain(String),
    /// Text that carries a cache marker, where the dialect has one.
    Marked(String),
    /// An image, document, sound or file.
    Media(Media),
    /// The model's reasoning.
    Thinking(Thinking),
    /// A call of the client's tool.
    Call(Call),
    /// A tool that the provider ran, call and result.
    ServerTool(String),
    /// A summary that the provider made.
    Compaction(String),
    /// A block of a kind that nobody knows.
    Unknown(String),
}

/// Kinds of media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// An image.
    Image,
    /// A document or file.
    Document,
    /// Sound.
    Audio,
}

/// Kinds of reasoning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// With its text and signature.
    Signed(String),
    /// Encrypted.
    Redacted,
}

/// A call of one of the client's tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Pairs it with its result.
    pub id: String,
    /// Gemini writes no id: name and order pair it.
    pub by_name: bool,
    /// The tool.
    pub name: String,
    /// The arguments.
    pub args: Vec<(String, Json)>,
    /// Chat's old `function_call`.
    pub legacy: bool,
    /// Signed, where the dialect signs calls.
    pub signed: bool,
}

/// What a tool returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The call's id.
    pub id: String,
    /// Gemini writes no id: name and order pair it.
    pub by_name: bool,
    /// The tool.
    pub name: String,
    /// The content.
    pub content: ResultContent,
    /// The client marked it as failed.
    pub is_error: bool,
    /// It answers a legacy call.
    pub legacy: bool,
}

/// The content of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultContent {
    /// A plain string.
    Plain(String),
    /// Text blocks.
    Blocks(Vec<String>),
    /// Text and an image.
    WithImage(String),
    /// An object, where the dialect has one.
    Structured(Vec<(String, Json)>),
    /// Nothing.
    Empty,
}

impl Part {
    /// Plain text as the whole content.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self::Plain(text.into())
    }
}

impl ResultContent {
    /// The text, blocks joined by newlines.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Plain(text) | Self::WithImage(text) => text.clone(),
            Self::Blocks(texts) => texts.join("\n"),
            Self::Structured(members) => {
                String::from_utf8_lossy(&Spelling::default().write(&Json::Obj(members.clone())))
                    .into_owned()
            }
            Self::Empty => String::new(),
        }
    }
}
