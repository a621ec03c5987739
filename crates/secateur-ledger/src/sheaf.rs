//! Requests that no mechanic looked at, many in one piece: nearly all of their fields are those of other rows, so each is
//! its own figures and the place of a row like it, of which there are few.

use std::sync::Arc;

use crate::alike::Likeness;
use crate::bundle::{MAX_SPAN, MIN_ROWS};
use crate::entry::Entry;
use crate::packed::Packed;
use crate::record::Record;
use crate::row::{Millis, Row};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sheaf {
    /// All but their figures and ids.
    likes: Vec<Arc<Row>>,
    /// Each with the place of what it is like.
    rows: Vec<Packed>,
    /// The first and the last of their times.
    times: Option<(Millis, Millis)>,
}

impl Sheaf {
    /// An empty one with room for as many rows.
    pub(crate) fn with_room(rows: usize) -> Self {
        Self {
            rows: Vec::with_capacity(rows),
            ..Self::default()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Roughly what it takes in memory, as if what rows are like were its alone.
    pub(crate) fn bytes(&self) -> usize {
        let likes = self.likes.len() * (size_of::<Row>() + 200);
        size_of::<Self>() + likes + self.rows.capacity() * size_of::<Packed>()
    }

    /// A row of this time, like that one. There is room for 255 different ones.
    pub(crate) fn push(&mut self, at: Millis, own: Packed, like: &Likeness) {
        let is_it = |known: &Arc<Row>| Arc::ptr_eq(known, &like.0);
        let place = self.likes.iter().position(is_it).unwrap_or_else(|| {
            self.likes.push(Arc::clone(&like.0));
            self.likes.len() - 1
        });
        let own = own.with_like(u8::try_from(place).unwrap_or(u8::MAX));
        let (first, last) = self.times.unwrap_or((at, at));
        self.times = Some((first.min(at), last.max(at)));
        self.rows.push(own);
    }

    /// Whether it can be kept in one piece: its rows are as many and as near to each other as those of a bundle.
    pub(crate) fn is_a_bundle(&self) -> bool {
        let is_near = |(first, last): (Millis, Millis)| last - first < MAX_SPAN;
        self.len() >= MIN_ROWS && self.times.is_some_and(is_near)
    }

    pub(crate) fn likes(&self) -> impl Iterator<Item = &Row> {
        self.likes.iter().map(|like| &**like)
    }

    pub(crate) fn rows(&self) -> &[Packed] {
        &self.rows
    }

    /// Its rows, each like one of the others.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.rows.iter().filter_map(|own| {
            let like = self.likes.get(own.like())?;
            Some(Entry::packed(like, own))
        })
    }

    /// Its rows as records that are whole by themselves.
    pub(crate) fn single(&self) -> impl Iterator<Item = Record> {
        self.entries()
            .map(|entry| Record::Row(Box::new(entry.row())))
    }
}
