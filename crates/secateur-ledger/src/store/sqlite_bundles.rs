//! Which new rows go into a bundle, and bundles into SQLite and back.

use std::collections::BTreeSet;

use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, ValueRef};

use super::several::{Places, Several};
use super::sqlite::explain;
use super::sqlite_rows::Placed;
use crate::bundle::{self, Bundle, Bundled, Entries, Like, MAX_ROWS, MAX_SPAN, MIN_ROWS};
use crate::error::LedgerError;
use crate::packed::Packed;

/// New rows by how they are kept, in the order of their numbers.
#[derive(Default)]
pub(super) struct Split<'r> {
    pub(super) bundles: Vec<Bundle>,
    pub(super) single: Vec<Placed<'r>>,
}

/// A row that a bundle can tell.
struct Fit<'r> {
    row: Placed<'r>,
    own: Packed,
    like: Like,
}

impl<'r> Split<'r> {
    /// They must be in the order of time.
    pub(super) fn of(placed: Vec<Placed<'r>>) -> Self {
        let mut split = Self::default();
        let mut open: Vec<Fit<'r>> = Vec::new();
        for row in placed {
            // Most rows by themselves are told apart by this, and need no packing.
            let fit = |like: Like| Some((like, row.entry.pack()?));
            let Some((like, own)) = row.common.like.and_then(fit) else {
                split.single.push(row);
                continue;
            };
            let is_far = |first: &Fit<'_>| row.entry.at - first.row.entry.at >= MAX_SPAN;
            if open.len() == MAX_ROWS || open.first().is_some_and(is_far) {
                split.close(&mut open);
            }
            open.push(Fit { row, own, like });
        }
        split.close(&mut open);
        split.single.sort_unstable_by_key(|row| row.seq);
        split
    }

    fn close(&mut self, open: &mut Vec<Fit<'r>>) {
        if open.len() < MIN_ROWS {
            self.single.extend(open.drain(..).map(|fit| fit.row));
        } else {
            self.bundles.push(bundle_of(open));
            open.clear();
        }
    }
}

/// At most [`MAX_ROWS`].
fn bundle_of(rows: &[Fit<'_>]) -> Bundle {
    let mut likes: Vec<Like> = Vec::new();
    let mut packed = Vec::with_capacity(rows.len());
    for fit in rows {
        let known = likes.iter().position(|like| *like == fit.like);
        let place = known.unwrap_or_else(|| {
            likes.push(fit.like);
            likes.len() - 1
        });
        let place = u8::try_from(place).unwrap_or(u8::MAX);
        packed.push((fit.row.seq, fit.own.with_like(place)));
    }
    Bundle::of(packed.into_iter(), likes)
}

/// The statements that write bundles.
#[derive(Debug)]
pub(super) struct Bundles {
    bundle: Several,
    series: Several,
}

impl Bundles {
    pub(super) fn new() -> Self {
        Self {
            bundle: Several::new("audit_bundle", &["seq", "last_seq", "entries"]),
            series: Several::new("audit_bundle_series", &["series", "bundle"]),
        }
    }

    pub(super) fn insert(
        &self,
        connection: &Connection,
        bundles: impl Iterator<Item = Bundle>,
        rest: &dyn Fn(),
    ) -> rusqlite::Result<()> {
        let mut series = BTreeSet::new();
        for bundle in bundles {
            let bind = |places: &mut Places<'_>, bundle: &Bundle| {
                places.put(Some(bundle.first))?;
                places.put(Some(bundle.last))?;
                places.put(Some(ToSqlOutput::Borrowed(ValueRef::Blob(&bundle.entries))))
            };
            series.extend(bundle.likes.iter().map(|like| (like.series, bundle.first)));
            self.bundle.insert(connection, &[bundle], bind, rest)?;
        }
        let series: Vec<(u32, i64)> = series.into_iter().collect();
        let bind = |places: &mut Places<'_>, (series, bundle): &(u32, i64)| {
            places.put(Some(series))?;
            places.put(Some(bundle))
        };
        self.series.insert(connection, &series, bind, rest)
    }
}

/// The rows in bundles with numbers from `from` to `to`, in their order.
pub(super) fn between(
    connection: &Connection,
    from: i64,
    to: i64,
) -> Result<Vec<Bundled>, LedgerError> {
    let mut found = Vec::new();
    let mut find = connection
        .prepare_cached(bundle::BETWEEN)
        .map_err(explain)?;
    let mut bundles = find.query(bundle::between(from, to)).map_err(explain)?;
    while let Some(row) = bundles.next().map_err(explain)? {
        let first = row.get(0).map_err(explain)?;
        let entries = match row.get_ref(1).map_err(explain)? {
            ValueRef::Blob(packed) => Entries::Packed(packed),
            other => Entries::Json(other.as_str().map_err(|error| explain(error.into()))?),
        };
        found.extend(bundle::read(first, entries)?);
    }
    found.retain(|row| (from..=to).contains(&row.seq));
    Ok(found)
}
