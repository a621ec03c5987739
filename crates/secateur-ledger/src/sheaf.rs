//! Requests that no mechanic looked at, many in one piece: nearly all of their fields are those of other rows, so each is
//! its own figures and the place of a row like it, of which there are few.

use std::sync::Arc;

use crate::entry::Entry;
use crate::packed::Packed;
use crate::record::Record;
use crate::row::Row;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sheaf {
    /// All but their figures and ids.
    likes: Vec<Arc<Row>>,
    /// Each with the place of what it is like.
    rows: Vec<Packed>,
}

impl Sheaf {
    /// An empty one with room for as many rows.
    pub(crate) fn with_room(rows: usize) -> Self {
        Self {
            likes: Vec::new(),
            rows: Vec::with_capacity(rows),
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

    /// A new row that others can be like; its place.
    pub(crate) fn add_like(&mut self, like: &Arc<Row>) -> usize {
        self.likes.push(Arc::clone(like));
        self.likes.len() - 1
    }

    /// A row like the one at its place.
    pub(crate) fn push(&mut self, own: Packed) {
        self.rows.push(own);
    }

    /// Its rows, each like one of the others.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.rows.iter().filter_map(|own| {
            let like = self.likes.get(own.like as usize)?;
            Some(Entry::packed(like, own))
        })
    }

    /// Its rows as records that are whole by themselves.
    pub(crate) fn single(&self) -> impl Iterator<Item = Record> {
        self.entries()
            .map(|entry| Record::Row(Box::new(entry.row())))
    }
}
