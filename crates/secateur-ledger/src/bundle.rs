//! Many rows in one of SQLite's: of a row that no mechanic looked at there are a few numbers to keep, and to give it a
//! place in tables and indexes is several times the work of writing them down. A bundle is JSON, one array for each row, so
//! that SQLite's own functions read it (the view `audit` does).
//!
//! A request is recorded when it ends and found by when it began, so what is written together began at different times:
//! bundles overlap, and other rows lie between theirs.
//!
//! **Invariant:** the rows of a bundle are less than [`MAX_SPAN`] apart. So whoever looks for a time knows where bundles with rows
//! of it can begin.

use crate::error::LedgerError;
use crate::number::first_at;
use crate::plain::Figures;
use crate::row::{Millis, UsageRow};

/// Fewer are kept as rows: where little happens, nothing is gained.
pub(crate) const MIN_ROWS: usize = 32;
pub(crate) const MAX_ROWS: usize = 128;
/// Rows of a bundle are less than this apart.
pub(crate) const MAX_SPAN: Millis = 1_000;

/// Finds the bundles that may have rows of [`between`].
pub(crate) const BETWEEN: &str = "SELECT seq, entries FROM audit_bundle \
    WHERE seq > $1 AND seq <= $2 AND last_seq >= $3 ORDER BY seq";

/// The parameters of [`BETWEEN`] for rows with numbers from `from` to `to`.
pub(crate) fn between(from: i64, to: i64) -> [i64; 3] {
    [begins_after(from), to, from]
}

/// A bundle with a row of this number or a later one begins after this.
pub(crate) fn begins_after(number: i64) -> i64 {
    number.saturating_sub(first_at(MAX_SPAN))
}

/// A bundle that begins before this number has no row from this one on.
pub(crate) fn ends_before(number: i64) -> i64 {
    number.saturating_add(first_at(MAX_SPAN))
}

/// One row of a bundle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bundled {
    pub(crate) seq: i64,
    pub(crate) series: i64,
    pub(crate) kind: i64,
    pub(crate) own: Figures,
}

/// As it stands in the JSON, in the order that the migration tells.
type Numbers = (
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
    Option<i64>,
    i64,
    Option<i64>,
    Option<i64>,
    Option<f64>,
    Option<f64>,
    Option<i64>,
    Option<i64>,
);

/// Counts beyond 2^63 cannot occur; they are stored as the largest that can.
fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Bundled {
    fn numbers(&self, first: i64) -> Numbers {
        let own = &self.own;
        (
            self.seq - first,
            own.fresh.unwrap_or(0),
            self.series,
            self.kind,
            count(own.bytes_before),
            count(own.response_bytes),
            count(own.added_us),
            own.upstream_head_us.map(count),
            count(own.total_us),
            own.usage.input.map(count),
            own.usage.output.map(count),
            own.actual_usd,
            own.actual_input_usd,
            own.usage.cache_read.map(count),
            own.usage.cache_write.map(count),
        )
    }

    fn from_numbers(first: i64, numbers: Numbers) -> Self {
        let (
            place,
            fresh,
            series,
            kind,
            bytes,
            response_bytes,
            added_us,
            upstream_head_us,
            total_us,
            input,
            output,
            actual_usd,
            actual_input_usd,
            cache_read,
            cache_write,
        ) = numbers;
        let seq = first.saturating_add(place);
        Self {
            seq,
            series,
            kind,
            own: Figures {
                at: crate::number::time(seq),
                fresh: Some(fresh),
                bytes_before: bytes.cast_unsigned(),
                bytes_after: bytes.cast_unsigned(),
                response_bytes: response_bytes.cast_unsigned(),
                added_us: added_us.cast_unsigned(),
                upstream_head_us: upstream_head_us.map(i64::cast_unsigned),
                total_us: total_us.cast_unsigned(),
                usage: UsageRow {
                    input: input.map(i64::cast_unsigned),
                    cache_read: cache_read.map(i64::cast_unsigned),
                    cache_write: cache_write.map(i64::cast_unsigned),
                    output: output.map(i64::cast_unsigned),
                },
                actual_usd,
                actual_input_usd,
            },
        }
    }
}

/// The rows of a bundle, which begins with number `first`.
pub(crate) fn write(first: i64, rows: impl Iterator<Item = Bundled>) -> Vec<u8> {
    let mut json = Vec::with_capacity(MAX_ROWS * 96);
    json.push(b'[');
    for row in rows {
        if json.len() > 1 {
            json.push(b',');
        }
        // Neither numbers nor a vector can refuse.
        let _ = serde_json::to_writer(&mut json, &row.numbers(first));
    }
    json.push(b']');
    json
}

/// What [`write`] wrote.
pub(crate) fn read(first: i64, json: &str) -> Result<Vec<Bundled>, LedgerError> {
    let numbers: Vec<Numbers> = serde_json::from_str(json)
        .map_err(|error| LedgerError::Unreadable(format!("bundle {first}: {error}")))?;
    let row = |numbers| Bundled::from_numbers(first, numbers);
    Ok(numbers.into_iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_went_in() {
        let first = crate::number::first_at(1_794_787_200_000);
        let mut seed = 1_u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 1
        };
        let rows: Vec<Bundled> = (0..500)
            .map(|place| {
                let seq = first + place * 123_457;
                let bytes = next();
                let mut some = |share: u64| Some(next()).filter(|number| number % share > 0);
                Bundled {
                    seq,
                    series: place % 7,
                    kind: place % 3,
                    own: Figures {
                        at: crate::number::time(seq),
                        fresh: Some(some(1 << 60).unwrap_or(0).wrapping_mul(3).cast_signed()),
                        bytes_before: bytes,
                        bytes_after: bytes,
                        response_bytes: some(5).unwrap_or(0),
                        added_us: some(5).unwrap_or(0) >> 40,
                        upstream_head_us: some(2),
                        total_us: some(5).unwrap_or(0),
                        usage: UsageRow {
                            input: some(2),
                            cache_read: some(3),
                            cache_write: some(4),
                            output: some(5),
                        },
                        actual_usd: some(3).map(|number| f64::from_bits(number >> 2)),
                        actual_input_usd: some(3).map(|number| number as f64 * 1e-25),
                    },
                }
            })
            .collect();
        let json = String::from_utf8(write(first, rows.iter().copied())).unwrap();
        assert_eq!(read(first, &json).unwrap(), rows);
    }

    #[test]
    fn what_is_no_bundle_is_said_so() {
        assert_eq!(read(0, "[]").unwrap(), []);
        for json in ["", "[[1]]", "{}", "[[0,\"x\"]]"] {
            assert!(matches!(read(7, json), Err(LedgerError::Unreadable(_))));
        }
    }
}
