//! One content block, call, result or system text.

use super::TurnId;
use secateur_json::{JsonStr, Span};

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// Prose or code that the turn's author wrote.
    Text,
    /// A call of one of the client's tools.
    Call,
    /// The result of such a call.
    Result,
    /// The model's reasoning. Kept or removed whole, never altered.
    Thinking,
    /// An image, audio, video, document or file.
    Media,
    /// A tool that the provider ran itself, call or result. Opaque.
    ServerTool,
    /// Anything this version does not know. Opaque.
    Opaque,
}

/// Where a part sits, which decides whether it can be removed alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// An element of the list of turns (Responses items).
    Item(u32),
    /// An element of an array inside a turn.
    Nested(u32),
    /// A member of an object: cannot be removed alone.
    Fixed,
}

/// An element of an array together with its neighbours, which is what removing it takes.
#[derive(Clone, Copy, Debug)]
pub struct ArrayElement {
    /// The element's bytes.
    pub span: Span,
    /// Where the element before it ends; `None` for the first.
    pub prev_end: Option<u32>,
    /// Where the element after it starts; `None` for the last.
    pub next_start: Option<u32>,
}

/// How the text of a result (or text part) is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentForm {
    /// No text.
    Empty,
    /// One string literal.
    Str,
    /// An array of text blocks.
    Blocks,
    /// A JSON object that is not text (a structured Gemini response).
    Json,
}

/// How the arguments of a call are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgsForm {
    /// Not a call, or a call without arguments.
    None,
    /// A JSON value.
    Value,
    /// A string literal (JSON in a string, or free text).
    Text,
}

/// A string literal with editable text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextLiteral {
    pub(crate) text: JsonStr,
    /// The block that holds it, where it is one of several.
    pub(crate) element: Option<u32>,
    /// The block carries a `cache_control` marker, so it should be the one that survives.
    pub(crate) is_cache_marked: bool,
}

/// See [`PartKind`].
#[derive(Clone, Debug)]
pub struct Part {
    /// The turn it belongs to; `None` for system texts outside the list of turns.
    pub turn: Option<TurnId>,
    /// What it is.
    pub kind: PartKind,
    /// Where it sits.
    pub placement: Placement,
    /// The call id that pairs a call with its result.
    pub id: Option<JsonStr>,
    /// The tool's name (a result has one only where the dialect writes it).
    pub name: Option<JsonStr>,
    /// The arguments of a call; the content of a result or text; otherwise the whole part.
    pub value: Span,
    /// How `value` is written, for texts and results.
    pub form: ContentForm,
    /// How `value` is written, for calls.
    pub args: ArgsForm,
    /// A result that the client marked as failed.
    pub is_error: bool,
    /// A result that holds images, documents or blocks of unknown kind.
    pub has_media: bool,
    /// Carries a signature or encrypted content that binds it.
    pub is_signed: bool,
    pub(crate) literals: (u32, u32),
}

impl Part {
    /// An empty part of this kind.
    pub(crate) fn new(kind: PartKind, placement: Placement) -> Self {
        Self {
            turn: None,
            kind,
            placement,
            id: None,
            name: None,
            value: Span::default(),
            form: ContentForm::Empty,
            args: ArgsForm::None,
            is_error: false,
            has_media: false,
            is_signed: false,
            literals: (0, 0),
        }
    }
}
