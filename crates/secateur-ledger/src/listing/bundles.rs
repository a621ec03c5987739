//! Rows that lie in bundles (see `bundle.rs`): found by time, and by the series that a bundle has rows of.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use super::{MAX_SERIES, Sql, Towards, all_of, series_terms};
use crate::bundle::{self, BETWEEN, Bundled, Entries, MAX_ROWS};
use crate::error::LedgerError;
use crate::number::{LAST_TURN, first_at, fresh, time_of};
use crate::plain::Figures;
use crate::query::Filter;
use crate::row::{ReceiptRow, Row};
use crate::store::{Store, Value};

/// Most bundles that are read at once.
const MAX_AT_ONCE: usize = 256;

/// A walk over the bundles with rows that fit a filter, in the order of where they begin.
struct Walk {
    towards: Towards,
    /// Rows from this number on, and before that one.
    from: i64,
    to: i64,
    /// Bundles that begin after this number and before that one are still to come.
    after: i64,
    before: i64,
    /// Series that fit; `None`: all.
    series: Option<BTreeSet<i64>>,
}

impl Walk {
    /// `place`: only rows on the walk's side of this number. `None`: no bundle can have a row that fits.
    fn new(
        store: &mut dyn Store,
        filter: &Filter,
        place: Option<i64>,
        towards: Towards,
    ) -> Result<Option<Self>, LedgerError> {
        let is_changed = filter.stack.as_ref().is_some_and(|stack| !stack.is_empty());
        if filter.session.is_some() || filter.only_trouble || filter.only_changed || is_changed {
            return Ok(None);
        }
        let series = match fitting_series(store, filter)? {
            Some(none) if none.is_empty() => return Ok(None),
            series => series,
        };
        let mut from = filter.since.map_or(0, first_at);
        let mut to = filter.until.map_or(i64::MAX, first_at);
        match (place, towards) {
            (None, _) => {}
            (Some(place), Towards::Older) => to = to.min(place),
            (Some(place), Towards::Newer) => from = from.max(place.saturating_add(1)),
        }
        Ok(Some(Self {
            towards,
            from,
            to,
            after: bundle::begins_after(from),
            before: to,
            series,
        }))
    }

    /// Whether no bundle that is still to come has a row that belongs before this number on the way.
    fn is_past(&self, number: i64) -> bool {
        match self.towards {
            Towards::Older => number >= bundle::ends_before(self.before),
            Towards::Newer => number <= self.after,
        }
    }

    /// The rows of the next few bundles that fit, in no order; `None`: there are no more bundles.
    fn next(
        &mut self,
        store: &mut dyn Store,
        bundles: usize,
    ) -> Result<Option<Vec<Bundled>>, LedgerError> {
        let bundles = bundles.clamp(1, MAX_AT_ONCE);
        let sql = self.sql(i64::try_from(bundles).unwrap_or(1));
        let found = store.query(&sql.text, &sql.values)?;
        if found.is_empty() {
            return Ok(None);
        }
        let mut rows = Vec::new();
        for (first, of_bundle) in read(found)? {
            match self.towards {
                Towards::Older => self.before = first,
                Towards::Newer => self.after = first,
            }
            let fits = |row: &Bundled| {
                let is_wanted = |series: &BTreeSet<i64>| series.contains(&row.series);
                (self.from..self.to).contains(&row.seq)
                    && self.series.as_ref().is_none_or(is_wanted)
            };
            rows.extend(of_bundle.into_iter().filter(fits));
        }
        Ok(Some(rows))
    }

    fn sql(&self, limit: i64) -> Sql {
        let mut sql = Sql::default();
        let numbers = [self.after, self.before, self.from, limit];
        let [after, before, from, limit] = numbers.map(|number| sql.bind(Value::Int(number)));
        let order = self.towards.order();
        // Those that end too early are left out before the limit counts them.
        let range =
            |name: &str| format!("{name} > {after} AND {name} < {before} AND last_seq >= {from}");
        let which = match self
            .series
            .as_ref()
            .filter(|series| series.len() <= MAX_SERIES)
        {
            None => range("seq"),
            Some(series) => {
                // CROSS JOIN: the walk over the series comes first.
                let of = |series: &i64| {
                    let series = sql.bind(Value::Int(*series));
                    format!(
                        "SELECT * FROM (SELECT bundle FROM audit_bundle_series CROSS JOIN audit_bundle ON seq = bundle \
                         WHERE series = {series} AND {} ORDER BY bundle {order} LIMIT {limit})",
                        range("bundle")
                    )
                };
                let each: Vec<String> = series.iter().map(of).collect();
                format!("seq IN ({})", each.join(" UNION "))
            }
        };
        sql.text = format!(
            "SELECT seq, entries FROM audit_bundle WHERE {which} ORDER BY seq {order} LIMIT {limit}"
        );
        sql
    }
}

/// What a page with this filter asks first, for tests of how it is found.
#[cfg(test)]
pub(super) fn first_question(
    store: &mut dyn Store,
    filter: &Filter,
    towards: Towards,
) -> Option<Sql> {
    let walk = Walk::new(store, filter, None, towards).ok().flatten();
    walk.map(|walk| walk.sql(2))
}

/// Numbers of the series that fit; `None`: all do.
fn fitting_series(
    store: &mut dyn Store,
    filter: &Filter,
) -> Result<Option<BTreeSet<i64>>, LedgerError> {
    let mut sql = Sql::default();
    let terms = series_terms(&mut sql, filter);
    if terms.is_empty() {
        return Ok(None);
    }
    sql.text = format!("SELECT series FROM audit_series{}", all_of(&terms));
    let found = store.query(&sql.text, &sql.values)?;
    let numbers = found.into_iter().flatten().map(Value::into_int);
    numbers.collect::<Result<_, _>>().map(Some)
}

/// Bundles as they come from the database: the number of each, and its rows.
fn read(found: Vec<Vec<Value<'static>>>) -> Result<Vec<(i64, Vec<Bundled>)>, LedgerError> {
    let one = |values: Vec<Value<'static>>| {
        let mut values = values.into_iter();
        let mut take = || values.next().unwrap_or(Value::Null);
        let first = take().into_int()?;
        let rows = match take() {
            Value::Bytes(packed) => bundle::read(first, Entries::Packed(&packed)),
            other => bundle::read(first, Entries::Json(&other.into_text()?)),
        };
        Ok((first, rows?))
    };
    found.into_iter().map(one).collect()
}

/// Rows with what they have in common with others, which is asked for once.
#[derive(Default)]
struct Likes(HashMap<(i64, i64), Row>);

impl Likes {
    /// Asks for what these rows need.
    fn learn(&mut self, store: &mut dyn Store, rows: &[Bundled]) -> Result<(), LedgerError> {
        let missing: BTreeSet<(i64, i64)> = rows
            .iter()
            .map(|row| (row.series, row.kind))
            .filter(|key| !self.0.contains_key(key))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let numbers = |of: fn(&(i64, i64)) -> i64| {
            let numbers: BTreeSet<i64> = missing.iter().map(of).collect();
            Value::owned(serde_json::to_string(&numbers).unwrap_or_default())
        };
        let series = by_number(
            store,
            "SELECT series, workload, stack, model \
             FROM audit_series WHERE series IN (SELECT value FROM json_each($1))",
            numbers(|key| key.0),
        )?;
        let kinds = by_number(
            store,
            "SELECT kind, status, provider, key_name, dialect, routed_to, failed_open, struck_stack, bypassed, \
             held_out, upstream_status, is_stream, tokens_are_exact, price_date, ended \
             FROM audit_kind WHERE kind IN (SELECT value FROM json_each($1))",
            numbers(|key| key.1),
        )?;
        for key in missing {
            let (Some(series), Some(kind)) = (series.get(&key.0), kinds.get(&key.1)) else {
                return Err(LedgerError::Unreadable(format!(
                    "a bundle names series {} and kind {}, which are not there",
                    key.0, key.1
                )));
            };
            self.0.insert(key, like(series.clone(), kind.clone())?);
        }
        Ok(())
    }

    fn of(&self, row: &Bundled) -> Option<&Row> {
        self.0.get(&(row.series, row.kind))
    }

    /// The whole row.
    fn row(&self, bundled: &Bundled) -> Option<Row> {
        let like = self.of(bundled)?;
        Some(bundled.own.row_like(like))
    }
}

type ByNumber = HashMap<i64, Vec<Value<'static>>>;

/// What a question finds, by its first column.
fn by_number(
    store: &mut dyn Store,
    sql: &str,
    numbers: Value<'_>,
) -> Result<ByNumber, LedgerError> {
    let one = |mut values: Vec<Value<'static>>| {
        let number = values.remove(0).into_int()?;
        Ok((number, values))
    };
    store.query(sql, &[numbers])?.into_iter().map(one).collect()
}

/// From the columns of [`Likes::learn`].
fn like(series: Vec<Value<'static>>, kind: Vec<Value<'static>>) -> Result<Row, LedgerError> {
    let mut from = series.into_iter().chain(kind);
    let mut take = || from.next().unwrap_or(Value::Null);
    let status = |count: u64| u16::try_from(count).unwrap_or(u16::MAX);
    Ok(Row {
        workload: take().into_text()?,
        stack: take().into_text()?,
        model: take().into_maybe_text()?.filter(|model| !model.is_empty()),
        status: status(take().into_count()?),
        provider: take().into_text()?,
        key: take().into_maybe_text()?,
        dialect: take().into_maybe_text()?,
        routed_to: take().into_maybe_text()?,
        failed_open: take().into_maybe_text()?,
        struck_stack: take().into_text()?,
        bypassed: take().into_bool()?,
        held_out: take().into_bool()?,
        upstream_status: take().into_maybe_count()?.map(status),
        is_stream: take().into_bool()?,
        receipt: ReceiptRow {
            tokens_are_exact: take().into_bool()?,
            price_date: take().into_maybe_text()?,
            ..ReceiptRow::default()
        },
        ended: take().into_text()?,
        ..Row::default()
    })
}

/// The rows that fit and are nearest to the place, with their numbers, newest first.
pub(super) fn page(
    store: &mut dyn Store,
    filter: &Filter,
    place: Option<i64>,
    towards: Towards,
    limit: usize,
) -> Result<Vec<(i64, Row)>, LedgerError> {
    let Some(mut walk) = Walk::new(store, filter, place, towards)? else {
        return Ok(Vec::new());
    };
    let mut found: Vec<Bundled> = Vec::new();
    let mut bundles = limit / MAX_ROWS + 2;
    while let Some(rows) = walk.next(store, bundles)? {
        found.extend(rows);
        if found.iter().filter(|row| walk.is_past(row.seq)).count() >= limit {
            break;
        }
        bundles = bundles.saturating_mul(2);
    }
    found.sort_unstable_by_key(|row| Reverse(row.seq));
    towards.keep(&mut found, limit);
    let mut likes = Likes::default();
    likes.learn(store, &found)?;
    let row = |bundled: &Bundled| Some((bundled.seq, likes.row(bundled)?));
    Ok(found.iter().filter_map(row).collect())
}

/// Shows each row that fits, as one like it and its figures, a few bundles at a time.
pub(crate) fn each(
    store: &mut dyn Store,
    filter: &Filter,
    mut show: impl FnMut(&Row, &Figures),
) -> Result<(), LedgerError> {
    let Some(mut walk) = Walk::new(store, filter, None, Towards::Older)? else {
        return Ok(());
    };
    let mut likes = Likes::default();
    while let Some(rows) = walk.next(store, MAX_AT_ONCE)? {
        likes.learn(store, &rows)?;
        for row in &rows {
            if let Some(like) = likes.of(row) {
                show(like, &row.own);
            }
        }
    }
    Ok(())
}

/// The row with this id, and its number.
pub(super) fn find(store: &mut dyn Store, id: &str) -> Result<Option<(i64, Row)>, LedgerError> {
    let Some((at, fresh)) = time_of(id).and_then(|at| Some((at, fresh(id, at)?))) else {
        return Ok(None);
    };
    let from = first_at(at);
    let numbers = bundle::between(from, from.saturating_add(LAST_TURN)).map(Value::Int);
    let found = read(store.query(BETWEEN, &numbers)?)?;
    let mut rows = found.into_iter().flat_map(|(_, rows)| rows);
    let is_it = |row: &Bundled| (row.own.at, row.own.fresh) == (at, Some(fresh));
    let Some(bundled) = rows.find(is_it) else {
        return Ok(None);
    };
    let mut likes = Likes::default();
    likes.learn(store, &[bundled])?;
    Ok(likes.row(&bundled).map(|row| (bundled.seq, row)))
}
