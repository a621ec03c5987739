//! What rows add to the sums: per day, workload, key, stack and model, and per session. Written in the rows' own
//! transaction.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::error::LedgerError;
use crate::moment::{DAY_MS, day_of};
use crate::query::Totals;
use crate::row::{Millis, Row};
use crate::store::{Store, Value};
use crate::sums::{SUMS, add_row, add_totals, values};

/// Which row of `daily`. In the order of its key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct DayKey {
    /// Days since 1970.
    day: i64,
    workload: String,
    stack: String,
    model: String,
    key: String,
}

/// Which row of `session_cost`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct SessionKey {
    workload: String,
    session: String,
    held_out: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SessionCost {
    first_at: Millis,
    requests: u64,
    input_usd: f64,
}

/// What a batch adds. The maps are in the order of keys: replicas lock the rows of `daily` in the same order and cannot
/// wait for each other in a circle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rollup {
    #[serde(with = "as_list")]
    days: BTreeMap<DayKey, Totals>,
    #[serde(with = "as_list")]
    sessions: BTreeMap<SessionKey, SessionCost>,
}

/// Maps as lists of pairs: keys of JSON objects are texts.
mod as_list {
    use std::collections::BTreeMap;

    use serde::de::DeserializeOwned;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        map: &BTreeMap<impl Serialize, impl Serialize>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(map)
    }

    pub(super) fn deserialize<'d, D, K, V>(from: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        D: Deserializer<'d>,
        K: DeserializeOwned + Ord,
        V: DeserializeOwned,
    {
        Ok(Vec::<(K, V)>::deserialize(from)?.into_iter().collect())
    }
}

impl Rollup {
    pub(crate) fn add(&mut self, row: &Row) {
        let key = DayKey {
            day: row.at.div_euclid(DAY_MS),
            workload: row.workload.clone(),
            stack: row.stack.clone(),
            model: row.model.clone().unwrap_or_default(),
            key: row.key.clone().unwrap_or_default(),
        };
        add_row(self.days.entry(key).or_default(), row);
        if let (Some(session), Some(usd)) = (&row.session, row.receipt.billed_input_usd) {
            let key = SessionKey {
                workload: row.workload.clone(),
                session: session.clone(),
                held_out: row.held_out,
            };
            let cost = SessionCost {
                first_at: row.at,
                requests: 1,
                input_usd: usd,
            };
            self.add_session(key, &cost);
        }
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        for (key, totals) in &other.days {
            add_totals(self.days.entry(key.clone()).or_default(), totals);
        }
        for (key, cost) in &other.sessions {
            self.add_session(key.clone(), cost);
        }
    }

    fn add_session(&mut self, key: SessionKey, cost: &SessionCost) {
        let sum = self.sessions.entry(key).or_insert(SessionCost {
            first_at: cost.first_at,
            requests: 0,
            input_usd: 0.0,
        });
        sum.first_at = sum.first_at.min(cost.first_at);
        sum.requests += cost.requests;
        sum.input_usd += cost.input_usd;
    }

    /// Roughly what it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.days.len() * (size_of::<(DayKey, Totals)>() + 100)
            + self.sessions.len() * (size_of::<(SessionKey, SessionCost)>() + 50)
    }

    /// Adds it to the database.
    pub(crate) fn write(self, store: &mut dyn Store) -> Result<(), LedgerError> {
        for (key, totals) in self.days {
            let mut row = vec![
                Value::owned(day_of(key.day * DAY_MS)),
                Value::owned(key.workload),
                Value::owned(key.stack),
                Value::owned(key.model),
                Value::owned(key.key),
            ];
            row.extend(values(totals));
            store.execute(&ADD_TO_DAY, &row)?;
        }
        for (key, cost) in self.sessions {
            store.execute(
                ADD_TO_SESSION,
                &[
                    Value::owned(key.workload),
                    Value::owned(key.session),
                    Value::Bool(key.held_out),
                    Value::Int(cost.first_at),
                    Value::count(cost.requests),
                    Value::Real(cost.input_usd),
                ],
            )?;
        }
        Ok(())
    }
}

static ADD_TO_DAY: LazyLock<String> = LazyLock::new(|| {
    let names: Vec<&str> = SUMS.iter().map(|sum| sum.name).collect();
    let slots: Vec<String> = (1..=names.len() + 5).map(|at| format!("${at}")).collect();
    let additions: Vec<String> = names
        .iter()
        .map(|name| format!("{name} = daily.{name} + excluded.{name}"))
        .collect();
    format!(
        "INSERT INTO daily (day, workload, stack, model, key_name, {}) VALUES ({}) \
         ON CONFLICT (day, workload, stack, model, key_name) DO UPDATE SET {}",
        names.join(", "),
        slots.join(", "),
        additions.join(", ")
    )
});

const ADD_TO_SESSION: &str = "INSERT INTO session_cost \
     (workload, session, held_out, first_at_ms, requests, input_usd) VALUES ($1, $2, $3, $4, $5, $6) \
     ON CONFLICT (workload, session, held_out) DO UPDATE SET \
     first_at_ms = CASE WHEN excluded.first_at_ms < session_cost.first_at_ms \
     THEN excluded.first_at_ms ELSE session_cost.first_at_ms END, \
     requests = session_cost.requests + excluded.requests, \
     input_usd = session_cost.input_usd + excluded.input_usd";
