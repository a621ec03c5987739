//! Writes a batch of records: each exactly once, however often it is tried, and with it its sums.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use crate::entry::Entry;
use crate::error::LedgerError;
use crate::record::{MAX_PLAN_BYTES, Record};
use crate::rollup::Rollup;
use crate::scores::SCORE;
use crate::shadow::SHADOW_CALL;
use crate::store::{Store, Value, in_transaction};

/// Whether records may be in the database already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// They come from where they were recorded, and nobody tried to write them before.
    First,
    /// They were spooled, or writing them failed.
    Again,
}

/// How a batch went.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// Records that were not there before.
    pub(crate) new: usize,
    /// Records that the database can never hold.
    pub(crate) impossible: usize,
}

/// Writes all of them in one transaction. If the database cannot hold one of them, the others are
/// written one by one, so that a single bad record holds up nobody. `rest` is called between portions.
pub(crate) fn write(
    store: &mut dyn Store,
    records: &[Record],
    sight: Sight,
    rest: &dyn Fn(),
) -> Result<Written, LedgerError> {
    match in_transaction(store, |store| write_all(store, records, sight, rest)) {
        Err(LedgerError::BadValue(_)) => match records {
            [Record::Sheaf(sheaf)] => {
                let single: Vec<Record> = sheaf.single().collect();
                write_each(store, &single, sight, rest)
            }
            [_] | [] => Ok(Written {
                new: 0,
                impossible: records.len(),
            }),
            _ => write_each(store, records, sight, rest),
        },
        other => other.map(|new| Written { new, impossible: 0 }),
    }
}

fn write_each(
    store: &mut dyn Store,
    records: &[Record],
    sight: Sight,
    rest: &dyn Fn(),
) -> Result<Written, LedgerError> {
    let mut sum = Written::default();
    for record in records {
        let one = write(store, std::slice::from_ref(record), sight, rest)?;
        sum.new += one.new;
        sum.impossible += one.impossible;
    }
    Ok(sum)
}

fn write_all(
    store: &mut dyn Store,
    records: &[Record],
    sight: Sight,
    rest: &dyn Fn(),
) -> Result<usize, LedgerError> {
    let mut rollup = Rollup::default();
    let new_rows = write_rows(store, records, sight, rest, &mut rollup)?;
    rollup.write(store)?;
    let scores: Vec<Vec<Value<'_>>> = records
        .iter()
        .filter_map(|record| match record {
            Record::Score(score) => Some(crate::scores::values(score)),
            _ => None,
        })
        .collect();
    let new_scores = store.insert_new(&SCORE, &scores)?;
    let calls: Vec<Vec<Value<'_>>> = records
        .iter()
        .filter_map(|record| match record {
            Record::Shadow(call) => Some(crate::shadow::values(call)),
            _ => None,
        })
        .collect();
    let new_calls = store.insert_new(&SHADOW_CALL, &calls)?;
    let new = new_scores.iter().chain(&new_calls);
    Ok(new_rows + new.filter(|&&is_new| is_new).count())
}

/// How many of the rows were new.
fn write_rows<'r>(
    store: &mut dyn Store,
    records: &'r [Record],
    sight: Sight,
    rest: &dyn Fn(),
    rollup: &mut Rollup<'r>,
) -> Result<usize, LedgerError> {
    let (mut rows, mut sheaves) = (Vec::new(), Vec::new());
    for record in records {
        match record {
            Record::Row(row) => rows.push(Entry::of(row)),
            Record::Sheaf(sheaf) => sheaves.push(sheaf),
            Record::Score(_) | Record::Shadow(_) => {}
        }
    }
    // What is kept in one piece is not looked at row by row, so it must be new.
    let is_kept = match sight {
        Sight::First => store.insert_sheaves(&sheaves, rest)?,
        Sight::Again => vec![false; sheaves.len()],
    };
    let mut kept = 0;
    for (sheaf, is_kept) in sheaves.into_iter().zip(is_kept) {
        if is_kept {
            kept += sheaf.len();
            sheaf.entries().for_each(|entry| rollup.add(entry));
        } else {
            rows.extend(sheaf.entries());
        }
    }
    Entry::sort(&mut rows);
    let rows = store.insert_rows(rows, sight, rest)?;
    rows.iter().for_each(|entry| rollup.add(*entry));
    Ok(kept + rows.len())
}

/// Plans are JSON with the same words over and over: they shrink to a tenth.
pub(crate) fn pack(plan: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    // Writing to a vector cannot fail.
    let _ = encoder.write_all(plan.as_bytes());
    encoder.finish().unwrap_or_default()
}

pub(crate) fn unpack(packed: &[u8]) -> Result<String, LedgerError> {
    let mut plan = String::new();
    ZlibDecoder::new(packed)
        .take(4 * MAX_PLAN_BYTES as u64)
        .read_to_string(&mut plan)
        .map_err(|error| LedgerError::Unreadable(format!("a plan: {error}")))?;
    Ok(plan)
}
