//! What goes with time: rows past their days, texts past their limits. In small steps, so that nobody
//! waits for it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::captured::expire;
use crate::error::LedgerError;
use crate::moment::DAY_MS;
use crate::number::first_at;
use crate::options::CaptureLimits;
use crate::row::Millis;
use crate::store::{Database, Store, Value, in_transaction};

/// Rows that go in one transaction.
const AT_ONCE: i64 = 1_000;
/// The same where each holds many.
const BUNDLES_AT_ONCE: i64 = 16;

/// Removes one portion of what is older than `keep_days`; whether there is more. Daily sums stay, and
/// so does what happened to stacks.
pub(crate) fn forget(
    store: &mut dyn Store,
    keep_days: u32,
    now: Millis,
) -> Result<bool, LedgerError> {
    if keep_days == 0 {
        return Ok(false);
    }
    let end = now.saturating_sub(i64::from(keep_days) * DAY_MS);
    let mut is_more = false;
    // In SQLite the time is in the rows' numbers.
    let first_kept = first_at(end);
    let tables: &[(&str, &str, &str, Millis, i64)] = match store.database() {
        Database::Postgres => &[
            ("audit", "id", "at_ms", end, AT_ONCE),
            ("audit_plan", "id", "at_ms", end, AT_ONCE),
            ("optimize_savings", "request_id", "at_ms", end, AT_ONCE),
            ("score", "id", "at_ms", end, AT_ONCE),
            ("shadow_call", "id", "at_ms", end, AT_ONCE),
        ],
        Database::Sqlite => &[
            ("audit_row", "seq", "seq", first_kept, AT_ONCE),
            ("audit_change", "seq", "seq", first_kept, AT_ONCE),
            ("audit_plan", "seq", "seq", first_kept, AT_ONCE),
            // All of it goes with its first row; the last is less than a second younger.
            ("audit_bundle", "seq", "seq", first_kept, BUNDLES_AT_ONCE),
            ("score", "id", "at_ms", end, AT_ONCE),
            ("shadow_call", "id", "at_ms", end, AT_ONCE),
        ],
    };
    for (table, key, time, end, at_once) in tables {
        let sql = format!(
            "DELETE FROM {table} WHERE {key} IN \
             (SELECT {key} FROM {table} WHERE {time} < $1 ORDER BY {time} LIMIT $2)"
        );
        let gone = store.execute(&sql, &[Value::Int(*end), Value::Int(*at_once)])?;
        is_more |= i64::try_from(gone).unwrap_or(0) >= *at_once;
    }
    store.execute(
        "DELETE FROM session_cost WHERE first_at_ms < $1",
        &[Value::Int(end)],
    )?;
    store.execute(
        "DELETE FROM captured WHERE expired_at_ms < $1",
        &[Value::Int(end)],
    )?;
    Ok(is_more)
}

/// Takes captured texts that are past the limits that this process knows. Those of other workloads, which another process
/// may know or nobody any more, go with the rows, after `keep_days`.
pub(crate) fn expire_captured(
    store: &mut dyn Store,
    limits: &BTreeMap<String, CaptureLimits>,
    keep_days: u32,
    now: Millis,
) -> Result<(), LedgerError> {
    let with_rows = (keep_days > 0).then(|| CaptureLimits {
        max_bytes: u64::MAX,
        max_age: Duration::from_secs(u64::from(keep_days) * 24 * 3600),
    });
    let workloads = store.query("SELECT workload FROM captured_size WHERE bytes > 0", &[])?;
    for workload in workloads.into_iter().flatten() {
        let workload = workload.into_text()?;
        let Some(limits) = limits.get(&workload).copied().or(with_rows) else {
            continue;
        };
        in_transaction(store, |store| expire(store, &workload, limits, now))?;
    }
    Ok(())
}
