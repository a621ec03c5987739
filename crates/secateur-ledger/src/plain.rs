//! What a row has to itself if no mechanic looked at it: figures. All else is that of other rows.

use crate::number::{self, fresh};
use crate::row::{Millis, Row, UsageRow};

/// What a request has for itself, even if no mechanic looked at it. Fields as in [`Row`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "as in Row")]
pub struct Figures {
    pub(crate) at: Millis,
    /// What tells its id from others of the same millisecond, where the id begins with its time.
    pub(crate) fresh: Option<i64>,
    pub bytes_before: u64,
    pub bytes_after: u64,
    pub response_bytes: u64,
    pub added_us: u64,
    pub upstream_head_us: Option<u64>,
    pub total_us: u64,
    pub usage: UsageRow,
    pub actual_usd: Option<f64>,
    pub actual_input_usd: Option<f64>,
}

impl Figures {
    /// Those of a request with this id, which came in then. The others are zero.
    #[must_use]
    pub fn new(id: &str, at: Millis) -> Self {
        Self {
            at,
            fresh: fresh(id, at),
            ..Self::default()
        }
    }

    /// Those of a row.
    pub(crate) fn of(row: &Row) -> Self {
        Self {
            fresh: fresh(&row.id, row.at),
            ..Self::numbers_of(row)
        }
    }

    /// The same, without a look at its id.
    pub(crate) fn numbers_of(row: &Row) -> Self {
        Self {
            at: row.at,
            fresh: None,
            bytes_before: row.bytes_before,
            bytes_after: row.bytes_after,
            response_bytes: row.response_bytes,
            added_us: row.added_us,
            upstream_head_us: row.upstream_head_us,
            total_us: row.total_us,
            usage: row.usage,
            actual_usd: row.receipt.actual_usd,
            actual_input_usd: row.receipt.actual_input_usd,
        }
    }

    /// Gives a row these figures in place of its own, and the id that they tell.
    pub(crate) fn put_into(&self, row: &mut Row) {
        row.id = self
            .fresh
            .map_or_else(String::new, |fresh| number::id(self.at, fresh));
        self.put_numbers_into(row);
    }

    /// A row like another, with these figures.
    pub(crate) fn row_like(&self, like: &Row) -> Row {
        let mut row = like.clone();
        self.put_into(&mut row);
        row
    }

    pub(crate) fn put_numbers_into(&self, row: &mut Row) {
        row.at = self.at;
        row.bytes_before = self.bytes_before;
        row.bytes_after = self.bytes_after;
        row.response_bytes = self.response_bytes;
        row.added_us = self.added_us;
        row.upstream_head_us = self.upstream_head_us;
        row.total_us = self.total_us;
        row.usage = self.usage;
        row.receipt.actual_usd = self.actual_usd;
        row.receipt.actual_input_usd = self.actual_input_usd;
    }
}

/// Whether it has nothing but what [`Figures`] and [`Alike`](crate::Alike) tell.
pub(crate) fn is_plain(row: &Row) -> bool {
    row.plan.is_none() && row.session.is_none() && !row.has_change()
}
