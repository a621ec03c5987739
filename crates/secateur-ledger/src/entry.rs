//! A row on its way into the database, in any of its forms.

use crate::number::fresh;
use crate::packed::Packed;
use crate::plain::Figures;
use crate::row::{Millis, Row};

/// See the module. What rows are sorted by is at hand without a look at them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'r> {
    pub(crate) at: Millis,
    /// See [`Figures`].
    pub(crate) fresh: Option<i64>,
    /// Its figures; `None`: they are in the row itself.
    own: Option<&'r Packed>,
    /// The row; where its figures and its id are elsewhere, a row like it.
    pub(crate) like: &'r Row,
}

impl<'r> Entry<'r> {
    /// A whole row.
    pub(crate) fn of(row: &'r Row) -> Self {
        Self {
            at: row.at,
            fresh: fresh(&row.id, row.at),
            own: None,
            like: row,
        }
    }

    /// A row like another.
    pub(crate) fn packed(like: &'r Row, own: &'r Packed) -> Self {
        Self {
            at: own.at(),
            fresh: Some(own.fresh()),
            own: Some(own),
            like,
        }
    }

    #[inline]
    pub(crate) fn figures(&self) -> Figures {
        let of_row = || Figures {
            fresh: self.fresh,
            ..Figures::numbers_of(self.like)
        };
        self.own.map_or_else(of_row, Packed::figures)
    }

    /// The figures as a bundle holds them, if it can.
    pub(crate) fn pack(&self) -> Option<Packed> {
        self.own.copied().or_else(|| Packed::of(&self.figures(), 0))
    }

    /// In the order of time, and of one time the same ones one after the other.
    pub(crate) fn sort(entries: &mut [Self]) {
        entries.sort_unstable_by(|one, other| {
            let (key, other_key) = ((one.at, one.fresh), (other.at, other.fresh));
            let by_name = || one.name().cmp(other.name());
            key.cmp(&other_key).then_with(by_name)
        });
    }

    /// The id, where it is not a number.
    fn name(&self) -> &str {
        if self.fresh.is_some() {
            ""
        } else {
            &self.like.id
        }
    }

    /// The whole row.
    pub(crate) fn row(&self) -> Row {
        match self.own {
            Some(own) => own.figures().row_like(self.like),
            None => self.like.clone(),
        }
    }
}
