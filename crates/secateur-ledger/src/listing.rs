//! The list of rows, newest first, page by page, fast at any size.
//!
//! Rows are indexed by time, and by (workload, stack, model, time): a *series*. The daily sums know
//! which series there are, so any mix of these three filters becomes one short index walk per series
//! that fits, merged. No filter makes the database read more than a page from each.

use crate::columns::{AUDIT, row};
use crate::error::LedgerError;
use crate::moment::day_of;
use crate::query::{After, Filter};
use crate::row::Row;
use crate::store::{Store, Value};

/// Above this many fitting series the rows are so common that a walk in time finds them soon.
const MAX_SERIES: usize = 200;
/// Largest page.
pub(crate) const MAX_PAGE: u32 = 10_000;

/// SQL with its parameters, as they are added.
#[derive(Debug, Default)]
pub(crate) struct Sql {
    pub(crate) text: String,
    pub(crate) values: Vec<Value<'static>>,
}

impl Sql {
    pub(crate) fn bind(&mut self, value: Value<'static>) -> String {
        self.values.push(value);
        format!("${}", self.values.len())
    }
}

pub(crate) fn rows(
    store: &mut dyn Store,
    filter: &Filter,
    after: Option<&After>,
    limit: u32,
) -> Result<Vec<Row>, LedgerError> {
    let Some(sql) = page(store, filter, after, limit)? else {
        return Ok(Vec::new());
    };
    store
        .query(&sql.text, &sql.values)?
        .into_iter()
        .map(row)
        .collect()
}

/// The query for a page; `None` if no row can fit.
pub(crate) fn page(
    store: &mut dyn Store,
    filter: &Filter,
    after: Option<&After>,
    limit: u32,
) -> Result<Option<Sql>, LedgerError> {
    let limit = i64::from(limit.clamp(1, MAX_PAGE));
    let mut sql = Sql::default();
    let keys = if filter.session.is_some() || !names_series(filter) {
        keys(&mut sql, filter, after, limit, None)
    } else {
        let series = series(store, filter)?;
        if series.is_empty() {
            return Ok(None);
        }
        if series.len() > MAX_SERIES {
            keys(&mut sql, filter, after, limit, None)
        } else {
            let each: Vec<String> = series
                .into_iter()
                .map(|one| {
                    format!(
                        "SELECT * FROM ({}) AS one",
                        keys(&mut sql, filter, after, limit, Some(one))
                    )
                })
                .collect();
            each.join(" UNION ALL ")
        }
    };
    let slot = sql.bind(Value::Int(limit));
    sql.text = format!(
        "SELECT {} FROM (SELECT at_ms, id FROM ({keys}) AS found ORDER BY at_ms DESC, id DESC LIMIT {slot}) AS page \
         JOIN audit ON audit.id = page.id ORDER BY page.at_ms DESC, page.id DESC",
        AUDIT.column_list("audit.")
    );
    Ok(Some(sql))
}

fn names_series(filter: &Filter) -> bool {
    filter.workload.is_some()
        || filter.stack.is_some()
        || filter.model.is_some()
        || filter.only_changed
}

type Series = [Value<'static>; 3];

/// Which series have rows that fit, as far as the daily sums tell.
fn series(store: &mut dyn Store, filter: &Filter) -> Result<Vec<Series>, LedgerError> {
    let mut sql = Sql::default();
    let mut terms = series_terms(&mut sql, filter);
    if let Some(since) = filter.since {
        terms.push(format!("day >= {}", sql.bind(Value::owned(day_of(since)))));
    }
    if let Some(until) = filter.until {
        terms.push(format!("day <= {}", sql.bind(Value::owned(day_of(until)))));
    }
    if filter.only_trouble {
        terms.push("(errors > 0 OR failed_open > 0)".into());
    }
    let text = format!(
        "SELECT DISTINCT workload, stack, model FROM daily{} ORDER BY 1, 2, 3 LIMIT {}",
        all_of(&terms),
        MAX_SERIES + 1
    );
    let found = store.query(&text, &sql.values)?;
    Ok(found
        .into_iter()
        .filter_map(|row| row.try_into().ok())
        .collect())
}

/// Terms on workload, stack and model, which `audit` and `daily` both have.
pub(crate) fn series_terms(sql: &mut Sql, filter: &Filter) -> Vec<String> {
    let mut terms = Vec::new();
    for (column, wanted) in [
        ("workload", &filter.workload),
        ("stack", &filter.stack),
        ("model", &filter.model),
    ] {
        if let Some(wanted) = wanted {
            terms.push(format!("{column} = {}", sql.bind(Value::owned(wanted))));
        }
    }
    if filter.only_changed {
        terms.push("stack <> ''".into());
    }
    terms
}

/// Terms on what only single rows have.
pub(crate) fn row_terms(sql: &mut Sql, filter: &Filter) -> Vec<String> {
    let mut terms = Vec::new();
    if let Some(session) = &filter.session {
        terms.push(format!("session = {}", sql.bind(Value::owned(session))));
    }
    if filter.only_trouble {
        terms.push("trouble".into());
    }
    if let Some(since) = filter.since {
        terms.push(format!("at_ms >= {}", sql.bind(Value::Int(since))));
    }
    if let Some(until) = filter.until {
        terms.push(format!("at_ms < {}", sql.bind(Value::Int(until))));
    }
    terms
}

pub(crate) fn all_of(terms: &[String]) -> String {
    if terms.is_empty() {
        String::new()
    } else {
        format!(" WHERE {}", terms.join(" AND "))
    }
}

/// The newest keys that fit, of one series or of all rows.
fn keys(
    sql: &mut Sql,
    filter: &Filter,
    after: Option<&After>,
    limit: i64,
    of: Option<Series>,
) -> String {
    let mut terms = match of {
        Some([workload, stack, model]) => vec![
            format!("workload = {}", sql.bind(workload)),
            format!("stack = {}", sql.bind(stack)),
            format!("model = {}", sql.bind(model)),
        ],
        None => series_terms(sql, filter),
    };
    terms.extend(row_terms(sql, filter));
    if let Some(after) = after {
        let (at, id) = (
            sql.bind(Value::Int(after.at)),
            sql.bind(Value::owned(&after.id)),
        );
        terms.push(format!("(at_ms, id) < ({at}, {id})"));
    }
    let limit = sql.bind(Value::Int(limit));
    format!(
        "SELECT at_ms, id FROM audit{} ORDER BY at_ms DESC, id DESC LIMIT {limit}",
        all_of(&terms)
    )
}

pub(crate) fn one(store: &mut dyn Store, id: &str) -> Result<Option<Row>, LedgerError> {
    let sql = format!("SELECT {} FROM audit WHERE id = $1", AUDIT.column_list(""));
    let Some(found) = store.query(&sql, &[Value::text(id)])?.into_iter().next() else {
        return Ok(None);
    };
    let mut row = row(found)?;
    let plan = store.query(
        "SELECT plan FROM audit_plan WHERE id = $1",
        &[Value::text(id)],
    )?;
    if let Some(plan) = plan.into_iter().flatten().next() {
        row.plan = Some(crate::ingest::unpack(&plan.into_bytes()?)?);
    }
    Ok(Some(row))
}

/// Workloads that ever had rows.
pub(crate) fn workloads(store: &mut dyn Store) -> Result<Vec<String>, LedgerError> {
    let found = store.query("SELECT DISTINCT workload FROM daily ORDER BY workload", &[])?;
    found.into_iter().flatten().map(Value::into_text).collect()
}

#[cfg(test)]
mod plans;
