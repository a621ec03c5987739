//! Sums over rows: from the daily roll-ups wherever the filter lets whole days through, from the rows
//! themselves for the rest.

use std::collections::BTreeMap;

use crate::error::LedgerError;
use crate::listing::{Sql, Towards, all_of, row_terms, series_terms};
use crate::moment::{DAY_MS, day_of};
use crate::query::{Filter, GroupBy, Totals};
use crate::row::Millis;
use crate::store::{Store, Value};
use crate::sums::{self, SUMS};

/// By the group's name.
pub(crate) fn totals(
    store: &mut dyn Store,
    filter: &Filter,
    by: GroupBy,
) -> Result<Vec<Totals>, LedgerError> {
    let mut groups = BTreeMap::new();
    if filter.session.is_some() || filter.only_trouble {
        from_rows(store, filter, by, &mut groups)?;
        return Ok(groups.into_values().collect());
    }
    // Whole days lie between these two; what sticks out on either side is counted row by row.
    let first = filter
        .since
        .map(|since| since.div_euclid(DAY_MS) + i64::from(since.rem_euclid(DAY_MS) > 0));
    let end = filter.until.map(|until| until.div_euclid(DAY_MS));
    if let (Some(first), Some(end)) = (first, end)
        && first >= end
    {
        from_rows(store, filter, by, &mut groups)?;
        return Ok(groups.into_values().collect());
    }
    from_days(store, filter, by, first, end, &mut groups)?;
    if let (Some(since), Some(first)) = (filter.since, first)
        && since < first * DAY_MS
    {
        let edge = Filter {
            until: Some(first * DAY_MS),
            ..filter.clone()
        };
        from_rows(store, &edge, by, &mut groups)?;
    }
    if let (Some(until), Some(end)) = (filter.until, end)
        && end * DAY_MS < until
    {
        let edge = Filter {
            since: Some(end * DAY_MS),
            ..filter.clone()
        };
        from_rows(store, &edge, by, &mut groups)?;
    }
    Ok(groups.into_values().collect())
}

type Groups = BTreeMap<String, Totals>;

fn add(groups: &mut Groups, totals: &Totals) {
    let sum = groups
        .entry(totals.group.clone())
        .or_insert_with(|| Totals {
            group: totals.group.clone(),
            ..Totals::default()
        });
    sums::add_totals(sum, totals);
}

fn from_days(
    store: &mut dyn Store,
    filter: &Filter,
    by: GroupBy,
    first: Option<i64>,
    end: Option<i64>,
    groups: &mut Groups,
) -> Result<(), LedgerError> {
    let mut sql = Sql::default();
    let mut terms = series_terms(&mut sql, filter);
    if let Some(first) = first {
        terms.push(format!(
            "day >= {}",
            sql.bind(Value::owned(day_of(first * DAY_MS)))
        ));
    }
    if let Some(end) = end {
        terms.push(format!(
            "day < {}",
            sql.bind(Value::owned(day_of(end * DAY_MS)))
        ));
    }
    let sums: Vec<String> = SUMS.iter().map(|sum| sum.sql(sum.name)).collect();
    let group = by.column().unwrap_or("''");
    let text = format!(
        "SELECT {group}, {} FROM daily{}{}",
        sums.join(", "),
        all_of(&terms),
        group_by(by, group)
    );
    for found in store.query(&text, &sql.values)? {
        add(groups, &sums::read(found)?);
    }
    Ok(())
}

fn from_rows(
    store: &mut dyn Store,
    filter: &Filter,
    by: GroupBy,
    groups: &mut Groups,
) -> Result<(), LedgerError> {
    let mut sql = Sql::default();
    let mut terms = series_terms(&mut sql, filter);
    terms.extend(row_terms(&mut sql, filter, None, Towards::Older));
    let sums: Vec<String> = SUMS.iter().map(|sum| sum.sql(sum.of_row)).collect();
    let group = group_of_row(by);
    let text = format!(
        "SELECT {group}, {} FROM audit{}{}",
        sums.join(", "),
        all_of(&terms),
        group_by(by, &group)
    );
    for found in store.query(&text, &sql.values)? {
        let mut totals = sums::read(found)?;
        totals.group = group_name(by, totals.group);
        add(groups, &totals);
    }
    from_spending(store, filter, by, groups)
}

/// What was spent, in the same groups. A list of trouble has none of it: a call is no request of a client.
fn from_spending(
    store: &mut dyn Store,
    filter: &Filter,
    by: GroupBy,
    groups: &mut Groups,
) -> Result<(), LedgerError> {
    if filter.only_trouble {
        return Ok(());
    }
    let mut sql = Sql::default();
    let mut terms = series_terms(&mut sql, filter);
    if let Some(since) = filter.since {
        terms.push(format!("at_ms >= {}", sql.bind(Value::Int(since))));
    }
    if let Some(until) = filter.until {
        terms.push(format!("at_ms < {}", sql.bind(Value::Int(until))));
    }
    if let Some(session) = &filter.session {
        let session = sql.bind(Value::owned(session.as_str()));
        terms.push(format!(
            "request_id IN (SELECT id FROM audit WHERE session = {session})"
        ));
    }
    let group = group_of_row(by);
    let text = format!(
        "SELECT {group}, COALESCE(SUM(usd), 0.0) FROM spending{} GROUP BY 1",
        all_of(&terms)
    );
    for found in store.query(&text, &sql.values)? {
        let mut values = found.into_iter();
        let mut take = || values.next().unwrap_or(Value::Null);
        let spent = Totals {
            group: group_name(by, take().into_text()?),
            spent_usd: take().into_real()?,
            ..Totals::default()
        };
        add(groups, &spent);
    }
    Ok(())
}

/// What a row with a time and a key is grouped by, in SQL.
fn group_of_row(by: GroupBy) -> String {
    match by {
        GroupBy::Day => format!("CAST(at_ms / {DAY_MS} AS TEXT)"),
        GroupBy::Key => "COALESCE(key_name, '')".into(),
        other => other.column().unwrap_or("''").into(),
    }
}

/// The group's name: a day comes as its number.
fn group_name(by: GroupBy, found: String) -> String {
    match by {
        GroupBy::Day => day_of(found.parse::<Millis>().unwrap_or(0) * DAY_MS),
        _ => found,
    }
}

/// `HAVING` keeps a single group without rows away.
fn group_by(by: GroupBy, group: &str) -> String {
    match by {
        GroupBy::All => " HAVING COUNT(*) > 0".into(),
        _ => format!(" GROUP BY {group}"),
    }
}
