//! Bundles as schema version 4 wrote them: JSON, one array for each row. They are read, and no longer written.

use super::Bundled;
use crate::error::LedgerError;
use crate::plain::Figures;
use crate::row::UsageRow;

/// As it stands in the JSON, in the order that the migration to version 4 tells.
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

/// The rows of a bundle, which begins with number `first`.
pub(super) fn read(first: i64, json: &str) -> Result<Vec<Bundled>, LedgerError> {
    let numbers: Vec<Numbers> = serde_json::from_str(json)
        .map_err(|error| LedgerError::Unreadable(format!("bundle {first}: {error}")))?;
    let row = |numbers| bundled(first, numbers);
    Ok(numbers.into_iter().map(row).collect())
}

fn bundled(first: i64, numbers: Numbers) -> Bundled {
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
    Bundled {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let first = crate::number::first_at(1_794_787_200_000);
        let json = "[[0,-7,1,2,10,20,30,null,40,50,null,0.25,null,60,null],[2097153,9223372036854775807,3,4,1,0,0,5,6,null,7,null,1e-7,null,8]]";
        let figures = Figures {
            at: 1_794_787_200_000,
            fresh: Some(-7),
            bytes_before: 10,
            bytes_after: 10,
            response_bytes: 20,
            added_us: 30,
            total_us: 40,
            usage: UsageRow {
                input: Some(50),
                cache_read: Some(60),
                ..UsageRow::default()
            },
            actual_usd: Some(0.25),
            ..Figures::default()
        };
        let other = Figures {
            at: 1_794_787_200_001,
            fresh: Some(i64::MAX),
            bytes_before: 1,
            bytes_after: 1,
            upstream_head_us: Some(5),
            total_us: 6,
            usage: UsageRow {
                output: Some(7),
                cache_write: Some(8),
                ..UsageRow::default()
            },
            actual_input_usd: Some(1e-7),
            ..Figures::default()
        };
        let bundled = |seq, series, kind, own| Bundled {
            seq,
            series,
            kind,
            own,
        };
        let wanted = [
            bundled(first, 1, 2, figures),
            bundled(first + 2_097_153, 3, 4, other),
        ];
        assert_eq!(read(first, json).unwrap(), wanted);
    }

    #[test]
    fn what_is_no_bundle_is_said_so() {
        assert_eq!(read(0, "[]").unwrap(), []);
        for json in ["", "[[1]]", "{}", "[[0,\"x\"]]"] {
            assert!(matches!(read(7, json), Err(LedgerError::Unreadable(_))));
        }
    }
}
