//! Brings a database to the schema that this program knows. Numbered, forward only, each step in one
//! transaction; a newer schema is an error.

use super::{Database, Store, Value, in_transaction};
use crate::error::LedgerError;

/// Step `n` leads from version `n - 1` to `n`.
const STEPS: &[(&str, &str)] = &[
    (
        include_str!("../../migrations/sqlite/0001_start.sql"),
        include_str!("../../migrations/postgres/0001_start.sql"),
    ),
    (
        include_str!("../../migrations/sqlite/0002_sessions_and_trouble.sql"),
        include_str!("../../migrations/postgres/0002_sessions_and_trouble.sql"),
    ),
    (
        include_str!("../../migrations/sqlite/0003_small_rows.sql"),
        include_str!("../../migrations/postgres/0003_small_rows.sql"),
    ),
    (
        include_str!("../../migrations/sqlite/0004_bundles_and_receipts.sql"),
        include_str!("../../migrations/postgres/0004_bundles_and_receipts.sql"),
    ),
    (
        include_str!("../../migrations/sqlite/0005_packed_bundles.sql"),
        include_str!("../../migrations/postgres/0005_packed_bundles.sql"),
    ),
];

/// The schema that this program writes.
#[expect(clippy::cast_possible_wrap, reason = "a handful of steps")]
pub(crate) const SCHEMA_VERSION: i64 = STEPS.len() as i64;

/// Any number; the same for all replicas.
const LOCK: i64 = 7_732_283_001;

pub(crate) fn migrate(store: &mut dyn Store) -> Result<(), LedgerError> {
    let from = in_transaction(store, |store| {
        if store.database() == Database::Postgres {
            // What is done to many rows, and waiting for whoever does it, takes longer than a question may.
            store.script("SET LOCAL statement_timeout = 0")?;
            // Replicas that start together wait for the first here; the lock ends with the transaction.
            store.query(
                "SELECT pg_advisory_xact_lock($1)::TEXT",
                &[Value::Int(LOCK)],
            )?;
        }
        store.script(
            "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        )?;
        let found = version(store)?;
        if found > SCHEMA_VERSION {
            return Err(LedgerError::NewerSchema {
                found,
                known: SCHEMA_VERSION,
            });
        }
        let done = usize::try_from(found).unwrap_or(0);
        for (sqlite, postgres) in STEPS.iter().skip(done) {
            store.script(match store.database() {
                Database::Sqlite => sqlite,
                Database::Postgres => postgres,
            })?;
        }
        if found < SCHEMA_VERSION {
            store.execute(
                "INSERT INTO meta (name, value) VALUES ('schema_version', $1) \
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                &[Value::owned(SCHEMA_VERSION.to_string())],
            )?;
        }
        Ok(found)
    })?;
    if (1..SCHEMA_VERSION).contains(&from) && store.database() == Database::Sqlite {
        // The log now has a copy of all that was moved. Where a reader is in its way, it shrinks another time.
        store.query("PRAGMA wal_checkpoint(TRUNCATE)", &[])?;
    }
    Ok(())
}

/// Whether an earlier version of this program made it, so that `migrate` may take long: it moves every row.
pub(crate) fn is_behind(store: &mut dyn Store) -> bool {
    // A database without any version is new, and one that does not answer says so when it is used.
    version(store).is_ok_and(|found| (1..SCHEMA_VERSION).contains(&found))
}

/// For those who only read: the schema must be the one that the queries are written for.
pub(crate) fn check_version(store: &mut dyn Store) -> Result<(), LedgerError> {
    let found = version(store).map_err(|error| match error {
        LedgerError::Refused(_) => {
            LedgerError::Refused("there is no ledger in this database".into())
        }
        other => other,
    })?;
    match found.cmp(&SCHEMA_VERSION) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(LedgerError::NewerSchema {
            found,
            known: SCHEMA_VERSION,
        }),
        std::cmp::Ordering::Less => Err(LedgerError::OlderSchema {
            found,
            known: SCHEMA_VERSION,
        }),
    }
}

fn version(store: &mut dyn Store) -> Result<i64, LedgerError> {
    let found = store.query("SELECT value FROM meta WHERE name = 'schema_version'", &[])?;
    let Some(value) = found.into_iter().flatten().next() else {
        return Ok(0);
    };
    let text = value.into_text()?;
    text.parse()
        .map_err(|_| LedgerError::Unreadable(format!("schema version `{text}`")))
}
