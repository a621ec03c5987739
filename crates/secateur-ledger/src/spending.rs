//! What Secateur itself spent: calls to a model that no client asked for.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::error::LedgerError;
use crate::moment::{DAY_MS, day_of};
use crate::row::Millis;
use crate::store::{Store, Table, Value};

/// Why a call was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Purpose {
    /// The canary sent a request unchanged too, to compare the answers.
    Shadow,
    /// A model summarized turns that were cut.
    Summary,
}

impl Purpose {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Shadow, Self::Summary];

    /// Its name in the ledger and in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Shadow => "shadow",
            Self::Summary => "summary",
        }
    }

    fn of(name: &str) -> Result<Self, LedgerError> {
        let known = Self::ALL.into_iter().find(|purpose| purpose.name() == name);
        known.ok_or_else(|| LedgerError::Unreadable(format!("purpose {name:?} of a spending")))
    }
}

/// One call that Secateur made for itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spending {
    /// Unique: a second record with it is the same call.
    pub id: String,
    /// When it was made.
    pub at: Millis,
    /// Why.
    pub purpose: Purpose,
    /// The id of the request that it was made for.
    pub request: String,
    /// The workload of that request.
    pub workload: String,
    /// Its stack; empty: none.
    pub stack: String,
    /// The model that answered the call.
    pub model: Option<String>,
    /// The client key's name.
    pub key: Option<String>,
    /// What it cost, in US dollars at list prices; `None`: the price or the counts are unknown.
    pub usd: Option<f64>,
}

/// What the calls of a workload cost on one day, by purpose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpentDay {
    /// UTC day.
    pub day: String,
    /// Which workload.
    pub workload: String,
    /// Why.
    pub purpose: Purpose,
    /// How many calls.
    pub calls: u64,
    /// Of these, at an unknown cost.
    pub unpriced: u64,
    /// What the others cost, in US dollars.
    pub usd: f64,
}

pub(crate) static SPENDING: LazyLock<Table> = LazyLock::new(|| {
    let columns = vec![
        "id",
        "at_ms",
        "purpose",
        "request_id",
        "workload",
        "stack",
        "model",
        "key_name",
        "usd",
    ];
    Table::new("spending", columns)
});

pub(crate) fn values<'c>(call: &'c Spending, out: &mut Vec<Value<'c>>) {
    out.extend([
        Value::text(&call.id),
        Value::Int(call.at),
        Value::text(call.purpose.name()),
        Value::text(&call.request),
        Value::text(&call.workload),
        Value::text(&call.stack),
        Value::text(call.model.as_deref().unwrap_or_default()),
        Value::text(call.key.as_deref().unwrap_or_default()),
        Value::maybe_real(call.usd),
    ]);
}

/// Oldest day first, then by workload and purpose.
pub(crate) fn by_day(
    store: &mut dyn Store,
    workload: Option<&str>,
    since: Millis,
) -> Result<Vec<SpentDay>, LedgerError> {
    let mut asked = vec![Value::Int(since)];
    let mut of = "";
    if let Some(workload) = workload {
        asked.push(Value::text(workload));
        of = " AND workload = $2";
    }
    let sql = format!(
        "SELECT at_ms / {DAY_MS}, workload, purpose, COUNT(*), COUNT(*) - COUNT(usd), COALESCE(SUM(usd), 0.0) \
         FROM spending WHERE at_ms >= $1{of} GROUP BY at_ms / {DAY_MS}, workload, purpose ORDER BY 1, 2, 3"
    );
    let one = |values: Vec<Value<'_>>| {
        let mut from = values.into_iter();
        let mut take = || from.next().unwrap_or(Value::Null);
        Ok(SpentDay {
            day: day_of(take().into_int()? * DAY_MS),
            workload: take().into_text()?,
            purpose: Purpose::of(&take().into_text()?)?,
            calls: take().into_count()?,
            unpriced: take().into_count()?,
            usd: take().into_real()?,
        })
    };
    store.query(&sql, &asked)?.into_iter().map(one).collect()
}
