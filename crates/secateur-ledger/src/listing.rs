//! The list of rows, newest first, page by page, fast at any size.
//!
//! Rows are indexed by time, and by (workload, stack, model, time): a *series*. The daily sums know
//! which series there are, so any mix of these three filters becomes one short index walk per series
//! that fits, merged. No filter makes the database read more than a page from each. How rows lie in each of the
//! databases is told in `lie.rs`; in SQLite some lie in bundles.

pub(crate) mod bundles;
mod lie;

use crate::columns::{AUDIT, row};
use crate::error::LedgerError;
use crate::moment::day_of;
use crate::query::{After, Filter};
use crate::row::Row;
use crate::store::{Database, Store, Value, in_snapshot};
use lie::{Lie, Place};

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
    let limit = limit.clamp(1, MAX_PAGE);
    let lie = Lie::of(store.database());
    if store.database() == Database::Postgres {
        let after = after.map(|after| lie.place(store, after)).transpose()?;
        let found = single(store, &lie, filter, after.as_ref(), limit)?;
        return found.into_iter().map(row).collect();
    }
    // A row that comes between two questions would be in neither of them, nor on the next page.
    in_snapshot(store, |store| {
        let after = after.map(|after| lie.place(store, after)).transpose()?;
        let before = after.as_ref().and_then(Place::number);
        let bundled = bundles::newest(store, filter, before, limit as usize)?;
        let mut rows = Vec::with_capacity(limit as usize);
        let mut bundled = bundled.into_iter().peekable();
        for mut values in single(store, &lie, filter, after.as_ref(), limit)? {
            let number = values.pop().map_or(Ok(0), Value::into_int)?;
            while let Some((_, newer)) = bundled.next_if(|(bundled, _)| *bundled > number) {
                rows.push(newer);
            }
            rows.push(row(values)?);
        }
        rows.extend(bundled.map(|(_, row)| row));
        rows.truncate(limit as usize);
        Ok(rows)
    })
}

/// A page of the rows that lie by themselves: their columns, and the last of what finds them.
fn single(
    store: &mut dyn Store,
    lie: &Lie,
    filter: &Filter,
    after: Option<&Place>,
    limit: u32,
) -> Result<Vec<Vec<Value<'static>>>, LedgerError> {
    match page(store, lie, filter, after, i64::from(limit))? {
        Some(sql) => store.query(&sql.text, &sql.values),
        None => Ok(Vec::new()),
    }
}

/// The query for a page; `None` if no row can fit.
fn page(
    store: &mut dyn Store,
    lie: &Lie,
    filter: &Filter,
    after: Option<&Place>,
    limit: i64,
) -> Result<Option<Sql>, LedgerError> {
    let mut sql = Sql::default();
    let names_series = names_series(filter) || filter.only_trouble && lie.has_trouble_by_series;
    let keys = if filter.session.is_some() || !names_series {
        keys(&mut sql, lie, filter, after, limit, None)
    } else {
        let series = series(store, lie, filter)?;
        if series.is_empty() {
            return Ok(None);
        }
        if series.len() > MAX_SERIES {
            keys(&mut sql, lie, filter, after, limit, None)
        } else {
            let each: Vec<String> = series
                .into_iter()
                .map(|one| {
                    let keys = keys(&mut sql, lie, filter, after, limit, Some(one));
                    format!("SELECT * FROM ({keys}) AS one")
                })
                .collect();
            each.join(" UNION ALL ")
        }
    };
    let slot = sql.bind(Value::Int(limit));
    let (key, last, view) = (lie.key, lie.last, lie.view);
    let newest_first = lie.newest_first("");
    sql.text = format!(
        "SELECT {}, page.{last} FROM \
         (SELECT {key} FROM ({keys}) AS found ORDER BY {newest_first} LIMIT {slot}) AS page \
         JOIN {view} AS audit ON audit.{last} = page.{last} ORDER BY {}",
        AUDIT.column_list("audit."),
        lie.newest_first("page."),
    );
    Ok(Some(sql))
}

fn names_series(filter: &Filter) -> bool {
    filter.workload.is_some()
        || filter.stack.is_some()
        || filter.model.is_some()
        || filter.only_changed
}

/// What the columns of [`Lie::series`] hold.
type Series = Vec<Value<'static>>;

/// Which series have rows that fit, as far as the daily sums tell.
fn series(store: &mut dyn Store, lie: &Lie, filter: &Filter) -> Result<Vec<Series>, LedgerError> {
    let mut sql = Sql::default();
    let mut terms = series_terms(&mut sql, filter);
    if let Some(since) = filter.since {
        terms.push(format!("day >= {}", sql.bind(Value::owned(day_of(since)))));
    }
    if let Some(until) = filter.until {
        terms.push(format!("day <= {}", sql.bind(Value::owned(day_of(until)))));
    }
    if filter.only_trouble {
        terms.push("(errors > 0 OR failed_open > 0 OR struck > 0)".into());
    }
    let text = format!(
        "SELECT DISTINCT {} FROM {}{} LIMIT {}",
        lie.series.join(", "),
        lie.daily,
        all_of(&terms),
        MAX_SERIES + 1
    );
    store.query(&text, &sql.values)
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
    lie: &Lie,
    filter: &Filter,
    after: Option<&Place>,
    limit: i64,
    of: Option<Series>,
) -> String {
    let mut terms = match of {
        Some(series) => {
            let named = lie.series.iter().zip(series);
            named
                .map(|(name, value)| format!("{name} = {}", sql.bind(value)))
                .collect()
        }
        None => lie.terms_of_series(series_terms(sql, filter)),
    };
    terms.extend(lie.terms_of_rows(sql, filter));
    if filter.only_trouble {
        terms.push(lie.is_trouble.into());
    }
    if let Some(after) = after {
        terms.push(after.term(sql));
    }
    let limit = sql.bind(Value::Int(limit));
    format!(
        "SELECT {} FROM {}{} ORDER BY {} LIMIT {limit}",
        lie.key,
        lie.table,
        all_of(&terms),
        lie.newest_first("")
    )
}

/// The view of the rows that lie by themselves.
pub(crate) fn view(database: Database) -> &'static str {
    Lie::of(database).view
}

/// Terms for that view, on what only single rows have.
pub(crate) fn row_terms(sql: &mut Sql, database: Database, filter: &Filter) -> Vec<String> {
    let lie = Lie::of(database);
    let mut terms = lie.terms_of_rows(sql, filter);
    if filter.only_trouble {
        terms.push(lie.has_trouble.into());
    }
    terms
}

pub(crate) fn one(store: &mut dyn Store, id: &str) -> Result<Option<Row>, LedgerError> {
    let lie = Lie::of(store.database());
    let Some(key) = lie.find(store, id)? else {
        return Ok(bundles::find(store, id)?.map(|(_, row)| row));
    };
    let (columns, last, view) = (AUDIT.column_list(""), lie.last, lie.view);
    let sql = format!("SELECT {columns} FROM {view} WHERE {last} = $1");
    let key = [key];
    let Some(found) = store.query(&sql, &key)?.into_iter().next() else {
        return Ok(None);
    };
    let mut row = row(found)?;
    let sql = format!("SELECT plan FROM audit_plan WHERE {last} = $1");
    if let Some(plan) = store.query(&sql, &key)?.into_iter().flatten().next() {
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
