//! Sessions of the portal that were ended before their time: such a session opens nothing any more, on no replica and after
//! no restart.

use crate::error::LedgerError;
use crate::row::Millis;
use crate::store::{Store, Value};

/// Remembers it until it would have ended by itself, and forgets those that have.
pub(crate) fn end(
    store: &mut dyn Store,
    id: &str,
    until: Millis,
    now: Millis,
) -> Result<(), LedgerError> {
    store.execute(
        "DELETE FROM ended_session WHERE until_ms < $1",
        &[Value::Int(now)],
    )?;
    store.execute(
        "INSERT INTO ended_session (id, until_ms) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING",
        &[Value::text(id), Value::Int(until)],
    )?;
    Ok(())
}

pub(crate) fn is_ended(store: &mut dyn Store, id: &str) -> Result<bool, LedgerError> {
    let found = store.query(
        "SELECT 1 FROM ended_session WHERE id = $1",
        &[Value::text(id)],
    )?;
    Ok(!found.is_empty())
}
