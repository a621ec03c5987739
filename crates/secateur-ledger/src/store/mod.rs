//! The face that both databases have: blocking, one connection, one thread at a time.
//!
//! SQL is written once, with `$1` for parameters. What differs between the databases stays in
//! `sqlite.rs` and `postgres.rs`: types, bulk insertion, and which errors pass by themselves.

mod address;
mod common;
mod migrate;
mod postgres;
mod several;
mod sqlite;
mod sqlite_bundles;
mod sqlite_rows;
mod tls;
mod value;

pub(crate) use address::Address;
pub(crate) use migrate::{check_version, is_behind, migrate};
pub(crate) use value::{Kind, Table, Value};

use crate::entry::Entry;
use crate::error::LedgerError;
use crate::ingest::Sight;
use crate::sheaf::Sheaf;

/// Which database it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Database {
    Sqlite,
    Postgres,
}

/// One connection.
pub(crate) trait Store: Send {
    fn database(&self) -> Database;
    /// Runs one statement; how many rows it changed.
    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, LedgerError>;
    fn query(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Vec<Value<'static>>>, LedgerError>;
    /// Runs several statements without parameters.
    fn script(&mut self, sql: &str) -> Result<(), LedgerError>;
    /// Starts a transaction that writes.
    fn begin(&mut self) -> Result<(), LedgerError>;
    fn commit(&mut self) -> Result<(), LedgerError>;
    fn rollback(&mut self);
    /// Inserts the values whose first column is not in the table yet; tells for each whether it was new.
    fn insert_new(
        &mut self,
        table: &Table,
        rows: &[Vec<Value<'_>>],
    ) -> Result<Vec<bool>, LedgerError>;
    /// Inserts the sheaves that it can keep in one piece; tells for each whether it was. Nobody tried to write them before.
    fn insert_sheaves(
        &mut self,
        sheaves: &[&Sheaf],
        _rest: &dyn Fn(),
    ) -> Result<Vec<bool>, LedgerError> {
        Ok(vec![false; sheaves.len()])
    }
    /// Inserts the audit's rows that are not there yet, with their plans and savings, and gives them back. They
    /// must be in the order of time and id. `rest` is called between portions.
    fn insert_rows<'r>(
        &mut self,
        rows: Vec<Entry<'r>>,
        sight: Sight,
        rest: &dyn Fn(),
    ) -> Result<Vec<Entry<'r>>, LedgerError>;
}

/// Runs questions that are to see the same moment.
pub(crate) fn in_snapshot<T>(
    store: &mut dyn Store,
    work: impl FnOnce(&mut dyn Store) -> Result<T, LedgerError>,
) -> Result<T, LedgerError> {
    store.script(match store.database() {
        Database::Sqlite => "BEGIN",
        Database::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    })?;
    let answer = work(store);
    // Nothing was written.
    store.rollback();
    answer
}

/// Runs `work` in one transaction: all of it happens, or nothing.
pub(crate) fn in_transaction<T>(
    store: &mut dyn Store,
    work: impl FnOnce(&mut dyn Store) -> Result<T, LedgerError>,
) -> Result<T, LedgerError> {
    store.begin()?;
    let outcome = work(store).and_then(|value| store.commit().map(|()| value));
    if outcome.is_err() {
        store.rollback();
    }
    outcome
}
