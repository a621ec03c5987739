//! Rows that tests are made of.

use secateur_ledger::{
    CompressRow, Ledger, LedgerOptions, Millis, ReceiptRow, Row, StepRow, UsageRow, id_time,
};

/// 2026-11-16 00:00 UTC.
pub(crate) const MONDAY: Millis = 1_794_787_200_000;

/// Row `number`: every field has something in it, and differs from its neighbours'.
pub(crate) fn row(number: u64) -> Row {
    let at = MONDAY + i64::try_from(number).unwrap() * 60_000;
    let stack = ["", "m7", "m3", "m1"][usize::try_from(number % 4).unwrap()];
    let is_failed = number % 10 == 9;
    Row {
        id: format!(
            "{}{:016x}",
            id_time(at),
            number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ),
        at,
        workload: ["agent", "chat", "rag"][usize::try_from(number % 3).unwrap()].into(),
        key: (!number.is_multiple_of(11))
            .then(|| ["team", "batch"][usize::try_from(number % 2).unwrap()].into()),
        session: Some(format!("session {}", number / 8)),
        provider: "anthropic".into(),
        dialect: Some("anthropic-messages".into()),
        model: (!number.is_multiple_of(7))
            .then(|| ["claude-a", "gpt-b"][usize::try_from(number % 2).unwrap()].into()),
        routed_to: (stack == "m1").then(|| "claude-small".into()),
        stack: stack.into(),
        steps: vec![
            StepRow {
                mechanic: "m7".into(),
                skipped: (stack != "m7").then(|| "not-eligible".into()),
            },
            StepRow {
                mechanic: "m3".into(),
                skipped: Some("lost-to-priority".into()),
            },
        ],
        failed_open: is_failed.then(|| "took longer than 50 ms".into()),
        struck_stack: if number % 20 == 3 {
            "m7".into()
        } else {
            String::new()
        },
        bypassed: number.is_multiple_of(13),
        held_out: (number / 8).is_multiple_of(5),
        bytes_before: 10_000 + number,
        bytes_after: 8_000 + number,
        chars_before: Some(9_900 + number),
        chars_after: Some(7_900 + number),
        messages_before: Some(30),
        messages_after: Some(20),
        turns_removed: 10,
        rag_kept: 3,
        rag_dropped: 4,
        compress: (stack == "m3").then_some(CompressRow {
            chars_before: 9_000,
            chars_after: 8_500,
        }),
        first_edit_at: Some(123),
        upstream_status: Some(200),
        status: if number % 25 == 24 { 429 } else { 200 },
        is_stream: true,
        response_bytes: 5_000,
        added_us: 300 + number,
        upstream_head_us: Some(900_000),
        total_us: 2_000_000,
        usage: UsageRow {
            input: Some(2_000),
            cache_read: Some(1_500),
            cache_write: Some(100),
            output: Some(50),
        },
        receipt: ReceiptRow {
            predicted_tokens_before: Some(2_500),
            predicted_tokens_after: Some(2_000),
            predicted_cache_read: (!number.is_multiple_of(3)).then_some(1_400),
            predicted_cache_write: (!number.is_multiple_of(3)).then_some(600),
            tokens_are_exact: false,
            predicted_usd_without: Some(0.0075),
            predicted_usd_with: Some(0.006),
            break_even_turns: Some(1.5),
            price_date: Some("2026-09-01".into()),
            billed_usd: (!number.is_multiple_of(15)).then_some(0.0071),
            billed_input_usd: (!number.is_multiple_of(6)).then_some(0.0061),
            tokens_saved: Some(500),
            saved_usd: Some(if number.is_multiple_of(9) {
                -0.001
            } else {
                0.0015
            }),
        },
        ended: "whole".into(),
        plan: number
            .is_multiple_of(2)
            .then(|| format!("{{\"cuts\":[{number}]}}")),
    }
}

pub(crate) fn options(url: &str, spool: &std::path::Path) -> LedgerOptions {
    LedgerOptions {
        capture_key: Some([7; 32]),
        keep_days: 0,
        ..LedgerOptions::new(url, spool)
    }
}

pub(crate) async fn open(url: &str, spool: &std::path::Path) -> Ledger {
    Ledger::open(options(url, spool)).await.unwrap()
}
