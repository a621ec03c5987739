//! The interface that both databases have: blocking, one connection, one thread at a time.
//!
//! SQL is written once, with `$1` for parameters. What differs between the databases stays in
//! `sqlite.rs` and `postgres.rs`: types, and which errors pass by themselves.

mod address;
mod postgres;
mod sqlite;
mod table;
mod tls;
mod value;

pub(crate) use address::Address;
pub(crate) use table::{Kind, Table};
pub(crate) use value::Value;

use crate::error::LedgerError;

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
