//! Rows of the audit into SQLite, each once.
//!
//! A row gets its number when it comes in: its time, and the next turn of that millisecond. A millisecond after all
//! that are there has no rows yet, so most rows are new without a look at the table. Those of an earlier one, late or
//! replayed, are compared with its rows. Where many come together that have little to tell, they are bundled
//! (`sqlite_bundles`).

use std::collections::HashSet;

use rusqlite::Connection;

use super::common::{Common, Commons, Recent};
use super::several::{Places, Several};
use super::sqlite::explain;
use super::sqlite_bundles::{self, Bundles, Split};
use crate::columns::{is_trouble, steps_json};
use crate::error::LedgerError;
use crate::ingest::pack;
use crate::number::{self, LAST_TURN, first_at};
use crate::plain::Entry;
use crate::row::Millis;

const ROW: &[&str] = &[
    "seq",
    "series",
    "kind",
    "bytes_before",
    "bytes_after",
    "response_bytes",
    "added_us",
    "upstream_head_us",
    "total_us",
    "input_tokens",
    "output_tokens",
    "actual_usd",
    "actual_input_usd",
    "fresh",
    "name",
    "trouble",
    "session",
    "cache_read_tokens",
    "cache_write_tokens",
];

const CHANGE: &[&str] = &[
    "seq",
    "steps",
    "chars_before",
    "chars_after",
    "messages_before",
    "messages_after",
    "turns_removed",
    "rag_kept",
    "rag_dropped",
    "compress_chars_before",
    "compress_chars_after",
    "first_edit_at",
    "predicted_tokens_before",
    "predicted_tokens_after",
    "predicted_cache_read_tokens",
    "predicted_cache_write_tokens",
    "predicted_usd_without",
    "predicted_usd_with",
    "break_even_turns",
    "tokens_saved",
    "saved_usd",
];

/// See the module.
#[derive(Debug)]
pub(super) struct Rows {
    row: Several,
    change: Several,
    plan: Several,
    bundles: Bundles,
    commons: Commons,
}

/// A new row with its place.
pub(super) struct Placed<'r> {
    pub(super) seq: i64,
    /// Whether SQLite gives this number by itself, being the one after the last: it need not look for the place then.
    follows: bool,
    pub(super) common: Common,
    pub(super) entry: Entry<'r>,
}

impl Rows {
    pub(super) fn new() -> Self {
        Self {
            row: Several::new("audit_row", ROW),
            change: Several::new("audit_change", CHANGE),
            plan: Several::new("audit_plan", &["seq", "plan"]),
            bundles: Bundles::new(),
            commons: Commons::default(),
        }
    }

    /// Nothing of the last transaction happened.
    pub(super) fn forget(&mut self) {
        self.commons = Commons::default();
    }

    /// Inserts the rows that are not there yet, and gives them back. They must be in the order of time and id.
    pub(super) fn insert<'r>(
        &mut self,
        connection: &Connection,
        rows: &[Entry<'r>],
        rest: &dyn Fn(),
    ) -> Result<Vec<Entry<'r>>, LedgerError> {
        let newest = newest(connection).map_err(explain)?;
        let placed = self.place(connection, rows, newest)?;
        let new: Vec<Entry<'r>> = placed.iter().map(|placed| placed.entry).collect();
        let split = Split::of(placed, newest);
        self.bundles
            .insert(connection, &split.bundles, rest)
            .map_err(explain)?;
        self.insert_single(connection, split.single, newest, rest)?;
        Ok(new)
    }

    fn insert_single(
        &self,
        connection: &Connection,
        mut placed: Vec<Placed<'_>>,
        newest: i64,
        rest: &dyn Fn(),
    ) -> Result<(), LedgerError> {
        let mut before = None;
        for row in &mut placed {
            row.follows = before.is_some_and(|before| before > newest && before + 1 == row.seq);
            before = Some(row.seq);
        }
        self.row
            .insert(connection, &placed, bind_row, rest)
            .map_err(explain)?;
        // In a transaction nobody else adds rows, so this cannot be otherwise.
        if let Some(last) = before
            && connection.last_insert_rowid() != last
        {
            return Err(LedgerError::Refused("rows got other numbers".into()));
        }
        let insert = || {
            let changed: Vec<&Placed<'_>> = placed
                .iter()
                .filter(|placed| placed.entry.like.has_change())
                .collect();
            let bind = |places: &mut Places<'_>, placed: &&Placed<'_>| bind_change(places, placed);
            self.change.insert(connection, &changed, bind, rest)?;
            let plans: Vec<(i64, Vec<u8>)> = placed
                .iter()
                .filter_map(|placed| {
                    let plan = pack(placed.entry.like.plan.as_deref()?);
                    rest();
                    Some((placed.seq, plan))
                })
                .collect();
            let bind = |places: &mut Places<'_>, (seq, plan): &(i64, Vec<u8>)| {
                places.put(Some(seq))?;
                places.put(Some(plan))
            };
            self.plan.insert(connection, &plans, bind, rest)
        };
        insert().map_err(explain)
    }

    /// The new rows with their places.
    fn place<'r>(
        &mut self,
        connection: &Connection,
        rows: &[Entry<'r>],
        newest: i64,
    ) -> Result<Vec<Placed<'r>>, LedgerError> {
        let mut placed: Vec<Placed<'r>> = Vec::with_capacity(rows.len());
        let (mut names, mut recent) = (HashSet::new(), Recent::new());
        for of_one_time in rows.chunk_by(|one, other| one.own.at == other.own.at) {
            let Some(at) = of_one_time.first().map(|entry| entry.own.at) else {
                continue;
            };
            let mut moment = match first_at(at) {
                first if first > newest => Moment::new(first),
                first => Moment::read(connection, first)?,
            };
            for &entry in of_one_time {
                let id = entry.like.id.as_str();
                let is_new = match entry.own.fresh {
                    Some(fresh) => moment.is_new(fresh, at),
                    None => names.insert(id) && !has_name(connection, id).map_err(explain)?,
                };
                if is_new {
                    placed.push(Placed {
                        seq: moment.take_turn()?,
                        follows: false,
                        common: self
                            .commons
                            .of(connection, entry.like, &mut recent)
                            .map_err(explain)?,
                        entry,
                    });
                }
            }
        }
        Ok(placed)
    }
}

/// The largest number that there is; -1: none.
fn newest(connection: &Connection) -> rusqlite::Result<i64> {
    let single: i64 = connection
        .prepare_cached("SELECT COALESCE(MAX(seq), -1) FROM audit_row")?
        .query_row([], |row| row.get(0))?;
    let bundled = sqlite_bundles::newest(connection)?;
    Ok(bundled.map_or(single, |bundled| bundled.max(single)))
}

fn has_name(connection: &Connection, id: &str) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM audit_row WHERE name = ?")?
        .exists([id])
}

/// One millisecond.
struct Moment {
    first: i64,
    next: i64,
    /// The ids that the table has, in either form.
    fresh: HashSet<i64>,
    names: HashSet<String>,
    last: Option<i64>,
}

impl Moment {
    /// One without rows.
    fn new(first: i64) -> Self {
        Self {
            first,
            next: first,
            fresh: HashSet::new(),
            names: HashSet::new(),
            last: None,
        }
    }

    fn read(connection: &Connection, first: i64) -> Result<Self, LedgerError> {
        let mut moment = Self::new(first);
        let last = first.saturating_add(LAST_TURN);
        for row in sqlite_bundles::between(connection, first, last)? {
            moment.next = row.seq.saturating_add(1);
            moment.fresh.extend(row.own.fresh);
        }
        moment.read_single(connection, last).map_err(explain)?;
        Ok(moment)
    }

    fn read_single(&mut self, connection: &Connection, last: i64) -> rusqlite::Result<()> {
        let mut find = connection.prepare_cached(
            "SELECT seq, fresh, name FROM audit_row WHERE seq BETWEEN ? AND ? ORDER BY seq",
        )?;
        let mut rows = find.query([self.first, last])?;
        while let Some(row) = rows.next()? {
            self.next = self.next.max(row.get::<_, i64>(0)?.saturating_add(1));
            self.fresh.extend(row.get::<_, Option<i64>>(1)?);
            self.names.extend(row.get::<_, Option<String>>(2)?);
        }
        Ok(())
    }

    /// Whether an id is asked about for the first time. The same ones come one after the other.
    fn is_new(&mut self, fresh: i64, at: Millis) -> bool {
        let is_new = self.last.replace(fresh) != Some(fresh);
        is_new
            && !self.fresh.contains(&fresh)
            && (self.names.is_empty() || !self.names.contains(&number::id(at, fresh)))
    }

    fn take_turn(&mut self) -> Result<i64, LedgerError> {
        let seq = self.next;
        if seq > self.first.saturating_add(LAST_TURN) {
            return Err(LedgerError::BadValue("too many rows of one time".into()));
        }
        self.next = seq.saturating_add(1);
        Ok(seq)
    }
}

fn bind_row(places: &mut Places<'_>, placed: &Placed<'_>) -> rusqlite::Result<()> {
    let Entry { own, like } = placed.entry;
    let bytes_after = Some(own.bytes_after).filter(|&bytes| bytes != own.bytes_before);
    places.put(Some(placed.seq).filter(|_| !placed.follows))?;
    places.put(Some(placed.common.series))?;
    places.put(Some(placed.common.kind))?;
    places.count(Some(own.bytes_before))?;
    places.count(bytes_after)?;
    places.count(Some(own.response_bytes))?;
    places.count(Some(own.added_us))?;
    places.count(own.upstream_head_us)?;
    places.count(Some(own.total_us))?;
    places.count(own.usage.input)?;
    places.count(own.usage.output)?;
    places.put(own.actual_usd)?;
    places.put(own.actual_input_usd)?;
    places.put(own.fresh)?;
    places.put(Some(like.id.as_str()).filter(|_| own.fresh.is_none()))?;
    places.put(is_trouble(like).then_some(1_i64))?;
    places.put(like.session.as_deref())?;
    places.count(own.usage.cache_read)?;
    places.count(own.usage.cache_write)
}

fn bind_change(places: &mut Places<'_>, placed: &Placed<'_>) -> rusqlite::Result<()> {
    let row = placed.entry.like;
    let receipt = &row.receipt;
    places.put(Some(placed.seq))?;
    places.put(Some(steps_json(&row.steps)))?;
    places.count(row.chars_before)?;
    places.count(row.chars_after)?;
    places.count(row.messages_before)?;
    places.count(row.messages_after)?;
    places.count(Some(row.turns_removed))?;
    places.count(Some(row.rag_kept))?;
    places.count(Some(row.rag_dropped))?;
    places.count(row.compress.map(|compress| compress.chars_before))?;
    places.count(row.compress.map(|compress| compress.chars_after))?;
    places.count(row.first_edit_at)?;
    places.count(receipt.predicted_tokens_before)?;
    places.count(receipt.predicted_tokens_after)?;
    places.count(receipt.predicted_cache_read)?;
    places.count(receipt.predicted_cache_write)?;
    places.put(receipt.predicted_usd_without)?;
    places.put(receipt.predicted_usd_with)?;
    places.put(receipt.break_even_turns)?;
    places.put(receipt.tokens_saved)?;
    places.put(receipt.saved_usd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain::Figures;
    use crate::query::{After, Filter};
    use crate::row::Row;
    use crate::store::{Address, Store, in_transaction, migrate};
    use crate::{ingest, listing, record::Record};

    const AT: i64 = 1_794_787_200_000;

    fn row(at: i64, number: u64) -> Row {
        Row {
            id: format!("{at:011x}{number:016x}"),
            at,
            model: Some(format!("m{}", number % 3)),
            status: 200,
            steps: Vec::new(),
            chars_before: number.is_multiple_of(4).then_some(number % 1_000),
            ..Row::default()
        }
    }

    fn open(folder: &tempfile::TempDir) -> Box<dyn Store> {
        let url = format!("sqlite:{}", folder.path().join("rows.db").display());
        let mut store = Address::parse(&url).unwrap().connect(false).unwrap();
        migrate(store.as_mut()).unwrap();
        store
    }

    /// How many were new.
    fn write(store: &mut dyn Store, rows: &[Row]) -> usize {
        let records: Vec<Record> = rows.iter().map(|row| Record::of(row.clone())).collect();
        ingest::write(store, &records, &|| ()).unwrap().new
    }

    #[test]
    fn rows_come_once_and_in_order_however_late_and_often_they_come() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = open(&folder);
        // Several to a millisecond, in an order of their own within it.
        let all: Vec<Row> = (0..500)
            .map(|number| {
                row(
                    AT + number / 7,
                    (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15),
                )
            })
            .collect();
        let (late, first): (Vec<Row>, Vec<Row>) =
            all.iter().cloned().partition(|row| row.at % 5 == 0);
        assert_eq!(write(store.as_mut(), &first), first.len());
        assert_eq!(write(store.as_mut(), &first), 0);
        let (half, rest) = late.split_at(late.len() / 2);
        assert_eq!(write(store.as_mut(), half), half.len());
        // Some are there, some are new, some come twice in one batch.
        let again: Vec<Row> = all.iter().chain(rest).cloned().collect();
        assert_eq!(write(store.as_mut(), &again), rest.len());
        let mut found: Vec<Row> = Vec::new();
        loop {
            let after = found.last().map(|last| After {
                at: last.at,
                id: last.id.clone(),
            });
            let page =
                listing::rows(store.as_mut(), &Filter::default(), after.as_ref(), 64).unwrap();
            if page.is_empty() {
                break;
            }
            found.extend(page);
        }
        assert!(found.is_sorted_by(|one, next| one.at >= next.at));
        let by_id = |rows: &[Row]| {
            let mut rows = rows.to_vec();
            rows.sort_by(|one, other| one.id.cmp(&other.id));
            rows
        };
        assert_eq!(by_id(&found), by_id(&all));
        for row in &all {
            assert_eq!(
                listing::one(store.as_mut(), &row.id).unwrap().as_ref(),
                Some(row)
            );
        }
        assert_eq!(
            listing::one(store.as_mut(), &row(AT, 1).id.replace('0', "f")).unwrap(),
            None
        );
    }

    #[test]
    fn an_id_that_tells_another_time_or_none_is_still_one_row() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = open(&folder);
        let mut strange = row(AT, 5);
        strange.at += 1;
        let named = Row {
            id: "posted".into(),
            ..row(AT, 0)
        };
        let moved = Row {
            at: AT + 9,
            ..named.clone()
        };
        let rows = [strange.clone(), named.clone(), moved.clone()];
        assert_eq!(write(store.as_mut(), &rows), 2);
        assert_eq!(write(store.as_mut(), &rows), 0);
        for row in [strange, named] {
            assert_eq!(listing::one(store.as_mut(), &row.id).unwrap(), Some(row));
        }
    }

    #[test]
    fn what_a_rollback_took_back_is_added_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = open(&folder);
        let one = row(AT, 1);
        let undone: Result<(), LedgerError> = in_transaction(store.as_mut(), |store| {
            let own = Figures::of(&one);
            let entry = Entry {
                own: &own,
                like: &one,
            };
            store.insert_rows(&[entry], &|| ())?;
            Err(LedgerError::Closed)
        });
        assert!(undone.is_err());
        assert_eq!(write(store.as_mut(), std::slice::from_ref(&one)), 1);
        let found = listing::rows(store.as_mut(), &Filter::default(), None, 9).unwrap();
        assert_eq!(found, [one]);
    }
}
