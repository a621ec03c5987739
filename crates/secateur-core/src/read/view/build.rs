//! How a dialect's reader fills a view.

use super::part::{ArrayElement, Part, TextLiteral};
use super::{PartId, Placement, Role, Turn, TurnId, View};
use crate::read::dialect::Dialect;
use crate::read::error::ReadError;
use secateur_json::{Cursor, JsonStr, Span};

/// More parts than this and the body is passed through: a bound on memory, far above real use.
const MAX_PARTS: usize = 250_000;

/// Bytes of a body to a part, in sessions with tools.
const BYTES_PER_PART: usize = 1024;

#[derive(Debug)]
pub(crate) struct Builder<'a> {
    view: View<'a>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(dialect: Dialect, body: &'a str) -> Self {
        // About what a conversation has; longer texts leave some of it unused.
        let room = body.len() / BYTES_PER_PART;
        Self {
            view: View {
                body,
                dialect,
                model: None,
                turns: Vec::with_capacity(room),
                parts: Vec::with_capacity(room),
                literals: Vec::with_capacity(room),
                items: Vec::with_capacity(room),
                elements: Vec::with_capacity(room),
                list: None,
                history_is_elsewhere: false,
                bare_reasoning: Vec::new(),
            },
        }
    }

    pub(crate) fn finish(self) -> View<'a> {
        self.view
    }

    pub(crate) fn set_model(&mut self, model: Option<JsonStr>) {
        self.view.model = model;
    }

    pub(crate) fn set_list(&mut self, list: Span) {
        self.view.list = Some(list);
    }

    pub(crate) fn lock_history(&mut self) {
        self.view.history_is_elsewhere = true;
    }

    /// Notes reasoning whose follower is not the item that was produced with it.
    pub(crate) fn bare_reasoning(&mut self, at: u32) {
        self.view.bare_reasoning.push(at);
    }

    /// Reads the list of turns: `each` reads one element, and gets its placement.
    pub(crate) fn items(
        &mut self,
        cursor: &mut Cursor<'a>,
        mut each: impl FnMut(&mut Self, &mut Cursor<'a>, Placement) -> Result<(), ReadError>,
    ) -> Result<Span, ReadError> {
        let mut prev_end = None;
        cursor.array(|cursor, _| {
            let start = cursor.at();
            let at = self.view.items.len();
            if prev_end.is_some()
                && let Some(before) = self.view.items.last_mut()
            {
                before.next_start = Some(start);
            }
            self.view.items.push(ArrayElement {
                span: Span::new(start, start),
                prev_end,
                next_start: None,
            });
            each(self, cursor, Placement::Item(index(at)))?;
            self.view.items[at].span.end = cursor.at();
            prev_end = Some(cursor.at());
            Ok(())
        })
    }

    /// Reads an array inside a turn: `each` reads one element, and gets its placement.
    pub(crate) fn elements(
        &mut self,
        cursor: &mut Cursor<'a>,
        mut each: impl FnMut(&mut Self, &mut Cursor<'a>, Placement) -> Result<(), ReadError>,
    ) -> Result<Span, ReadError> {
        let mut previous: Option<(usize, u32)> = None;
        cursor.array(|cursor, _| {
            let start = cursor.at();
            let at = self.view.elements.len();
            if let Some((before, _)) = previous {
                self.view.elements[before].next_start = Some(start);
            }
            self.view.elements.push(ArrayElement {
                span: Span::new(start, start),
                prev_end: previous.map(|(_, end)| end),
                next_start: None,
            });
            each(self, cursor, Placement::Nested(index(at)))?;
            self.view.elements[at].span.end = cursor.at();
            previous = Some((at, cursor.at()));
            Ok(())
        })
    }

    pub(crate) fn parts_so_far(&self) -> u32 {
        index(self.view.parts.len())
    }

    pub(crate) fn slots_so_far(&self) -> u32 {
        index(self.view.literals.len())
    }

    /// Adds an editable text. `placement` is the block that holds it, where it is one of several.
    pub(crate) fn literal(&mut self, text: JsonStr, placement: Placement, is_cache_marked: bool) {
        let element = match placement {
            Placement::Nested(at) => Some(at),
            Placement::Item(_) | Placement::Fixed => None,
        };
        self.view.literals.push(TextLiteral {
            text,
            element,
            is_cache_marked,
        });
    }

    /// Adds a part whose texts are the slots added since `slots_from`.
    pub(crate) fn part(&mut self, mut part: Part, slots_from: u32) -> Result<PartId, ReadError> {
        if self.view.parts.len() >= MAX_PARTS {
            return Err(ReadError::TooManyParts { limit: MAX_PARTS });
        }
        part.literals = (slots_from, self.slots_so_far());
        let id = PartId(self.parts_so_far());
        self.view.parts.push(part);
        Ok(id)
    }

    pub(crate) fn part_mut(&mut self, id: u32) -> Option<&mut Part> {
        self.view.parts.get_mut(id as usize)
    }

    /// Closes a turn over the item just read and the parts added since `parts_from`.
    pub(crate) fn turn(&mut self, role: Role, parts_from: u32) {
        let parts_to = self.parts_so_far();
        let items = index(self.view.items.len());
        let turn = TurnId(index(self.view.turns.len()));
        self.own(parts_from, parts_to, turn);
        self.view.turns.push(Turn {
            role,
            items: (items - 1, items),
            parts: (parts_from, parts_to),
        });
    }

    /// Closes a turn that is no element of a list (an `input` given as a plain string).
    pub(crate) fn lone_turn(&mut self, role: Role, parts_from: u32) {
        let parts_to = self.parts_so_far();
        let turn = TurnId(index(self.view.turns.len()));
        self.own(parts_from, parts_to, turn);
        self.view.turns.push(Turn {
            role,
            items: (0, 0),
            parts: (parts_from, parts_to),
        });
    }

    /// Adds the item just read to the last turn if that is an assistant's, else closes a new one.
    pub(crate) fn assistant_item(&mut self, parts_from: u32) {
        let turn = TurnId(index(self.view.turns.len().saturating_sub(1)));
        let (items, parts_to) = (index(self.view.items.len()), self.parts_so_far());
        match self.view.turns.last_mut() {
            Some(last) if last.role == Role::Assistant => {
                last.items.1 = items;
                last.parts.1 = parts_to;
                self.own(parts_from, parts_to, turn);
            }
            _ => self.turn(Role::Assistant, parts_from),
        }
    }

    fn own(&mut self, from: u32, to: u32, turn: TurnId) {
        for part in &mut self.view.parts[from as usize..to as usize] {
            part.turn = Some(turn);
        }
    }
}

/// Counts are bounded by the body, whose length fits 32 bits.
fn index(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
