//! Rows of the audit into SQLite, each once.
//!
//! A row gets its number when it comes in: its time, and a turn that goes up with every row, whatever its time. So nobody has to
//! look which numbers are taken: another row of the same millisecond has the same turn only if two millions came between them.
//! What may be there already (a replay) is compared with the rows of its time first. Where many come together that have
//! little to tell, they are bundled (`sqlite_bundles`).

use std::collections::HashSet;
use std::ops::Range;

use rusqlite::Connection;

use super::common::{Common, Commons, Recent};
use super::several::{Places, Several};
use super::sqlite::explain;
use super::sqlite_bundles::{self, Bundles, Split};
use crate::bundle::{Bundle, Like, MAX_SPAN};
use crate::columns::{is_trouble, steps_json};
use crate::entry::Entry;
use crate::error::LedgerError;
use crate::ingest::{Sight, pack};
use crate::number::{self, LAST_TURN, first_at};
use crate::row::{Millis, Row};
use crate::sheaf::Sheaf;

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
    /// Of the next row.
    turn: i64,
}

/// A new row with its place.
pub(super) struct Placed<'r> {
    pub(super) seq: i64,
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
            turn: first_turn(),
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
        mut rows: Vec<Entry<'r>>,
        sight: Sight,
        rest: &dyn Fn(),
    ) -> Result<Vec<Entry<'r>>, LedgerError> {
        let placed = self.place(connection, &rows, sight)?;
        if placed.len() < rows.len() {
            rows.clear();
            rows.extend(placed.iter().map(|placed| placed.entry));
        }
        let split = Split::of(placed);
        let insert = || {
            self.bundles
                .insert(connection, split.bundles.into_iter(), rest)?;
            self.insert_single(connection, &split.single, rest)
        };
        insert().map_err(explain)?;
        Ok(rows)
    }

    /// Inserts those that can be kept in one piece; tells for each whether it was.
    pub(super) fn insert_sheaves(
        &mut self,
        connection: &Connection,
        sheaves: &[&Sheaf],
        rest: &dyn Fn(),
    ) -> rusqlite::Result<Vec<bool>> {
        let mut recent = Recent::new();
        let mut bundles = Vec::with_capacity(sheaves.len());
        for sheaf in sheaves {
            let likes = if sheaf.is_a_bundle() {
                self.likes(connection, sheaf, &mut recent)?
            } else {
                None
            };
            bundles.push(likes.map(|likes| {
                let turns = &mut self.turn;
                let rows = sheaf.rows().iter();
                Bundle::of(rows.map(|row| (row.seq() | next_turn(turns), *row)), likes)
            }));
        }
        let is_kept = bundles.iter().map(Option::is_some).collect();
        self.bundles
            .insert(connection, bundles.into_iter().flatten(), rest)?;
        Ok(is_kept)
    }

    /// What a sheaf's rows are like; `None`: there is one that no bundle can tell.
    fn likes<'r>(
        &mut self,
        connection: &Connection,
        sheaf: &'r Sheaf,
        recent: &mut Recent<'r>,
    ) -> rusqlite::Result<Option<Vec<Like>>> {
        let one = |row: &'r Row| Ok(self.commons.of(connection, row, recent)?.like);
        sheaf.likes().map(one).collect()
    }

    fn insert_single(
        &self,
        connection: &Connection,
        placed: &[Placed<'_>],
        rest: &dyn Fn(),
    ) -> rusqlite::Result<()> {
        self.row.insert(connection, placed, bind_row, rest)?;
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
    }

    /// The new rows with their places.
    fn place<'r>(
        &mut self,
        connection: &Connection,
        rows: &[Entry<'r>],
        sight: Sight,
    ) -> Result<Vec<Placed<'r>>, LedgerError> {
        let mut placed: Vec<Placed<'r>> = Vec::with_capacity(rows.len());
        let (mut names, mut recent) = (HashSet::new(), Recent::new());
        let (mut known, mut last) = (Known::default(), None);
        for &entry in rows {
            let at = entry.at;
            if sight == Sight::Again {
                known.look(connection, at)?;
            }
            let is_new = match entry.fresh {
                // The same ones come one after the other.
                Some(fresh) => {
                    last.replace((at, fresh)) != Some((at, fresh)) && known.is_new(at, fresh)
                }
                None => {
                    let id = entry.like.id.as_str();
                    names.insert(id) && !has_name(connection, id).map_err(explain)?
                }
            };
            if is_new {
                let common = self.commons.of(connection, entry.like, &mut recent);
                placed.push(Placed {
                    seq: self.number(at, &known),
                    common: common.map_err(explain)?,
                    entry,
                });
            }
        }
        Ok(placed)
    }

    /// The number of a row of this time.
    fn number(&mut self, at: Millis, known: &Known) -> i64 {
        loop {
            let number = first_at(at) | next_turn(&mut self.turn);
            if !known.numbers.contains(&number) {
                return number;
            }
        }
    }
}

fn next_turn(next: &mut i64) -> i64 {
    let turn = *next;
    *next = turn.saturating_add(1) & LAST_TURN;
    turn
}

/// Somewhere in the lower half, so that after a restart turns are others and still go up for a while.
fn first_turn() -> i64 {
    let mut random = [0; 4];
    // Without random numbers it begins at the beginning.
    let _ = getrandom::fill(&mut random);
    i64::from(u32::from_ne_bytes(random)) & (LAST_TURN >> 1)
}

fn has_name(connection: &Connection, id: &str) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM audit_row WHERE name = ?")?
        .exists([id])
}

/// What is there already of a stretch of time.
#[derive(Default)]
struct Known {
    time: Range<Millis>,
    numbers: HashSet<i64>,
    /// Ids, in either form.
    fresh: HashSet<(Millis, i64)>,
    names: HashSet<String>,
}

impl Known {
    /// Has a stretch with this time in it. Times must come in order.
    fn look(&mut self, connection: &Connection, at: Millis) -> Result<(), LedgerError> {
        if self.time.contains(&at) {
            return Ok(());
        }
        *self = Self {
            time: at..at.saturating_add(MAX_SPAN),
            ..Self::default()
        };
        let (from, to) = (first_at(at), first_at(self.time.end).saturating_sub(1));
        for row in sqlite_bundles::between(connection, from, to)? {
            self.numbers.insert(row.seq);
            self.fresh
                .extend(row.own.fresh.map(|fresh| (row.own.at, fresh)));
        }
        self.look_at_single(connection, from, to).map_err(explain)
    }

    fn look_at_single(
        &mut self,
        connection: &Connection,
        from: i64,
        to: i64,
    ) -> rusqlite::Result<()> {
        let mut find = connection
            .prepare_cached("SELECT seq, fresh, name FROM audit_row WHERE seq BETWEEN ? AND ?")?;
        let mut rows = find.query([from, to])?;
        while let Some(row) = rows.next()? {
            let seq = row.get(0)?;
            self.numbers.insert(seq);
            let fresh: Option<i64> = row.get(1)?;
            self.fresh
                .extend(fresh.map(|fresh| (number::time(seq), fresh)));
            self.names.extend(row.get::<_, Option<String>>(2)?);
        }
        Ok(())
    }

    fn is_new(&self, at: Millis, fresh: i64) -> bool {
        !self.fresh.contains(&(at, fresh))
            && (self.names.is_empty() || !self.names.contains(&number::id(at, fresh)))
    }
}

fn bind_row(places: &mut Places<'_>, placed: &Placed<'_>) -> rusqlite::Result<()> {
    let (like, own) = (placed.entry.like, placed.entry.figures());
    let bytes_after = Some(own.bytes_after).filter(|&bytes| bytes != own.bytes_before);
    places.put(Some(placed.seq))?;
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
    use crate::packed::Packed;
    use crate::plain::Figures;
    use crate::query::{After, Filter};
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
        ingest::write(store, &records, Sight::Again, &|| ())
            .unwrap()
            .new
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
        let bundles = store.query("SELECT seq FROM audit_bundle", &[]).unwrap();
        assert!(bundles.len() > 2, "rows of both kinds");
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

    /// Plain rows, each so many milliseconds after the one before.
    fn sheaf(rows: u64, apart: i64) -> Sheaf {
        let mut sheaf = Sheaf::default();
        for number in 0..rows {
            let whole = Row {
                chars_before: None,
                ..row(AT - number.cast_signed() * apart, number)
            };
            let own = Packed::of(&Figures::of(&whole), 0).unwrap();
            let like = whole.alike().keep();
            sheaf.push(whole.at, own, &like);
        }
        sheaf
    }

    #[test]
    fn a_sheaf_is_kept_in_one_piece_if_it_can_be_and_once() {
        // In one piece; too few; too far apart for one, not for two.
        for (rows, apart, bundles) in [(100, 7, 1), (20, 7, 0), (100, 20, 2)] {
            let folder = tempfile::tempdir().unwrap();
            let mut store = open(&folder);
            let records = [Record::Sheaf(sheaf(rows, apart))];
            let mut write = |sight| {
                let written = ingest::write(store.as_mut(), &records, sight, &|| ());
                written.unwrap().new
            };
            assert_eq!(write(Sight::First), records[0].count());
            assert_eq!(write(Sight::Again), 0);
            let mut count = |sql: &str| {
                let found = store.query(sql, &[]).unwrap();
                found[0][0].clone().into_count().unwrap()
            };
            assert_eq!(count("SELECT COUNT(*) FROM audit_bundle"), bundles);
            assert_eq!(count("SELECT SUM(requests) FROM daily"), rows);
            assert_eq!(count("SELECT COUNT(DISTINCT seq) FROM audit"), rows);
            let found = listing::rows(store.as_mut(), &Filter::default(), None, 999).unwrap();
            assert!(found.is_sorted_by(|one, next| one.at >= next.at));
            let mut wanted: Vec<Row> = sheaf(rows, apart).entries().map(|e| e.row()).collect();
            wanted.sort_by_key(|row| std::cmp::Reverse(row.at));
            assert_eq!(found, wanted);
        }
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
            store.insert_rows(vec![Entry::of(&one)], Sight::First, &|| ())?;
            Err(LedgerError::Closed)
        });
        assert!(undone.is_err());
        assert_eq!(write(store.as_mut(), std::slice::from_ref(&one)), 1);
        let found = listing::rows(store.as_mut(), &Filter::default(), None, 9).unwrap();
        assert_eq!(found, [one]);
    }
}
