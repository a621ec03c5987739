//! The list of rows, newest first, page by page in both directions, fast at any size.
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
use crate::query::{After, Filter, GroupBy};
use crate::row::Row;
use crate::store::{Database, Store, Value, in_snapshot};
pub(crate) use lie::Towards;
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

pub(crate) fn rows(
    store: &mut dyn Store,
    filter: &Filter,
    after: Option<&After>,
    limit: u32,
) -> Result<Vec<Row>, LedgerError> {
    Page::new(filter, after, limit).read(store)
}

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
        let lie = Lie::of(store.database());
        if store.database() == Database::Postgres {
            let place = self.place(store, &lie)?;
            let found = self.single(store, &lie, place.as_ref())?;
            return Ok(found.into_iter().map(|(_, row)| row).collect());
        }
        // A row that comes between two questions would be in neither of them, nor on the next page.
        in_snapshot(store, |store| {
            let place = self.place(store, &lie)?;
            let number = place.as_ref().map(Place::lead);
            let limit = self.limit as usize;
            let bundled = bundles::page(store, self.filter, number, self.towards, limit)?;
            let mut rows = Vec::with_capacity(limit);
            let mut bundled = bundled.into_iter().peekable();
            for (key, row) in self.single(store, &lie, place.as_ref())? {
                let number = key.into_int()?;
                while let Some((_, newer)) = bundled.next_if(|(bundled, _)| *bundled > number) {
                    rows.push(newer);
                }
                rows.push(row);
            }
            rows.extend(bundled.map(|(_, row)| row));
            self.towards.keep(&mut rows, limit);
            Ok(rows)
        })
    }

    fn place(&self, store: &mut dyn Store, lie: &Lie) -> Result<Option<Place>, LedgerError> {
        let place = |place| lie.place(store, place, self.towards);
        self.place.map(place).transpose()
    }

    /// Those of the rows that lie by themselves, each with what finds it.
    fn single(
        &self,
        store: &mut dyn Store,
        lie: &Lie,
        place: Option<&Place>,
    ) -> Result<Vec<(Value<'static>, Row)>, LedgerError> {
        let Some(sql) = self.sql(store, lie, place)? else {
            return Ok(Vec::new());
        };
        let one = |mut values: Vec<Value<'static>>| {
            let mut more = values.split_off(AUDIT.columns.len()).into_iter();
            let key = more.next().unwrap_or(Value::Null);
            let plan = plan(more.next())?;
            let row = row(values)?;
            Ok((key, Row { plan, ..row }))
        };
        let found = store.query(&sql.text, &sql.values)?;
        found.into_iter().map(one).collect()
    }

    /// The question for these; `None` if no row can fit.
    fn sql(
        &self,
        store: &mut dyn Store,
        lie: &Lie,
        place: Option<&Place>,
    ) -> Result<Option<Sql>, LedgerError> {
        let mut sql = Sql::default();
        let filter = self.filter;
        let names_series = names_series(filter) || filter.only_trouble && lie.has_trouble_by_series;
        let keys = if filter.session.is_some() || !names_series {
            self.keys(&mut sql, lie, place, None)
        } else {
            let series = series(store, lie, filter)?;
            if series.is_empty() {
                return Ok(None);
            }
            if series.len() > MAX_SERIES {
                self.keys(&mut sql, lie, place, None)
            } else {
                let each: Vec<String> = series
                    .into_iter()
                    .map(|one| {
                        let keys = self.keys(&mut sql, lie, place, Some(one));
                        format!("SELECT * FROM ({keys}) AS one")
                    })
                    .collect();
                each.join(" UNION ALL ")
            }
        };
        let limit = sql.bind(Value::Int(self.limit.into()));
        let (key, last, view) = (lie.key, lie.last, lie.view);
        let plan = if self.has_plans {
            format!(", (SELECT plan FROM audit_plan WHERE audit_plan.{last} = page.{last})")
        } else {
            String::new()
        };
        sql.text = format!(
            "SELECT {}, page.{last}{plan} FROM \
             (SELECT {key} FROM ({keys}) AS found ORDER BY {} LIMIT {limit}) AS page \
             JOIN {view} AS audit ON audit.{last} = page.{last} ORDER BY {}",
            AUDIT.column_list("audit."),
            lie.order("", self.towards),
            lie.order("page.", Towards::Older),
        );
        Ok(Some(sql))
    }

    /// The keys that fit and are nearest to the place, of one series or of all rows.
    fn keys(&self, sql: &mut Sql, lie: &Lie, place: Option<&Place>, of: Option<Series>) -> String {
        let filter = self.filter;
        let mut terms = match of {
            Some(series) => {
                let named = lie.series.iter().zip(series);
                named
                    .map(|(name, value)| format!("{name} = {}", sql.bind(value)))
                    .collect()
            }
            None => lie.terms_of_series(series_terms(sql, filter)),
        };
        let start = place.map(|place| (place, self.towards));
        terms.extend(lie.terms_of_rows(sql, filter, start));
        if filter.only_trouble {
            terms.push(lie.is_trouble.into());
        }
        let limit = sql.bind(Value::Int(self.limit.into()));
        format!(
            "SELECT {} FROM {}{} ORDER BY {} LIMIT {limit}",
            lie.key,
            lie.table,
            all_of(&terms),
            lie.order("", self.towards)
        )
    }
}

/// A plan as its table has it.
fn plan(packed: Option<Value<'_>>) -> Result<Option<String>, LedgerError> {
    match packed {
        None | Some(Value::Null) => Ok(None),
        Some(packed) => crate::ingest::unpack(&packed.into_bytes()?).map(Some),
    }
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

/// The view of the rows that lie by themselves.
pub(crate) fn view(database: Database) -> &'static str {
    Lie::of(database).view
}

/// Terms for that view, on what only single rows have.
pub(crate) fn row_terms(sql: &mut Sql, database: Database, filter: &Filter) -> Vec<String> {
    let lie = Lie::of(database);
    let mut terms = lie.terms_of_rows(sql, filter, None);
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
    let row = row(found)?;
    let sql = format!("SELECT plan FROM audit_plan WHERE {last} = $1");
    let plan = plan(store.query(&sql, &key)?.into_iter().flatten().next())?;
    Ok(Some(Row { plan, ..row }))
}

/// Names that rows ever had, in order.
pub(crate) fn seen(store: &mut dyn Store, by: GroupBy) -> Result<Vec<String>, LedgerError> {
    let column = match by {
        GroupBy::All => return Ok(Vec::new()),
        GroupBy::Workload => "workload",
        GroupBy::Stack => "stack",
        GroupBy::Model => "model",
        GroupBy::Day => "day",
    };
    let sql = format!("SELECT DISTINCT {column} FROM daily ORDER BY {column}");
    let found = store.query(&sql, &[])?;
    found.into_iter().flatten().map(Value::into_text).collect()
}

#[cfg(test)]
mod plans;
