//! Many rows into one table of SQLite.
//!
//! Rows of one kind go in several to a statement, which takes what they have in common once: most of what
//! a row costs is handing over its values. Within such a statement the cursors stay where they are, so rows
//! in the order of an index find their places in it without a search.

use std::collections::HashSet;

use rusqlite::{CachedStatement, Connection};

use super::value::{Table, Value};

/// Rows in one statement.
pub(crate) const AT_ONCE: usize = 16;

/// The statements for one table.
#[derive(Debug)]
pub(super) struct Inserts {
    several: String,
    one: String,
    newest: String,
    keys_after: String,
    /// The columns that are of the kind, by their places in a row.
    common: Vec<usize>,
    /// The others.
    own: Vec<usize>,
}

impl Inserts {
    pub(super) fn of(table: &Table) -> Self {
        let is_common = |at: &usize| {
            let name = table.columns.get(*at).map(|(name, _)| name);
            name.is_some_and(|name| table.of_its_kind.contains(name))
        };
        let (common, own): (Vec<usize>, Vec<usize>) = (0..table.columns.len()).partition(is_common);
        let (name, columns) = (table.name, table.column_list(""));
        let key = table.columns.first().map_or("id", |&(name, _)| name);
        // Nothing is undone by half: a statement that fails ends its transaction, so that SQLite need not
        // remember how things were before it.
        let insert = |rows: usize| {
            let slots: Vec<String> = (0..rows).map(|row| slots(&common, &own, row)).collect();
            format!(
                "INSERT OR FAIL INTO {name} ({columns}) VALUES {} ON CONFLICT DO NOTHING",
                slots.join(", ")
            )
        };
        Self {
            several: insert(AT_ONCE),
            one: insert(1),
            newest: format!("SELECT COALESCE(MAX(rowid), 0) FROM {name}"),
            keys_after: format!("SELECT {key} FROM {name} WHERE rowid > ?1"),
            common,
            own,
        }
    }

    /// Inserts the rows whose first column is not there yet; tells for each whether it was new.
    pub(super) fn run(
        &self,
        connection: &Connection,
        rows: &[Vec<Value<'_>>],
    ) -> rusqlite::Result<Vec<bool>> {
        let mut is_new = Vec::with_capacity(rows.len());
        let mut rest = rows;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(self.alike(rest));
            let whole = now.chunks_exact(AT_ONCE);
            let single = whole.remainder();
            if whole.len() > 0 {
                let mut statement = Bound::new(connection, &self.several)?;
                for rows in whole {
                    self.insert_several(connection, &mut statement, rows, &mut is_new)?;
                }
            }
            if !single.is_empty() {
                let mut statement = Bound::new(connection, &self.one)?;
                for row in single {
                    let changed = self.insert(&mut statement, std::slice::from_ref(row))?;
                    is_new.push(changed == 1);
                }
            }
            rest = later;
        }
        Ok(is_new)
    }

    /// How many rows from the first on are of one kind.
    fn alike(&self, rows: &[Vec<Value<'_>>]) -> usize {
        let same = |pair: &&[Vec<Value<'_>>]| match pair {
            [one, other] => self.common.iter().all(|&at| one.get(at) == other.get(at)),
            _ => false,
        };
        1 + rows.windows(2).take_while(same).count()
    }

    fn insert_several(
        &self,
        connection: &Connection,
        statement: &mut Bound<'_>,
        rows: &[Vec<Value<'_>>],
        is_new: &mut Vec<bool>,
    ) -> rusqlite::Result<()> {
        let newest: i64 = connection
            .prepare_cached(&self.newest)?
            .query_row([], |row| row.get(0))?;
        if self.insert(statement, rows)? == rows.len() {
            is_new.extend(rows.iter().map(|_| true));
            return Ok(());
        }
        // A row that is new has a number above all that were there.
        let mut keys_after = connection.prepare_cached(&self.keys_after)?;
        let found = keys_after.query_map([newest], |row| row.get::<_, String>(0))?;
        let mut new = found.collect::<rusqlite::Result<HashSet<String>>>()?;
        // Of two rows with one key, the first counts.
        let was_new = |row: &Vec<Value<'_>>| matches!(row.first(), Some(Value::Text(key)) if new.remove(key.as_ref()));
        is_new.extend(rows.iter().map(was_new));
        Ok(())
    }

    /// Runs a statement over as many rows as it has places for; how many were new.
    fn insert(
        &self,
        statement: &mut Bound<'_>,
        rows: &[Vec<Value<'_>>],
    ) -> rusqlite::Result<usize> {
        let mut place = 1;
        let mut bind = |row: &Vec<Value<'_>>, columns: &[usize]| -> rusqlite::Result<()> {
            for value in columns.iter().filter_map(|at| row.get(*at)) {
                statement.bind(place, value)?;
                place += 1;
            }
            Ok(())
        };
        if let Some(first) = rows.first() {
            bind(first, &self.common)?;
        }
        for row in rows {
            bind(row, &self.own)?;
        }
        statement.statement.raw_execute()
    }
}

/// A statement that knows which of its parameters are not NULL: much of a row is, and stays unbound.
struct Bound<'c> {
    statement: CachedStatement<'c>,
    is_bound: Vec<bool>,
}

impl<'c> Bound<'c> {
    fn new(connection: &'c Connection, sql: &str) -> rusqlite::Result<Self> {
        let statement = connection.prepare_cached(sql)?;
        // What comes from the cache has nothing bound.
        let is_bound = vec![false; statement.parameter_count() + 1];
        Ok(Self {
            statement,
            is_bound,
        })
    }

    fn bind(&mut self, place: usize, value: &Value<'_>) -> rusqlite::Result<()> {
        let is_some = *value != Value::Null;
        if let Some(is_bound) = self.is_bound.get_mut(place)
            && (is_some || *is_bound)
        {
            *is_bound = is_some;
            self.statement.raw_bind_parameter(place, value)?;
        }
        Ok(())
    }
}

/// The parameters of one row, in the order of the columns: SQLite takes others about. What is common is
/// numbered first and once, then what is each row's own.
fn slots(common: &[usize], own: &[usize], row: usize) -> String {
    let first_own = 1 + common.len() + row * own.len();
    let mut slots: Vec<(usize, usize)> = common.iter().copied().zip(1..).collect();
    slots.extend(own.iter().copied().zip(first_own..));
    slots.sort_unstable();
    let slots: Vec<String> = slots.iter().map(|(_, slot)| format!("?{slot}")).collect();
    format!("({})", slots.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Kind;

    const TABLE: Table = Table {
        name: "t",
        columns: &[
            ("id", Kind::Text),
            ("kind", Kind::Text),
            ("number", Kind::Int),
        ],
        of_its_kind: &["kind"],
    };

    fn row(id: &str, kind: Option<&'static str>, number: i64) -> Vec<Value<'static>> {
        vec![
            Value::owned(id),
            Value::maybe_text(kind),
            Value::Int(number),
        ]
    }

    fn table() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        let sql = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, kind TEXT, number INTEGER)";
        connection.execute_batch(sql).unwrap();
        connection
    }

    #[test]
    fn each_row_is_told_from_those_that_were_there() {
        let (connection, inserts) = (table(), Inserts::of(&TABLE));
        let known = [row("03", Some("a"), -1), row("20", None, -1)];
        assert_eq!(inserts.run(&connection, &known).unwrap(), [true, true]);
        // Two kinds with whole statements and rests, one id twice in a statement.
        let kind = |at: i64| if at < 19 { Some("a") } else { None };
        let mut rows: Vec<_> = (0..40)
            .map(|at| row(&format!("{at:02}"), kind(at), at))
            .collect();
        rows.insert(5, row("04", Some("a"), 99));
        let is_new = inserts.run(&connection, &rows).unwrap();
        let old: Vec<usize> = (0..is_new.len()).filter(|at| !is_new[*at]).collect();
        assert_eq!((is_new.len(), old), (41, vec![3, 5, 21]));
        let mut all = connection
            .prepare("SELECT id, kind, number FROM t ORDER BY id")
            .unwrap();
        let found: Vec<(String, Option<String>, i64)> = all
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap();
        assert_eq!(found.len(), 40);
        for (at, (id, of, number)) in (0..).zip(found) {
            let number_then = if [3, 20].contains(&at) { -1 } else { at };
            assert_eq!(
                (id, of.as_deref(), number),
                (format!("{at:02}"), kind(at), number_then)
            );
        }
    }

    #[test]
    fn what_is_null_after_a_value_is_null() {
        let (connection, inserts) = (table(), Inserts::of(&TABLE));
        let mut rows: Vec<_> = (0..48)
            .map(|at| row(&format!("{at:02}"), None, at))
            .collect();
        for row in &mut rows[16..32] {
            row[2] = Value::Null;
        }
        inserts.run(&connection, &rows).unwrap();
        let sql = "SELECT COUNT(*), MIN(id), MAX(id) FROM t WHERE number IS NULL";
        let found: (i64, String, String) = connection
            .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap();
        assert_eq!(found, (16, "16".into(), "31".into()));
    }

    #[test]
    fn a_value_that_the_table_refuses_is_an_error() {
        let (connection, inserts) = (table(), Inserts::of(&TABLE));
        let mut rows: Vec<_> = (0..20).map(|at| row(&format!("{at}"), None, at)).collect();
        rows[7][0] = Value::Null;
        assert!(inserts.run(&connection, &rows).is_err());
    }
}
