//! The dialect-neutral picture of a body: turns, parts and texts, as spans.
//!
//! **Invariant:** a view owns no text. It is read-only, and everything in it points into the body.

mod build;
mod exchange;
mod part;

use std::borrow::Cow;

pub(crate) use build::Builder;
pub use exchange::Exchanges;
pub use part::{ArgsForm, ArrayElement, ContentForm, Part, PartKind, Placement};

use crate::read::dialect::Dialect;
use secateur_json::{JsonStr, Span, strings::count_chars};

/// Index of a turn in its view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct TurnId(pub u32);

/// Index of a part in its view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct PartId(pub u32);

impl TurnId {
    /// As an index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl PartId {
    /// As an index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Who speaks in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Instructions inside the list of turns (`system`, `developer`).
    System,
    /// The user. In some dialects tool results come in user turns too.
    User,
    /// The model.
    Assistant,
    /// A turn that only carries a tool's result.
    Tool,
    /// A role that this version does not know. Never touched.
    Other,
}

/// One message. In the Responses dialect: one input item, except that the items which the model
/// produced in one go (reasoning, calls, text) are one turn, as they are in the other dialects.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Who speaks.
    pub role: Role,
    items: (u32, u32),
    parts: (u32, u32),
}

/// A request as turns and parts, whatever its wire format: spans into the body, nothing copied.
#[derive(Debug)]
pub struct View<'a> {
    body: &'a str,
    dialect: Dialect,
    model: Option<JsonStr>,
    turns: Vec<Turn>,
    parts: Vec<Part>,
    literals: Vec<part::TextLiteral>,
    /// Seats of the elements of the list of turns.
    items: Vec<ArrayElement>,
    /// Seats of the elements of all other arrays.
    elements: Vec<ArrayElement>,
    list: Option<Span>,
    history_is_elsewhere: bool,
    bare_reasoning: Vec<u32>,
}

impl<'a> View<'a> {
    /// The bytes that were read.
    #[must_use]
    pub fn body(&self) -> &'a str {
        self.body
    }

    /// The wire format.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The model's name, where the body has one (Gemini names it in the URL).
    #[must_use]
    pub fn model(&self) -> Option<Cow<'a, str>> {
        self.model.map(|name| name.decode(self.body))
    }

    /// Characters of the body as sent.
    #[must_use]
    pub fn body_chars(&self) -> usize {
        count_chars(self.body.as_bytes())
    }

    /// Whether the provider holds earlier turns (`previous_response_id`): then nothing may be cut,
    /// because what the body shows is not the history.
    #[must_use]
    pub fn history_is_elsewhere(&self) -> bool {
        self.history_is_elsewhere
    }

    /// Positions of reasoning whose follower is not the item that was produced with it.
    pub(crate) fn bare_reasoning(&self) -> &[u32] {
        &self.bare_reasoning
    }

    /// The array that holds the turns, with its brackets.
    #[must_use]
    pub fn list(&self) -> Option<Span> {
        self.list
    }

    /// All turns in order.
    #[must_use]
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// All turns with their ids.
    pub fn turn_ids(&self) -> impl DoubleEndedIterator<Item = TurnId> + ExactSizeIterator + use<> {
        (0..u32::try_from(self.turns.len()).unwrap_or(u32::MAX)).map(TurnId)
    }

    /// One turn.
    #[must_use]
    pub fn turn(&self, id: TurnId) -> &Turn {
        &self.turns[id.index()]
    }

    /// All parts, those of system texts included, in body order.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// All parts with their ids.
    pub fn part_ids(&self) -> impl DoubleEndedIterator<Item = PartId> + use<> {
        (0..u32::try_from(self.parts.len()).unwrap_or(u32::MAX)).map(PartId)
    }

    /// One part.
    #[must_use]
    pub fn part(&self, id: PartId) -> &Part {
        &self.parts[id.index()]
    }

    /// Where the parts of a turn start, also if it has none.
    #[must_use]
    pub fn parts_start(&self, turn: TurnId) -> PartId {
        PartId(self.turn(turn).parts.0)
    }

    /// The parts of a turn.
    pub fn parts_of(&self, turn: TurnId) -> impl DoubleEndedIterator<Item = PartId> + use<> {
        let (start, end) = self.turn(turn).parts;
        (start..end).map(PartId)
    }

    /// One past the index of a turn's last part.
    pub(crate) fn parts_end(&self, turn: TurnId) -> usize {
        self.turn(turn).parts.1 as usize
    }

    /// The elements of the turns' array that make up a turn.
    #[must_use]
    pub fn items_of(&self, turn: TurnId) -> &[ArrayElement] {
        let (start, end) = self.turn(turn).items;
        &self.items[start as usize..end as usize]
    }

    /// The index of a turn's first element in the turns' array.
    #[must_use]
    pub fn item_index(&self, turn: TurnId) -> Option<usize> {
        let (start, end) = self.turn(turn).items;
        (start < end).then_some(start as usize)
    }

    /// All elements of the turns' array.
    #[must_use]
    pub fn items(&self) -> &[ArrayElement] {
        &self.items
    }

    /// From the first to the last byte of a turn.
    #[must_use]
    pub fn turn_span(&self, turn: TurnId) -> Span {
        let items = self.items_of(turn);
        match (items.first(), items.last()) {
            (Some(first), Some(last)) => Span::new(first.span.start, last.span.end),
            _ => Span::default(),
        }
    }

    /// The array element that a part is.
    #[must_use]
    pub fn element(&self, part: PartId) -> Option<ArrayElement> {
        match self.part(part).placement {
            Placement::Item(at) => self.items.get(at as usize).copied(),
            Placement::Nested(at) => self.elements.get(at as usize).copied(),
            Placement::Fixed => None,
        }
    }

    pub(crate) fn literals(&self, part: PartId) -> &[part::TextLiteral] {
        let (start, end) = self.part(part).literals;
        &self.literals[start as usize..end as usize]
    }

    pub(crate) fn literal_element(&self, literal: &part::TextLiteral) -> Option<ArrayElement> {
        self.elements.get(literal.element? as usize).copied()
    }

    /// Characters of a part's text: what [`View::text`] has, without making it.
    #[must_use]
    pub fn chars(&self, id: PartId) -> usize {
        let literals = self.literals(id);
        if literals.is_empty() {
            return match self.part(id).form {
                ContentForm::Json => count_chars(self.part(id).value.of(self.body).as_bytes()),
                _ => 0,
            };
        }
        let separators = literals.len() - 1;
        separators
            + literals
                .iter()
                .map(|literal| literal.text.chars())
                .sum::<usize>()
    }

    /// The decoded text of a part: its text blocks joined by a newline. A structured Gemini result
    /// is its JSON text. Empty for parts without text.
    #[must_use]
    pub fn text(&self, id: PartId) -> Cow<'a, str> {
        match self.literals(id) {
            [] => match self.part(id).form {
                ContentForm::Json => Cow::Borrowed(self.part(id).value.of(self.body)),
                _ => Cow::Borrowed(""),
            },
            [only] => only.text.decode(self.body),
            many => {
                let texts: Vec<_> = many
                    .iter()
                    .map(|literal| literal.text.decode(self.body))
                    .collect();
                Cow::Owned(texts.join("\n"))
            }
        }
    }

    /// Characters of a part as sent: a thinking block, arguments, a content.
    pub(crate) fn value_chars(&self, id: PartId) -> usize {
        count_chars(self.part(id).value.of(self.body).as_bytes())
    }

    /// The beginning of a part's text, up to about `max_bytes` of its first block.
    #[must_use]
    pub fn text_start(&self, id: PartId, max_bytes: usize) -> Cow<'a, str> {
        match self.literals(id) {
            [] => match self.text(id) {
                Cow::Borrowed(text) => Cow::Borrowed(&text[..text.floor_char_boundary(max_bytes)]),
                owned @ Cow::Owned(_) => owned,
            },
            [first, ..] => first.text.decode_start(self.body, max_bytes),
        }
    }

    /// A call's or result's tool name, as written.
    #[must_use]
    pub fn name(&self, id: PartId) -> Option<Cow<'a, str>> {
        self.part(id).name.map(|name| name.decode(self.body))
    }

    /// A call's arguments as JSON text, however the dialect writes them.
    #[must_use]
    pub fn args(&self, id: PartId) -> Cow<'a, str> {
        let part = self.part(id);
        match (part.args, part.literals.0) {
            (ArgsForm::None, _) => Cow::Borrowed(""),
            (ArgsForm::Value, _) => Cow::Borrowed(part.value.of(self.body)),
            (ArgsForm::Text, at) => self.literals[at as usize].text.decode(self.body),
        }
    }

    /// Characters of a call's arguments as sent.
    #[must_use]
    pub fn args_chars(&self, id: PartId) -> usize {
        let part = self.part(id);
        match part.args {
            ArgsForm::None => 0,
            ArgsForm::Value => count_chars(part.value.of(self.body).as_bytes()),
            ArgsForm::Text => self.chars(id),
        }
    }

    /// How many text blocks a part's text is made of.
    #[must_use]
    pub fn text_blocks(&self, id: PartId) -> usize {
        self.literals(id).len()
    }

    /// Whether the turn holds something that its author wrote or attached, as opposed to results.
    #[must_use]
    pub fn is_authored(&self, turn: TurnId) -> bool {
        self.parts_of(turn)
            .any(|part| !matches!(self.part(part).kind, PartKind::Result))
    }

    /// Whether this is a user turn that a user wrote (and not only tool results).
    #[must_use]
    pub fn is_user_authored(&self, turn: TurnId) -> bool {
        self.turn(turn).role == Role::User && self.is_authored(turn)
    }

    /// Whether the turn carries a call or a result, of whatever kind.
    #[must_use]
    pub fn touches_tools(&self, turn: TurnId) -> bool {
        self.parts_of(turn).any(|part| {
            matches!(
                self.part(part).kind,
                PartKind::Call | PartKind::Result | PartKind::ServerTool
            )
        })
    }

    /// The first turn that a user wrote.
    #[must_use]
    pub fn first_user(&self) -> Option<TurnId> {
        self.turn_ids().find(|&turn| self.is_user_authored(turn))
    }

    /// The last turn that a user wrote.
    #[must_use]
    pub fn last_user(&self) -> Option<TurnId> {
        self.turn_ids()
            .rev()
            .find(|&turn| self.is_user_authored(turn))
    }

    /// What pairs a call with its result: whether it is an id, and the id, or without one the tool's name.
    pub(crate) fn pairing_key(&self, part: PartId) -> (bool, Cow<'a, str>) {
        let part = self.part(part);
        match (part.id, part.name) {
            (Some(id), _) => (true, id.decode(self.body)),
            (None, Some(name)) => (false, name.decode(self.body)),
            (None, None) => (false, Cow::Borrowed("")),
        }
    }

    /// The calls and results that belong together.
    #[must_use]
    pub fn exchanges(&self) -> Exchanges {
        Exchanges::of(self)
    }
}
