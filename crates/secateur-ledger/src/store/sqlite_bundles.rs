//! Which new rows go into a bundle, and bundles into SQLite and back.

use std::collections::BTreeSet;

use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, ValueRef};

use super::several::{Places, Several};
use super::sqlite::explain;
use super::sqlite_rows::Placed;
use crate::bundle::{self, Bundled, MAX_ROWS, MAX_SPAN, MIN_ROWS};
use crate::error::LedgerError;

/// New rows by how they are kept, in the order of their numbers.
#[derive(Default)]
pub(super) struct Split<'r> {
    pub(super) bundles: Vec<Vec<Placed<'r>>>,
    pub(super) single: Vec<Placed<'r>>,
}

impl<'r> Split<'r> {
    /// They must be in the order of time.
    pub(super) fn of(placed: Vec<Placed<'r>>) -> Self {
        let mut split = Self::default();
        let mut open: Vec<Placed<'r>> = Vec::new();
        for row in placed {
            if !fits(&row) {
                split.single.push(row);
                continue;
            }
            let is_far = |first: &Placed<'_>| row.entry.at - first.entry.at >= MAX_SPAN;
            if open.len() == MAX_ROWS || open.first().is_some_and(is_far) {
                split.close(&mut open);
            }
            open.push(row);
        }
        split.close(&mut open);
        split.single.sort_unstable_by_key(|row| row.seq);
        split
    }

    fn close(&mut self, open: &mut Vec<Placed<'r>>) {
        if open.len() < MIN_ROWS {
            self.single.append(open);
        } else {
            let room = Vec::with_capacity(MAX_ROWS);
            self.bundles.push(std::mem::replace(open, room));
        }
    }
}

fn fits(row: &Placed<'_>) -> bool {
    row.common.tells_by_figures && row.entry.fits_a_bundle()
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
        bundles: &[Vec<Placed<'_>>],
        rest: &dyn Fn(),
    ) -> rusqlite::Result<()> {
        let mut series = BTreeSet::new();
        for rows in bundles {
            let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
                continue;
            };
            let bundled = rows.iter().map(|row| Bundled {
                seq: row.seq,
                series: row.common.series,
                kind: row.common.kind,
                own: row.entry.figures(),
            });
            let json = bundle::write(first.seq, bundled);
            let bind = |places: &mut Places<'_>, _: &()| {
                places.put(Some(first.seq))?;
                places.put(Some(last.seq))?;
                places.put(Some(ToSqlOutput::Borrowed(ValueRef::Text(&json))))
            };
            self.bundle.insert(connection, &[()], bind, rest)?;
            // Most rows are of the series of the one before.
            for of_one in rows.chunk_by(|one, next| one.common.series == next.common.series) {
                series.extend(of_one.first().map(|row| (row.common.series, first.seq)));
            }
        }
        let series: Vec<(i64, i64)> = series.into_iter().collect();
        let bind = |places: &mut Places<'_>, (series, bundle): &(i64, i64)| {
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
        let json = row.get_ref(1).map_err(explain)?;
        let json = json.as_str().map_err(|error| explain(error.into()))?;
        found.extend(bundle::read(first, json)?);
    }
    found.retain(|row| (from..=to).contains(&row.seq));
    Ok(found)
}
