//! Rows like those of a busy proxy: a month, five workloads of very different sizes, one stack that is
//! rare, one request in a hundred with trouble, sessions of about forty requests. Ids are as the proxy makes them:
//! eleven digits of time, then sixteen.

use secateur_ledger::{CompressRow, Millis, ReceiptRow, Row, StepRow, UsageRow};

/// 2026-10-17 00:00 UTC.
pub(crate) const START: Millis = 1_792_195_200_000;
const MONTH_MS: u64 = 30 * 86_400_000;

/// Spreads numbers evenly over 64 bits.
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Row `number` of `count`, in order of time.
pub(crate) fn row(number: u64, count: u64) -> Row {
    let dice = mix(number);
    let at = u128::from(number) * u128::from(MONTH_MS) / u128::from(count);
    let workload = match dice % 100 {
        0..60 => "agent",
        60..90 => "chat",
        90..98 => "rag",
        98 => "batch",
        _ => "nightly",
    };
    let stack = match (dice >> 8) % 1_000 {
        0..400 => "m7",
        400..500 => "m3",
        500..550 => "m1",
        550 => "m8",
        _ => "",
    };
    let chars = 20_000 + (dice >> 16) % 200_000;
    let sent = if stack == "m7" { chars * 4 / 5 } else { chars };
    let cost = sent as f64 / 4.0 * 0.8e-6;
    Row {
        id: format!(
            "{:011x}{dice:016x}",
            START.cast_unsigned() + u64::try_from(at).unwrap_or(0),
        ),
        at: START + i64::try_from(at).unwrap_or(0),
        workload: workload.into(),
        key: Some("team".into()),
        session: Some(format!("{:016x}", mix(number / 40))),
        provider: "anthropic".into(),
        dialect: Some("anthropic-messages".into()),
        model: Some(
            [
                "claude-sonnet-5",
                "claude-haiku-5",
                "gpt-6",
                "gemini-4-flash",
            ][(dice >> 40) as usize % 4]
                .into(),
        ),
        stack: stack.into(),
        steps: vec![
            StepRow {
                mechanic: "m7".into(),
                skipped: (stack != "m7").then(|| "not-eligible".into()),
            },
            StepRow {
                mechanic: "m3".into(),
                skipped: (stack != "m3").then(|| "lost-to-priority".into()),
            },
        ],
        held_out: mix(number / 40).is_multiple_of(20),
        bytes_before: chars + 500,
        bytes_after: sent + 500,
        chars_before: Some(chars),
        chars_after: Some(sent),
        messages_before: Some(40),
        messages_after: Some(35),
        turns_removed: 5,
        compress: (stack == "m3").then_some(CompressRow {
            chars_before: chars,
            chars_after: sent,
        }),
        first_edit_at: (!stack.is_empty()).then_some(9_000),
        upstream_status: Some(200),
        status: if (dice >> 20).is_multiple_of(100) {
            529
        } else {
            200
        },
        is_stream: true,
        response_bytes: 4_000,
        added_us: 400,
        upstream_head_us: Some(900_000),
        total_us: 4_000_000,
        usage: UsageRow {
            input: Some(sent / 4),
            cache_read: Some(sent / 5),
            cache_write: Some(sent / 50),
            output: Some(400),
        },
        receipt: ReceiptRow {
            predicted_tokens_before: Some(chars / 4),
            predicted_tokens_after: Some(sent / 4),
            predicted_usd_without: Some(cost * 1.2),
            predicted_usd_with: Some(cost),
            billed_usd: Some(cost * 1.3),
            billed_input_usd: Some(cost),
            tokens_saved: i64::try_from((chars - sent) / 4).ok(),
            saved_usd: Some(cost * 0.1),
            price_date: Some("2026-09-01".into()),
            ..ReceiptRow::default()
        },
        ended: "whole".into(),
        plan: (!stack.is_empty()).then(|| plan(dice)),
        ..Row::default()
    }
}

/// Row `number` of `count` of a gateway that mostly passes requests on, two thousand to a second, then none for a while.
/// Requests take up to four seconds, so they end in another order than they began.
pub(crate) fn passed(number: u64, count: u64) -> Row {
    let began = number - number % 2_000;
    let other = row(number, count);
    if number.is_multiple_of(10) {
        return other;
    }
    let at = row(began, count).at + i64::try_from(mix(number) % 4_000).unwrap_or(0);
    Row {
        id: format!("{at:011x}{:016x}", mix(number)),
        at,
        workload: other.workload,
        key: other.key,
        provider: other.provider,
        dialect: other.dialect,
        model: other.model,
        bytes_before: other.bytes_before,
        bytes_after: other.bytes_before,
        upstream_status: other.upstream_status,
        status: other.status,
        is_stream: other.is_stream,
        response_bytes: other.response_bytes,
        added_us: 60,
        upstream_head_us: other.upstream_head_us,
        total_us: other.total_us,
        usage: other.usage,
        receipt: ReceiptRow {
            billed_usd: other.receipt.billed_usd,
            billed_input_usd: other.receipt.billed_input_usd,
            ..ReceiptRow::default()
        },
        ended: other.ended,
        ..Row::default()
    }
}

/// About two kilobytes.
fn plan(dice: u64) -> String {
    let mut plan = String::from("{\"verdict\":{\"kind\":\"pruned\"},\"cuts\":[");
    for cut in 0..12 {
        plan += &format!(
            "{{\"message\":{cut},\"part\":0,\"role\":\"tool\",\"action\":\"rewrite\",\"strategy\":\"stale-results\",\"why\":\"old-tool-result\",\"chars_before\":{},\"chars_after\":120}},",
            dice % (1_000 + cut)
        );
    }
    plan.pop();
    plan + "],\"left\":[]}"
}
