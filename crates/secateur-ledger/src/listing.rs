//! The list of rows, newest first, page by page in both directions, fast at any size.
//!
//! Ids sort by time, so the list is in the order of ids. Rows are indexed by (workload, stack, model, id): a *series*. The
//! daily sums know which series there are, so any mix of these three filters becomes one short index walk per series
//! that fits, merged. No filter makes the database read more than a page from each.

use crate::audit_table::{self, AUDIT};
use crate::error::LedgerError;
use crate::moment::day_of;
use crate::query::{After, Filter, GroupBy};
use crate::row::{LAST_TIME, Millis, Row, id_time};
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

/// Which way a list is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Towards {
    Older,
    Newer,
}

impl Towards {
    fn order(self) -> &'static str {
        match self {
            Self::Older => "DESC",
            Self::Newer => "ASC",
        }
    }
}

/// Which rows of the list a page holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page<'a> {
    pub(crate) filter: &'a Filter,
    /// `None`: it begins with the newest row, or with the oldest.
    pub(crate) place: Option<&'a After>,
    pub(crate) towards: Towards,
    pub(crate) limit: u32,
    pub(crate) has_plans: bool,
}

/// What the columns workload, stack and model hold.
type Series = Vec<Value<'static>>;

impl<'a> Page<'a> {
    /// Towards older rows, without their plans.
    pub(crate) fn new(filter: &'a Filter, place: Option<&'a After>, limit: u32) -> Self {
        Self {
            filter,
            place,
            towards: Towards::Older,
            limit: limit.clamp(1, MAX_PAGE),
            has_plans: false,
        }
    }

    /// Its rows, newest first.
    pub(crate) fn read(&self, store: &mut dyn Store) -> Result<Vec<Row>, LedgerError> {
        let Some(sql) = self.sql(store)? else {
            return Ok(Vec::new());
        };
        let one = |mut values: Vec<Value<'static>>| {
            let plan = values.split_off(AUDIT.columns.len()).into_iter().next();
            let mut row = audit_table::read(values)?;
            row.plan = plan.unwrap_or(Value::Null).into_maybe_text()?;
            Ok(row)
        };
        let found = store.query(&sql.text, &sql.values)?;
        found.into_iter().map(one).collect()
    }

    /// The question for its rows; `None` if no row can fit.
    fn sql(&self, store: &mut dyn Store) -> Result<Option<Sql>, LedgerError> {
        let mut sql = Sql::default();
        let filter = self.filter;
        let ids = if filter.session.is_some() || !names_series(filter) {
            self.ids(&mut sql, None)
        } else {
            let series = series(store, filter)?;
            if series.is_empty() {
                return Ok(None);
            }
            if series.len() > MAX_SERIES {
                self.ids(&mut sql, None)
            } else {
                let each = series.into_iter().map(|one| {
                    let ids = self.ids(&mut sql, Some(one));
                    format!("SELECT * FROM ({ids}) AS one")
                });
                each.collect::<Vec<String>>().join(" UNION ALL ")
            }
        };
        let limit = sql.bind(Value::Int(self.limit.into()));
        let plan = if self.has_plans {
            ", (SELECT plan FROM audit_plan WHERE audit_plan.id = page.id)"
        } else {
            ""
        };
        sql.text = format!(
            "SELECT {}{plan} FROM (SELECT id FROM ({ids}) AS found ORDER BY id {} LIMIT {limit}) AS page \
             JOIN audit ON audit.id = page.id ORDER BY page.id DESC",
            AUDIT.column_list("audit."),
            self.towards.order(),
        );
        Ok(Some(sql))
    }

    /// The ids that fit and are nearest to the place, of one series or of all rows.
    fn ids(&self, sql: &mut Sql, of: Option<Series>) -> String {
        let mut terms = match of {
            Some(series) => {
                let named = ["workload", "stack", "model"].iter().zip(series);
                named
                    .map(|(name, value)| format!("{name} = {}", sql.bind(value)))
                    .collect()
            }
            None => series_terms(sql, self.filter),
        };
        terms.extend(row_terms(sql, self.filter, self.place, self.towards));
        let limit = sql.bind(Value::Int(self.limit.into()));
        format!(
            "SELECT id FROM audit{} ORDER BY id {} LIMIT {limit}",
            all_of(&terms),
            self.towards.order()
        )
    }
}

fn names_series(filter: &Filter) -> bool {
    filter.workload.is_some()
        || filter.stack.is_some()
        || filter.model.is_some()
        || filter.only_changed
        || filter.only_trouble
}

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
        terms.push("(errors > 0 OR failed_open > 0 OR struck > 0)".into());
    }
    let text = format!(
        "SELECT DISTINCT workload, stack, model FROM daily{} LIMIT {}",
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

/// Terms on what only rows have: session, trouble, and the ids between the filter's times, from `place` on. A walk begins
/// at the term on its first row, and where there were two, maybe at the farther one: so only the nearer is said.
pub(crate) fn row_terms(
    sql: &mut Sql,
    filter: &Filter,
    place: Option<&After>,
    towards: Towards,
) -> Vec<String> {
    let mut terms = Vec::new();
    if let Some(session) = &filter.session {
        terms.push(format!("session = {}", sql.bind(Value::owned(session))));
    }
    let mut from = filter.since.map(|since| (">=", first_id(since)));
    let mut to = filter.until.map(first_id);
    match (place, towards) {
        (Some(After(id)), Towards::Older) if to.as_ref().is_none_or(|to| id < to) => {
            to = Some(id.clone());
        }
        (Some(After(id)), Towards::Newer) if from.as_ref().is_none_or(|(_, from)| id >= from) => {
            from = Some((">", id.clone()));
        }
        _ => {}
    }
    if let Some((sign, from)) = from {
        terms.push(format!("id {sign} {}", sql.bind(Value::owned(from))));
    }
    if let Some(to) = to {
        terms.push(format!("id < {}", sql.bind(Value::owned(to))));
    }
    if filter.only_trouble {
        terms.push("trouble".into());
    }
    terms
}

/// No id of this time or later is smaller, and every id of an earlier time is.
pub(crate) fn first_id(at: Millis) -> String {
    if at > LAST_TIME {
        // Greater than every digit.
        return "g".into();
    }
    id_time(at)
}

pub(crate) fn all_of(terms: &[String]) -> String {
    if terms.is_empty() {
        String::new()
    } else {
        format!(" WHERE {}", terms.join(" AND "))
    }
}

/// One row with its plan.
pub(crate) fn one(store: &mut dyn Store, id: &str) -> Result<Option<Row>, LedgerError> {
    let sql = format!("SELECT {} FROM audit WHERE id = $1", AUDIT.column_list(""));
    let key = [Value::text(id)];
    let Some(found) = store.query(&sql, &key)?.into_iter().next() else {
        return Ok(None);
    };
    let mut row = audit_table::read(found)?;
    let plan = store.query("SELECT plan FROM audit_plan WHERE id = $1", &key)?;
    let plan = plan.into_iter().flatten().next().map(Value::into_text);
    row.plan = plan.transpose()?;
    Ok(Some(row))
}

/// Names that rows ever had, in order.
pub(crate) fn seen(store: &mut dyn Store, by: GroupBy) -> Result<Vec<String>, LedgerError> {
    let Some(column) = by.column() else {
        return Ok(Vec::new());
    };
    let sql = format!("SELECT DISTINCT {column} FROM daily ORDER BY {column}");
    let found = store.query(&sql, &[])?;
    found.into_iter().flatten().map(Value::into_text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_begins_at_the_nearer_of_a_place_and_a_filters_bound() {
        let filter = Filter {
            since: Some(100),
            until: Some(200),
            ..Filter::default()
        };
        for (at, towards, term, value) in [
            (150, Towards::Older, "id < $2", "0000000009678"),
            (150, Towards::Newer, "id > $1", "0000000009678"),
            (250, Towards::Older, "id < $2", "000000000c8"),
            (50, Towards::Newer, "id >= $1", "00000000064"),
        ] {
            let place = After(format!("{}78", id_time(at)));
            let mut sql = Sql::default();
            let terms = row_terms(&mut sql, &filter, Some(&place), towards);
            assert_eq!(terms.len(), 2, "one for each end: {terms:?}");
            assert!(terms.iter().any(|said| said == term), "{term}: {terms:?}");
            assert!(sql.values.contains(&Value::text(value)), "{sql:?}");
        }
    }
}

#[cfg(test)]
mod index_use;
