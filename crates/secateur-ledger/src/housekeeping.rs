//! What goes with time: rows past their days, texts past their limits. In small steps, so that nobody
//! waits for it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::captured::expire;
use crate::error::LedgerError;
use crate::listing::first_id;
use crate::moment::DAY_MS;
use crate::options::CaptureLimits;
use crate::row::Millis;
use crate::store::{Store, Value, in_transaction};

/// Rows that go in one transaction.
const AT_ONCE: i64 = 1_000;
/// Sums that are replayed later than this are counted twice, should their first writing have been cut off in the end.
const KEEP_ADDED_SUMS_MS: Millis = 30 * DAY_MS;

/// Removes one portion of what is older than `keep_days`; whether there is more. Daily sums stay, and
/// so does what happened to stacks.
pub(crate) fn forget(
    store: &mut dyn Store,
    keep_days: u32,
    now: Millis,
) -> Result<bool, LedgerError> {
    store.execute(
        "DELETE FROM added_sums WHERE at_ms < $1",
        &[Value::Int(now.saturating_sub(KEEP_ADDED_SUMS_MS))],
    )?;
    if keep_days == 0 {
        return Ok(false);
    }
    let end = now.saturating_sub(i64::from(keep_days) * DAY_MS);
    let mut is_more = false;
    let first_kept = Value::owned(first_id(end));
    for (table, column, end) in [
        // Ids sort by time.
        ("audit", "id", &first_kept),
        ("audit_plan", "id", &first_kept),
        ("score", "at_ms", &Value::Int(end)),
        ("spending", "at_ms", &Value::Int(end)),
    ] {
        let sql = format!(
            "DELETE FROM {table} WHERE id IN \
             (SELECT id FROM {table} WHERE {column} < $1 ORDER BY {column} LIMIT $2)"
        );
        let gone = store.execute(&sql, &[end.clone(), Value::Int(AT_ONCE)])?;
        is_more |= i64::try_from(gone).unwrap_or(0) >= AT_ONCE;
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
