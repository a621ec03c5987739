//! Rows as a busy proxy makes them.

use secateur_ledger::{ReceiptRow, Row, UsageRow};

use crate::suite::{self, MONDAY};

/// A row of a burst: many to a millisecond for a while, then hours without any. No mechanic looked at most of them.
pub(crate) fn row(number: u64) -> Row {
    let burst = i64::try_from(number / 1_500).unwrap();
    let within = i64::try_from(number % 1_500).unwrap();
    let at = MONDAY + 20 * 3_600_000 + burst * 7 * 3_600_000 + within / 4;
    let other = suite::row(number);
    let id = format!("{at:011x}{number:016x}");
    if number % 10 == 3 {
        return Row { id, at, ..other };
    }
    Row {
        id,
        at,
        workload: other.workload,
        key: other.key,
        provider: other.provider,
        dialect: other.dialect,
        model: other.model,
        bypassed: number.is_multiple_of(13),
        bytes_before: other.bytes_before,
        bytes_after: other.bytes_before,
        upstream_status: Some(other.status),
        status: other.status,
        is_stream: number.is_multiple_of(11),
        response_bytes: other.response_bytes,
        added_us: other.added_us,
        upstream_head_us: (!number.is_multiple_of(17)).then_some(number),
        total_us: 2 * number,
        usage: if number.is_multiple_of(5) {
            UsageRow::default()
        } else {
            other.usage
        },
        receipt: ReceiptRow {
            billed_usd: (!number.is_multiple_of(5)).then_some(1e-7 * number as f64),
            billed_input_usd: (!number.is_multiple_of(5)).then_some(7e-8 * number as f64),
            ..ReceiptRow::default()
        },
        ended: "complete".into(),
        ..Row::default()
    }
}
