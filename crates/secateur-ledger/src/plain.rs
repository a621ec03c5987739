//! Rows that no mechanic looked at: nearly all of their fields are those of other rows. While such a row waits, it is
//! its own figures and a row like it, which many share: it allocates nothing, so there is nothing of it to be freed on
//! another thread than the one that made it.

use std::cell::RefCell;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::alike::Alike;
use crate::number::{self, LAST_TIME, fresh};
use crate::row::{Millis, Row, UsageRow};

/// Rows that are remembered for those like them, by thread.
const MAX_REMEMBERED: usize = 4;

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

    pub(crate) fn of(row: &Row) -> Self {
        Self {
            bytes_before: row.bytes_before,
            bytes_after: row.bytes_after,
            response_bytes: row.response_bytes,
            added_us: row.added_us,
            upstream_head_us: row.upstream_head_us,
            total_us: row.total_us,
            usage: row.usage,
            actual_usd: row.receipt.actual_usd,
            actual_input_usd: row.receipt.actual_input_usd,
            ..Self::new(&row.id, row.at)
        }
    }

    /// Gives a row these figures in place of its own, and the id that they tell.
    fn put_into(&self, row: &mut Row) {
        row.id = self
            .fresh
            .map_or_else(String::new, |fresh| number::id(self.at, fresh));
        self.put_numbers_into(row);
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

thread_local! {
    /// The one that was found last first.
    static REMEMBERED: RefCell<Vec<Arc<Row>>> = const { RefCell::new(Vec::new()) };
}

/// Whether it has nothing but what [`Figures`] and [`Alike`] tell.
pub(crate) fn is_plain(row: &Row) -> bool {
    row.plan.is_none() && row.session.is_none() && !row.has_change()
}

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plain {
    /// All but what [`Figures`] holds.
    like: Arc<Row>,
    own: Figures,
}

impl Plain {
    /// `None`: the row has more to itself than figures, or see [`Plain::find`].
    pub(crate) fn like_another(row: &Row) -> Option<Self> {
        if is_plain(row) {
            Self::find(&row.alike(), Figures::of(row))
        } else {
            None
        }
    }

    /// `None`: it is the first of its like, or its time or id cannot be kept as a number. What is like a row that is fit
    /// for any database is fit itself, so this need not be.
    pub(crate) fn find(alike: &Alike<'_>, mut own: Figures) -> Option<Self> {
        let is_in_range = (0..=LAST_TIME).contains(&own.at);
        if !is_in_range || own.fresh.is_none() {
            return None;
        }
        own.actual_usd = own.actual_usd.filter(|usd| usd.is_finite());
        own.actual_input_usd = own.actual_input_usd.filter(|usd| usd.is_finite());
        let like = REMEMBERED.with_borrow_mut(|remembered| {
            let at = remembered.iter().position(|like| like.alike() == *alike)?;
            remembered.swap(0, at);
            remembered.first().map(Arc::clone)
        })?;
        Some(Self { like, own })
    }

    /// The same for a row that is fit, and may be the first of its like.
    pub(crate) fn of(row: &Row) -> Option<Self> {
        let own = Figures::of(row);
        if !is_plain(row) || own.fresh.is_none() {
            return None;
        }
        let mut like = row.clone();
        Figures::default().put_into(&mut like);
        let like = Arc::new(like);
        REMEMBERED.with_borrow_mut(|remembered| {
            remembered.truncate(MAX_REMEMBERED - 1);
            remembered.insert(0, Arc::clone(&like));
        });
        Some(Self { like, own })
    }

    /// The whole row.
    pub(crate) fn row(&self) -> Row {
        let mut row = (*self.like).clone();
        self.own.put_into(&mut row);
        row
    }

    pub(crate) fn parts(&self) -> (&Row, &Figures) {
        (&self.like, &self.own)
    }
}

/// In the spool it is a row like any other.
impl Serialize for Plain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.row().serialize(serializer)
    }
}

/// A row on its way into the database, in either form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'r> {
    pub(crate) own: &'r Figures,
    /// The row; where its own figures and its id are elsewhere, a row like it.
    pub(crate) like: &'r Row,
}

impl Entry<'_> {
    /// In the order of time, and of one time the same ones one after the other.
    pub(crate) fn sort(entries: &mut Vec<Self>) {
        // What is compared lies side by side, without a look at the row. No time is negative.
        let key = |own: &Figures| {
            let [at, fresh] = [own.at, own.fresh.unwrap_or(0)].map(i64::cast_unsigned);
            (u128::from(at) << 64) | u128::from(fresh)
        };
        let mut keyed: Vec<(u128, Self)> = entries
            .drain(..)
            .map(|entry| (key(entry.own), entry))
            .collect();
        keyed.sort_unstable_by(|(key, entry), (other_key, other)| {
            let by_name = || entry.name().cmp(other.name());
            key.cmp(other_key).then_with(by_name)
        });
        entries.extend(keyed.into_iter().map(|(_, entry)| entry));
    }

    /// The id, where it is not a number.
    fn name(&self) -> &str {
        if self.own.fresh.is_some() {
            ""
        } else {
            &self.like.id
        }
    }

    /// The whole row.
    pub(crate) fn row(&self) -> Row {
        let mut row = self.like.clone();
        let name = std::mem::take(&mut row.id);
        self.own.put_into(&mut row);
        if row.id.is_empty() {
            row.id = name;
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{ReceiptRow, StepRow};

    fn row(number: i64) -> Row {
        let at = 1_794_787_200_000 + number;
        let count = number.cast_unsigned();
        Row {
            id: number::id(at, number.wrapping_mul(0x1e37_79b9_7f4a_7c15)),
            at,
            workload: "w".into(),
            provider: "openai".into(),
            model: (number % 2 == 0).then(|| format!("m{}", number % 12)),
            status: if number % 5 == 0 { 500 } else { 200 },
            bytes_before: count,
            bytes_after: count + 1,
            response_bytes: 9,
            added_us: count,
            upstream_head_us: (number % 3 == 0).then_some(4),
            total_us: 7,
            usage: UsageRow {
                input: Some(count),
                ..UsageRow::default()
            },
            receipt: ReceiptRow {
                actual_usd: Some(0.5),
                actual_input_usd: Some(0.25),
                ..ReceiptRow::default()
            },
            ended: "complete".into(),
            ..Row::default()
        }
    }

    #[test]
    fn a_plain_row_comes_back_as_it_was() {
        for number in 0..200 {
            let row = row(number);
            let plain = Plain::like_another(&row)
                .or_else(|| Plain::of(&row))
                .unwrap();
            assert_eq!(plain.row(), row);
            let (like, own) = plain.parts();
            assert_eq!(Entry { own, like }.row(), row);
            let own = Figures::of(&row);
            let whole = Entry {
                own: &own,
                like: &row,
            };
            assert_eq!(whole.row(), row);
            assert_eq!(
                serde_json::to_string(&plain).unwrap(),
                serde_json::to_string(&row).unwrap()
            );
        }
    }

    #[test]
    fn a_row_with_more_to_itself_is_not_plain() {
        let changes: [fn(&mut Row); 6] = [
            |row| row.id = "posted".into(),
            |row| row.plan = Some("{}".into()),
            |row| row.session = Some("s".into()),
            |row| row.chars_after = Some(1),
            |row| row.receipt.saved_usd = Some(0.1),
            |row| {
                row.steps.push(StepRow {
                    mechanic: "m7".into(),
                    skipped: None,
                });
            },
        ];
        assert!(Plain::of(&row(1)).is_some() && Plain::like_another(&row(1)).is_some());
        for change in changes {
            let mut row = row(1);
            change(&mut row);
            assert_eq!(Plain::of(&row), None, "{row:?}");
            assert_eq!(Plain::like_another(&row), None, "{row:?}");
        }
    }

    #[test]
    fn what_is_not_fit_is_made_fit_also_where_another_is_alike() {
        assert!(Plain::of(&row(2)).is_some());
        let mut unfit = row(2);
        unfit.receipt.actual_usd = Some(f64::NAN);
        let plain = Plain::like_another(&unfit).unwrap();
        assert_eq!(plain.row().receipt.actual_usd, None);
        unfit.workload.push('\0');
        assert_eq!(Plain::like_another(&unfit), None);
        let late = Row {
            at: LAST_TIME + 1,
            ..row(2)
        };
        assert_eq!(Plain::like_another(&late), None);
    }
}
