//! What it cost to compare answers: one row for each request that was also sent unchanged.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::error::LedgerError;
use crate::moment::{DAY_MS, day_of};
use crate::row::Millis;
use crate::store::{Store, Table, Value};

/// One request that was sent a second time, unchanged, to compare the answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShadowCall {
    /// Unique: a second call with it is the same call.
    pub id: String,
    /// When it was sent.
    pub at: Millis,
    /// The workload.
    pub workload: String,
    /// The stack of the request that it is compared with; empty: it was unchanged itself.
    pub stack: String,
    /// What it cost, in US dollars at list prices.
    pub usd: f64,
}

/// What a workload's comparisons cost on one day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShadowCost {
    /// UTC day.
    pub day: String,
    /// Which workload.
    pub workload: String,
    /// How many calls.
    pub calls: u64,
    /// What they cost, in US dollars.
    pub usd: f64,
}

pub(crate) static SHADOW_CALL: LazyLock<Table> = LazyLock::new(|| {
    let columns = vec!["id", "at_ms", "workload", "stack", "usd"];
    Table::new("shadow_call", columns)
});

pub(crate) fn values<'c>(call: &'c ShadowCall, out: &mut Vec<Value<'c>>) {
    out.extend([
        Value::text(&call.id),
        Value::Int(call.at),
        Value::text(&call.workload),
        Value::text(&call.stack),
        Value::Real(call.usd),
    ]);
}

/// Oldest day first, then by workload.
pub(crate) fn costs(
    store: &mut dyn Store,
    workload: Option<&str>,
    since: Millis,
) -> Result<Vec<ShadowCost>, LedgerError> {
    let mut asked = vec![Value::Int(since)];
    let mut of = "";
    if let Some(workload) = workload {
        asked.push(Value::text(workload));
        of = " AND workload = $2";
    }
    let sql = format!(
        "SELECT at_ms / {DAY_MS}, workload, COUNT(*), SUM(usd) FROM shadow_call \
         WHERE at_ms >= $1{of} GROUP BY at_ms / {DAY_MS}, workload ORDER BY 1, 2"
    );
    let one = |values: Vec<Value<'_>>| {
        let mut from = values.into_iter();
        let mut take = || from.next().unwrap_or(Value::Null);
        Ok(ShadowCost {
            day: day_of(take().into_int()? * DAY_MS),
            workload: take().into_text()?,
            calls: take().into_count()?,
            usd: take().into_real()?,
        })
    };
    store.query(&sql, &asked)?.into_iter().map(one).collect()
}
