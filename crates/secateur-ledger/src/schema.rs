//! The ledger's tables: made in an empty database, and checked in one that has them. There is one schema, the same in
//! SQLite and PostgreSQL.

use crate::audit_table::COLUMNS;
use crate::error::LedgerError;
use crate::store::{Database, Kind, Store, Value, in_transaction};
use crate::sums::SUMS;

/// The schema that this program reads and writes. Development versions used smaller numbers.
const VERSION: i64 = 6;

/// Any number; the same for all replicas.
const LOCK: i64 = 7_732_283_001;

/// Makes the tables where there are none.
///
/// # Errors
/// The schema is another one, or the tables are another program's.
pub(crate) fn create_or_check(store: &mut dyn Store) -> Result<(), LedgerError> {
    // Most times they are there, and nothing needs to be written.
    if let Ok(Some(found)) = version(store) {
        return check(store, found);
    }
    in_transaction(store, |store| {
        if store.database() == Database::Postgres {
            // Replicas that start together wait for the first here; the lock ends with the transaction.
            store.query(
                "SELECT pg_advisory_xact_lock($1)::TEXT",
                &[Value::Int(LOCK)],
            )?;
        }
        refuse_foreign_file(store)?;
        store.script(
            "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        )?;
        if let Some(found) = version(store)? {
            return check(store, found);
        }
        store.script(&script(store.database()))?;
        store.execute(
            "INSERT INTO meta (name, value) VALUES ('schema_version', $1)",
            &[Value::owned(VERSION.to_string())],
        )?;
        Ok(())
    })
}

/// For those who only read: the schema must be the one that the queries are written for.
pub(crate) fn check_version(store: &mut dyn Store) -> Result<(), LedgerError> {
    let none = || LedgerError::Refused("there is no ledger in this database".into());
    match version(store) {
        Ok(Some(found)) => check(store, found),
        Ok(None) | Err(LedgerError::Refused(_)) => Err(none()),
        Err(error) => Err(error),
    }
}

fn check(store: &dyn Store, found: i64) -> Result<(), LedgerError> {
    let known = VERSION;
    match found.cmp(&known) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(LedgerError::NewerSchema { found, known }),
        std::cmp::Ordering::Less => Err(LedgerError::OlderSchema {
            found,
            known,
            remedy: match store.database() {
                Database::Sqlite => "rename the file and its -wal and -shm",
                Database::Postgres => {
                    "rename or drop the schema (ALTER SCHEMA public RENAME TO old_ledger; CREATE SCHEMA public)"
                }
            },
        }),
    }
}

/// `None`: there is no version in it.
fn version(store: &mut dyn Store) -> Result<Option<i64>, LedgerError> {
    let found = store.query("SELECT value FROM meta WHERE name = 'schema_version'", &[])?;
    let Some(value) = found.into_iter().flatten().next() else {
        return Ok(None);
    };
    let text = value.into_text()?;
    let number = text.parse().map_err(|_| unreadable(&text))?;
    Ok(Some(number))
}

fn unreadable(text: &str) -> LedgerError {
    LedgerError::Unreadable(format!("schema version `{text}`"))
}

/// An SQLite file with tables and without a schema version is another program's. A PostgreSQL database may be shared: there
/// only a table of the same name is in the way, and the server says which.
fn refuse_foreign_file(store: &mut dyn Store) -> Result<(), LedgerError> {
    if store.database() == Database::Postgres {
        return Ok(());
    }
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'meta' ORDER BY name LIMIT 1";
    match store.query(tables, &[])?.into_iter().flatten().next() {
        Some(table) => Err(LedgerError::Foreign {
            table: table.into_text()?,
        }),
        None => Ok(()),
    }
}

/// What makes the tables.
fn script(database: Database) -> String {
    let column = |name: &str, kind: Kind, may_be_null: bool| {
        let null = if may_be_null { "" } else { " NOT NULL" };
        format!("    {name} {}{null}", kind.sql())
    };
    let audit: Vec<String> = COLUMNS
        .iter()
        .map(|one| column(one.name, one.kind, one.may_be_null))
        .collect();
    let daily: Vec<String> = SUMS
        .iter()
        .map(|one| column(one.name, one.kind(), false))
        .collect();
    let script = include_str!("schema.sql")
        .replace("{audit}", &audit.join(",\n"))
        .replace("{daily}", &daily.join(",\n"));
    match database {
        Database::Sqlite => script,
        // Names and ids compare byte by byte, as they do in SQLite.
        Database::Postgres => script
            .replace(" TEXT", " TEXT COLLATE \"C\"")
            .replace(" BLOB", " BYTEA")
            .replace(" INTEGER PRIMARY KEY", " BIGSERIAL PRIMARY KEY")
            .replace(" WITHOUT ROWID", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Address;
    use crate::testing::Postgres;

    /// Every column with its type and whether it may be NULL.
    fn columns(store: &mut dyn Store) -> Vec<String> {
        let sql = match store.database() {
            Database::Sqlite => {
                "SELECT m.name || '.' || c.name || ' ' || lower(c.type) || ' ' || (c.\"notnull\" OR c.pk > 0) \
                 FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY 1"
            }
            Database::Postgres => {
                "SELECT (table_name || '.' || column_name || ' ' || data_type || ' ' \
                 || (CASE is_nullable WHEN 'NO' THEN 1 ELSE 0 END)) COLLATE \"C\" AS said \
                 FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> 'optimize_savings' ORDER BY said"
            }
        };
        let found = store.query(sql, &[]).unwrap();
        let text = |value: Value<'_>| value.into_text().unwrap();
        let told = found.into_iter().flatten().map(text);
        told.map(|told| {
            told.replace(" integer ", " bigint ")
                .replace(" bytea ", " blob ")
        })
        .collect()
    }

    #[test]
    fn both_databases_have_the_same_columns_and_types() {
        let folder = tempfile::tempdir().unwrap();
        let file = format!("sqlite:{}", folder.path().join("s.db").display());
        let [sqlite, postgres] = [file, Postgres::shared().new_database()].map(|url| {
            let mut store = Address::parse(&url).unwrap().connect(false).unwrap();
            create_or_check(store.as_mut()).unwrap();
            create_or_check(store.as_mut()).unwrap();
            check_version(store.as_mut()).unwrap();
            columns(store.as_mut())
        });
        assert!(sqlite.len() > 100, "{sqlite:?}");
        assert_eq!(sqlite, postgres);
    }
}
