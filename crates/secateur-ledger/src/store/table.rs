//! Tables that rows are inserted into in bulk: several rows to a statement, and those that are there already are left out.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::{Database, Store, Value};
use crate::error::LedgerError;

/// Rows in one statement. What is left over goes in fewer.
const AT_ONCE: [usize; 3] = [64, 8, 1];

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int,
    Real,
    Text,
}

impl Kind {
    /// The name of the type. SQLite and PostgreSQL both know it.
    pub(crate) fn sql(self) -> &'static str {
        match self {
            Self::Bool => "BOOLEAN",
            Self::Int => "BIGINT",
            Self::Real => "DOUBLE PRECISION",
            Self::Text => "TEXT",
        }
    }
}

/// A table whose first column is its key, a text.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<&'static str>,
    /// For SQLite and for PostgreSQL.
    inserts: [OnceLock<[String; AT_ONCE.len()]>; 2],
}

impl Table {
    pub(crate) fn new(name: &'static str, columns: Vec<&'static str>) -> Self {
        Self {
            name,
            columns,
            inserts: Default::default(),
        }
    }

    /// `id, at_ms, …`, each with a prefix.
    pub(crate) fn column_list(&self, prefix: &str) -> String {
        let names: Vec<String> = self
            .columns
            .iter()
            .map(|name| format!("{prefix}{name}"))
            .collect();
        names.join(", ")
    }

    fn inserts(&self, database: Database) -> &[String; AT_ONCE.len()] {
        let [sqlite, postgres] = &self.inserts;
        let made = match database {
            Database::Sqlite => sqlite,
            Database::Postgres => postgres,
        };
        made.get_or_init(|| AT_ONCE.map(|rows| self.insert(database, rows)))
    }

    fn insert(&self, database: Database, rows: usize) -> String {
        let width = self.columns.len();
        let row = |row: usize| {
            let place = |column: usize| match database {
                Database::Sqlite => "?".to_owned(),
                Database::Postgres => format!("${}", row * width + column + 1),
            };
            let places: Vec<String> = (0..width).map(place).collect();
            format!("({})", places.join(", "))
        };
        let values: Vec<String> = (0..rows).map(row).collect();
        // A statement that fails ends its transaction, so SQLite need not remember how pages were before it.
        let verb = match database {
            Database::Sqlite => "INSERT OR FAIL INTO",
            Database::Postgres => "INSERT INTO",
        };
        format!(
            "{verb} {} ({}) VALUES {} ON CONFLICT DO NOTHING RETURNING {}",
            self.name,
            self.column_list(""),
            values.join(", "),
            self.columns.first().unwrap_or(&"id")
        )
    }

    /// Inserts the rows whose key is not in the table yet; tells for each whether it was new. `values` gives the values of a
    /// row in the order of the columns. `pause` is called between statements.
    pub(crate) fn insert_new<'r, T>(
        &self,
        store: &mut dyn Store,
        rows: &[&'r T],
        values: impl Fn(&'r T, &mut Vec<Value<'r>>),
        pause: &dyn Fn(),
    ) -> Result<Vec<bool>, LedgerError> {
        let inserts = self.inserts(store.database());
        let width = self.columns.len();
        let mut is_new = Vec::with_capacity(rows.len());
        let mut rest = rows;
        for (sql, at_once) in inserts.iter().zip(AT_ONCE) {
            let whole = rest.chunks_exact(at_once);
            rest = whole.remainder();
            for rows in whole {
                let mut all = Vec::with_capacity(width * at_once);
                rows.iter().for_each(|row| values(row, &mut all));
                let returned = store.query(sql, &all)?;
                let keys = all.into_iter().step_by(width.max(1));
                mark_new(keys, returned, &mut is_new)?;
                pause();
            }
        }
        Ok(is_new)
    }
}

/// Of two rows with one key in the same statement, the first counts.
fn mark_new<'r>(
    keys: impl ExactSizeIterator<Item = Value<'r>>,
    returned: Vec<Vec<Value<'static>>>,
    is_new: &mut Vec<bool>,
) -> Result<(), LedgerError> {
    if returned.len() == keys.len() {
        is_new.extend(keys.map(|_| true));
        return Ok(());
    }
    let mut new = HashSet::with_capacity(returned.len());
    for key in returned.into_iter().flatten() {
        new.insert(key.into_text()?);
    }
    for key in keys {
        is_new.push(new.remove(&key.into_text()?));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Address, in_transaction};
    use crate::testing::Postgres;

    fn check(url: &str) {
        let mut store = Address::parse(url).unwrap().connect(false).unwrap();
        store
            .script("CREATE TABLE words (id TEXT PRIMARY KEY, word TEXT, number BIGINT)")
            .unwrap();
        let words = Table::new("words", vec!["id", "word", "number"]);
        let all: Vec<u32> = (0..150).collect();
        let values = |number: &u32, out: &mut Vec<Value<'_>>| {
            out.push(Value::owned(number.to_string()));
            out.push(if number.is_multiple_of(3) {
                Value::Null
            } else {
                Value::owned("word")
            });
            out.push(Value::Int((*number).into()));
        };
        let mut insert = |numbers: &[&u32]| {
            in_transaction(store.as_mut(), |store| {
                words.insert_new(store, numbers, values, &|| ())
            })
            .unwrap()
        };
        let some: Vec<&u32> = all.iter().filter(|number| *number % 7 == 0).collect();
        assert_eq!(insert(&some), vec![true; some.len()]);
        // Those that are there, then all of them twice.
        let twice: Vec<&u32> = all.iter().chain(&all).collect();
        let new = insert(&twice);
        for (at, is_new) in new.into_iter().enumerate() {
            assert_eq!(is_new, at < 150 && at % 7 != 0, "{at}");
        }
        let found = store
            .query("SELECT CAST(COUNT(*) AS BIGINT), CAST(COUNT(word) AS BIGINT), CAST(SUM(number) AS BIGINT) FROM words", &[])
            .unwrap();
        assert_eq!(found, [[150, 100, 11_175].map(Value::Int)]);
    }

    #[test]
    fn rows_that_are_there_are_left_out_and_the_others_told() {
        let folder = tempfile::tempdir().unwrap();
        check(&format!("sqlite:{}", folder.path().join("t.db").display()));
        check(&Postgres::shared().new_database());
    }
}
