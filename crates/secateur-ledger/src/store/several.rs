//! Many rows into one table of SQLite, several to a statement: within such a statement the cursors stay where they
//! are, so rows in the order of an index find their places in it without a search.

use rusqlite::{CachedStatement, Connection, ToSql};

/// Rows in one statement. What is left over goes in fewer.
const AT_ONCE: [usize; 3] = [64, 8, 1];

/// The statements for one table.
#[derive(Debug)]
pub(super) struct Several {
    sql: [String; AT_ONCE.len()],
}

impl Several {
    pub(super) fn new(table: &str, columns: &[&str]) -> Self {
        let names = columns.join(", ");
        let row = format!("({})", vec!["?"; columns.len()].join(", "));
        // Nothing is undone by half: a statement that fails ends its transaction, so that SQLite need not
        // remember how things were before it.
        let insert = |rows: usize| {
            let rows = vec![row.as_str(); rows].join(", ");
            format!("INSERT OR FAIL INTO {table} ({names}) VALUES {rows}")
        };
        Self {
            sql: AT_ONCE.map(insert),
        }
    }

    /// Inserts all of them. `bind` gives each value of a row, in the order of the columns; `rest` is called
    /// between statements.
    pub(super) fn insert<T>(
        &self,
        connection: &Connection,
        mut rows: &[T],
        bind: impl Fn(&mut Places<'_>, &T) -> rusqlite::Result<()>,
        rest: &dyn Fn(),
    ) -> rusqlite::Result<()> {
        for (sql, at_once) in self.sql.iter().zip(AT_ONCE) {
            let whole = rows.chunks_exact(at_once);
            let left = whole.remainder();
            if whole.len() > 0 {
                let mut places = Places::new(connection, sql)?;
                for rows in whole {
                    places.next = 1;
                    for row in rows {
                        bind(&mut places, row)?;
                    }
                    places.statement.raw_execute()?;
                    rest();
                }
            }
            rows = left;
        }
        Ok(())
    }
}

/// A statement's parameters, filled one after the other. Much of a row is NULL, and stays unbound.
pub(super) struct Places<'c> {
    statement: CachedStatement<'c>,
    /// By place: whether it holds something.
    is_bound: Vec<bool>,
    next: usize,
}

impl<'c> Places<'c> {
    fn new(connection: &'c Connection, sql: &str) -> rusqlite::Result<Self> {
        let statement = connection.prepare_cached(sql)?;
        // What comes from the cache has nothing bound.
        let is_bound = vec![false; statement.parameter_count() + 1];
        Ok(Self {
            statement,
            is_bound,
            next: 1,
        })
    }

    pub(super) fn put(&mut self, value: Option<impl ToSql>) -> rusqlite::Result<()> {
        let place = self.next;
        self.next += 1;
        let Some(is_bound) = self.is_bound.get_mut(place) else {
            return Ok(());
        };
        match value {
            Some(value) => {
                *is_bound = true;
                self.statement.raw_bind_parameter(place, value)
            }
            None if *is_bound => {
                *is_bound = false;
                self.statement
                    .raw_bind_parameter(place, rusqlite::types::Null)
            }
            None => Ok(()),
        }
    }

    /// Counts beyond 2^63 cannot occur; they are stored as the largest that can.
    pub(super) fn count(&mut self, count: Option<u64>) -> rusqlite::Result<()> {
        self.put(count.map(|count| i64::try_from(count).unwrap_or(i64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        let sql = "CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT)";
        connection.execute_batch(sql).unwrap();
        connection
    }

    fn insert(connection: &Connection, rows: &[(i64, Option<&str>)]) -> rusqlite::Result<()> {
        let several = Several::new("t", &["id", "word"]);
        let bind = |places: &mut Places<'_>, (id, word): &(i64, Option<&str>)| {
            places.put(Some(*id))?;
            places.put(*word)
        };
        several.insert(connection, rows, bind, &|| ())
    }

    #[test]
    fn every_row_arrives_and_what_is_null_after_a_value_is_null() {
        let connection = table();
        let word = |id: i64| (id % 3 == 0).then_some("word");
        let rows: Vec<_> = (0..103).map(|id| (id, word(id))).collect();
        insert(&connection, &rows).unwrap();
        let mut all = connection
            .prepare("SELECT id, word FROM t ORDER BY id")
            .unwrap();
        let found: Vec<(i64, Option<String>)> = all
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap();
        assert_eq!(found.len(), 103);
        for (id, (found, text)) in (0..).zip(&found) {
            assert_eq!((*found, text.as_deref()), (id, word(id)));
        }
    }

    #[test]
    fn a_row_that_is_there_already_is_an_error() {
        let connection = table();
        assert!(insert(&connection, &[(1, None), (2, None), (1, None)]).is_err());
    }
}
