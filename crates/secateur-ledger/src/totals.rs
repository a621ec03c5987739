//! Sums over rows: from the daily roll-ups wherever the filter lets whole days through, from the rows
//! themselves for the rest.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::error::LedgerError;
use crate::listing::{Sql, all_of, bundles, row_terms, series_terms, view};
use crate::moment::{DAY_MS, day_of};
use crate::query::{Filter, GroupBy, Totals};
use crate::rollup::{SUMS, add_row, add_totals, totals_from};
use crate::row::Millis;
use crate::store::{Database, Store, Value};

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
    add_totals(sum_of(groups, &totals.group), totals);
}

/// The sums of a group, which may be new.
fn sum_of<'g>(groups: &'g mut Groups, group: &str) -> &'g mut Totals {
    let new = |group: &String| Totals {
        group: group.clone(),
        ..Totals::default()
    };
    groups.entry(group.to_owned()).or_insert_with_key(new)
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
    let sums: Vec<String> = SUMS
        .iter()
        .map(|&(name, is_real, _)| sum(name, is_real))
        .collect();
    let group = match by {
        GroupBy::All => "''",
        GroupBy::Workload => "workload",
        GroupBy::Stack => "stack",
        GroupBy::Model => "model",
        GroupBy::Day => "day",
    };
    let text = format!(
        "SELECT {group}, {} FROM daily{}{}",
        sums.join(", "),
        all_of(&terms),
        group_by(by, group)
    );
    for found in store.query(&text, &sql.values)? {
        add(groups, &totals_from(found)?);
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
    terms.extend(row_terms(&mut sql, store.database(), filter));
    let sums: Vec<String> = SUMS
        .iter()
        .map(|&(_, is_real, of_row)| sum(of_row, is_real))
        .collect();
    let day = format!("CAST(at_ms / {DAY_MS} AS TEXT)");
    let group = match by {
        GroupBy::All => "''",
        GroupBy::Workload => "workload",
        GroupBy::Stack => "stack",
        GroupBy::Model => "model",
        GroupBy::Day => &day,
    };
    let text = format!(
        "SELECT {group}, {} FROM {}{}{}",
        sums.join(", "),
        view(store.database()),
        all_of(&terms),
        group_by(by, group)
    );
    for found in store.query(&text, &sql.values)? {
        let mut totals = totals_from(found)?;
        if by == GroupBy::Day {
            let number: Millis = totals.group.parse().unwrap_or(0);
            totals.group = day_of(number * DAY_MS);
        }
        add(groups, &totals);
    }
    if store.database() == Database::Sqlite {
        bundles::each(store, filter, |row, own| {
            let group = match by {
                GroupBy::All => Cow::Borrowed(""),
                GroupBy::Workload => row.workload.as_str().into(),
                GroupBy::Stack => row.stack.as_str().into(),
                GroupBy::Model => row.model.as_deref().unwrap_or_default().into(),
                GroupBy::Day => day_of(own.at).into(),
            };
            add_row(sum_of(groups, &group), row, own);
        })?;
    }
    Ok(())
}

/// `HAVING` keeps a single group without rows away.
fn group_by(by: GroupBy, group: &str) -> String {
    match by {
        GroupBy::All => " HAVING COUNT(*) > 0".into(),
        _ => format!(" GROUP BY {group}"),
    }
}

/// PostgreSQL adds whole numbers up to a type of its own; the cast brings it back.
fn sum(of: &str, is_real: bool) -> String {
    if is_real {
        format!("COALESCE(SUM({of}), 0.0)")
    } else {
        format!("CAST(COALESCE(SUM({of}), 0) AS BIGINT)")
    }
}
