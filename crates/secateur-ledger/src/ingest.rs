//! Writes a batch of records: each exactly once, however often it is tried, and with it its sums.

use std::sync::LazyLock;

use crate::audit_table::{self, AUDIT, AUDIT_PLAN};
use crate::error::LedgerError;
use crate::record::{AddedSums, Record};
use crate::rollup::Rollup;
use crate::row::Row;
use crate::scores::{self, SCORE};
use crate::spending::{self, SPENDING};
use crate::store::{Store, Table, Value, in_transaction};

/// How a batch went.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// Records that were not there before.
    pub(crate) new: usize,
    /// Records that the database can never hold.
    pub(crate) impossible: usize,
}

/// Writes all of them in one transaction. If the database cannot hold one of them, the others are
/// written one by one, so that a single bad record holds up nobody. `pause` is called between portions.
pub(crate) fn write(
    store: &mut dyn Store,
    records: &[Record],
    pause: &dyn Fn(),
) -> Result<Written, LedgerError> {
    match in_transaction(store, |store| write_all(store, records, pause)) {
        Err(LedgerError::BadValue(_)) if records.len() > 1 => {
            let mut sum = Written::default();
            for record in records {
                let one = write(store, std::slice::from_ref(record), pause)?;
                sum.new += one.new;
                sum.impossible += one.impossible;
            }
            Ok(sum)
        }
        Err(LedgerError::BadValue(_)) => Ok(Written {
            new: 0,
            impossible: Record::count_all(records),
        }),
        other => other.map(|new| Written { new, impossible: 0 }),
    }
}

/// How many were new.
fn write_all(
    store: &mut dyn Store,
    records: &[Record],
    pause: &dyn Fn(),
) -> Result<usize, LedgerError> {
    let (mut rows, mut sums, mut scores, mut calls) = (vec![], vec![], vec![], vec![]);
    for record in records {
        match record {
            Record::Row(row) => rows.push(row.as_ref()),
            Record::Sums(added) => sums.push(added.as_ref()),
            Record::Score(score) => scores.push(score),
            Record::Spending(call) => calls.push(call),
        }
    }
    let mut rollup = Rollup::default();
    let mut new = write_rows(store, rows, &mut rollup, pause)?;
    new += write_sums(store, &sums, &mut rollup, pause)?;
    let is_new = SPENDING.insert_new(store, &calls, spending::values, pause)?;
    for (call, is_new) in calls.into_iter().zip(is_new) {
        if is_new {
            rollup.add_spending(call);
            new += 1;
        }
    }
    rollup.write(store)?;
    let new_scores = SCORE.insert_new(store, &scores, scores::values, pause)?;
    Ok(new + new_scores.into_iter().filter(|is_new| *is_new).count())
}

/// How many of the rows were new.
fn write_rows(
    store: &mut dyn Store,
    mut rows: Vec<&Row>,
    rollup: &mut Rollup,
    pause: &dyn Fn(),
) -> Result<usize, LedgerError> {
    // In the order of the table, and the same on every replica.
    rows.sort_by(|one, other| one.id.cmp(&other.id));
    let is_new = AUDIT.insert_new(store, &rows, audit_table::write, pause)?;
    let mut is_new = is_new.into_iter();
    rows.retain(|_| is_new.next() == Some(true));
    rows.iter().for_each(|row| rollup.add(row));
    let count = rows.len();
    rows.retain(|row| row.plan.is_some());
    let plan = |row: &'_ Row, out: &mut Vec<Value<'_>>| {
        out.push(Value::owned(row.id.as_str()));
        out.push(row.plan.as_deref().map_or(Value::Null, Value::owned));
    };
    AUDIT_PLAN.insert_new(store, &rows, plan, pause)?;
    Ok(count)
}

static ADDED_SUMS: LazyLock<Table> =
    LazyLock::new(|| Table::new("added_sums", vec!["id", "at_ms"]));

/// How many requests the sums stand for that were not added before.
fn write_sums(
    store: &mut dyn Store,
    sums: &[&AddedSums],
    rollup: &mut Rollup,
    pause: &dyn Fn(),
) -> Result<usize, LedgerError> {
    let values = |sums: &'_ AddedSums, out: &mut Vec<Value<'_>>| {
        out.push(Value::owned(sums.id.as_str()));
        out.push(Value::Int(sums.at));
    };
    let is_new = ADDED_SUMS.insert_new(store, sums, values, pause)?;
    let mut requests = 0;
    for (sums, is_new) in sums.iter().zip(is_new) {
        if is_new {
            rollup.add_all(&sums.rollup);
            requests += sums.requests;
        }
    }
    Ok(requests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{Filter, GroupBy};
    use crate::schema::create_or_check;
    use crate::store::Address;
    use crate::testing::Postgres;
    use crate::totals::totals;

    /// A replay must not add sums again that have no rows to tell them by.
    #[test]
    fn sums_without_rows_are_added_once_however_often_they_come() {
        let folder = tempfile::tempdir().unwrap();
        let file = format!("sqlite:{}", folder.path().join("s.db").display());
        for url in [file, Postgres::shared().new_database()] {
            let mut store = Address::parse(&url).unwrap().connect(false).unwrap();
            create_or_check(store.as_mut()).unwrap();
            let mut rollup = Rollup::default();
            let row = Row {
                workload: "w".into(),
                session: Some("s".into()),
                ..Row::default()
            };
            (0..7).for_each(|_| rollup.add(&row));
            let record = Record::sums(rollup.clone(), 7, 5);
            let json = serde_json::to_string(&record).unwrap();
            let spooled: Record = serde_json::from_str(&json).unwrap();
            assert_eq!(spooled, record);
            let other = Record::sums(rollup, 7, 5);
            let mut write =
                |records: &[Record]| super::write(store.as_mut(), records, &|| ()).unwrap().new;
            assert_eq!(write(std::slice::from_ref(&record)), 7);
            assert_eq!(write(&[spooled.clone(), record, other]), 7);
            assert_eq!(write(&[spooled]), 0);
            let all = totals(store.as_mut(), &Filter::default(), GroupBy::All).unwrap();
            assert_eq!(all[0].requests, 14);
        }
    }
}
