//! What many rows have in common, which SQLite keeps once: the series (workload, stack, model) and the kind.

use std::collections::HashMap;

use rusqlite::types::Value as Any;
use rusqlite::{Connection, OptionalExtension, params_from_iter};

use crate::bundle::Like;
use crate::columns::is_trouble;
use crate::plain::is_plain;
use crate::row::Row;

/// Most that is remembered of what the tables hold.
const MAX_KNOWN: usize = 4_096;
/// Rows before this one that are looked at for the same: what all threads remember, on most machines.
const MAX_RECENT: usize = 64;

/// What is known of a row by what it has in common with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Common {
    /// The numbers.
    pub(super) series: i64,
    pub(super) kind: i64,
    /// The same as a bundle tells it, where a bundle can tell the row: see [`tells_by_figures`].
    pub(super) like: Option<Like>,
}

/// Whether there is nothing to be found of a row but by its time and series, and nothing to be told of it but figures.
fn tells_by_figures(row: &Row) -> bool {
    is_plain(row) && row.stack.is_empty() && !is_trouble(row)
}

/// A batch's rows with their numbers, the last one found first.
pub(super) type Recent<'r> = Vec<(&'r Row, Common)>;

const SERIES: [&str; 3] = ["workload", "stack", "model"];
const KIND: [&str; 14] = [
    "key_name",
    "provider",
    "dialect",
    "status",
    "routed_to",
    "failed_open",
    "struck_stack",
    "bypassed",
    "held_out",
    "upstream_status",
    "is_stream",
    "tokens_are_exact",
    "price_date",
    "ended",
];

fn series(row: &Row) -> [Any; 3] {
    [
        row.workload.clone().into(),
        row.stack.clone().into(),
        row.model.clone().unwrap_or_default().into(),
    ]
}

fn kind(row: &Row) -> [Any; 14] {
    [
        row.key.clone().into(),
        row.provider.clone().into(),
        row.dialect.clone().into(),
        i64::from(row.status).into(),
        row.routed_to.clone().into(),
        row.failed_open.clone().into(),
        row.struck_stack.clone().into(),
        row.bypassed.into(),
        row.held_out.into(),
        row.upstream_status.map(i64::from).into(),
        row.is_stream.into(),
        row.receipt.tokens_are_exact.into(),
        row.receipt.price_date.clone().into(),
        row.ended.clone().into(),
    ]
}

/// What the tables are known to hold. To be made anew after a rollback: what was added then is gone.
#[derive(Debug, Default)]
pub(super) struct Commons {
    known: HashMap<String, i64>,
}

impl Commons {
    /// Finds the numbers of a row, and adds what is new. In a transaction that writes: nobody else adds the same.
    pub(super) fn of<'r>(
        &mut self,
        connection: &Connection,
        row: &'r Row,
        recent: &mut Recent<'r>,
    ) -> rusqlite::Result<Common> {
        // Most rows are like one that was here before, and what is the same in memory needs no comparing.
        let is_same = |(known, _): &(&Row, Common)| std::ptr::eq(*known, row);
        if let Some(at) = recent.iter().position(is_same) {
            recent.swap(0, at);
            return Ok(recent[0].1);
        }
        let alike = recent
            .iter()
            .find(|(known, _)| known.alike() == row.alike());
        let (series, kind) = match alike {
            Some((_, common)) => (common.series, common.kind),
            None => (
                self.number(connection, "series", &SERIES, &series(row))?,
                self.number(connection, "kind", &KIND, &kind(row))?,
            ),
        };
        let common = Common {
            series,
            kind,
            like: Like::of(series, kind).filter(|_| tells_by_figures(row)),
        };
        recent.truncate(MAX_RECENT - 1);
        recent.insert(0, (row, common));
        Ok(common)
    }

    fn number(
        &mut self,
        connection: &Connection,
        what: &str,
        columns: &[&str],
        values: &[Any],
    ) -> rusqlite::Result<i64> {
        let name = format!("{what} {values:?}");
        if let Some(&number) = self.known.get(&name) {
            return Ok(number);
        }
        let terms: Vec<String> = columns.iter().map(|name| format!("{name} IS ?")).collect();
        let find = format!(
            "SELECT {what} FROM audit_{what} WHERE {}",
            terms.join(" AND ")
        );
        let found = connection
            .prepare_cached(&find)?
            .query_row(params_from_iter(values), |row| row.get(0))
            .optional()?;
        let number = match found {
            Some(number) => number,
            None => {
                let add = format!(
                    "INSERT INTO audit_{what} ({}) VALUES ({})",
                    columns.join(", "),
                    vec!["?"; columns.len()].join(", ")
                );
                let mut add = connection.prepare_cached(&add)?;
                add.insert(params_from_iter(values))?
            }
        };
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(name, number);
        Ok(number)
    }
}
