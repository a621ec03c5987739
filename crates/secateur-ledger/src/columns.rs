//! A row as the columns of table `audit`, and back. The three lists are in the same order.

use std::borrow::Cow;

use crate::error::LedgerError;
use crate::row::{CompressRow, ReceiptRow, Row, StepRow, UsageRow};
use crate::store::{Kind, Table, Value};

pub(crate) const AUDIT: Table = Table {
    name: "audit",
    columns: COLUMNS,
};

const COLUMNS: &[(&str, Kind)] = &[
    ("id", Kind::Text),
    ("at_ms", Kind::Int),
    ("workload", Kind::Text),
    ("key_name", Kind::Text),
    ("session", Kind::Text),
    ("provider", Kind::Text),
    ("dialect", Kind::Text),
    ("model", Kind::Text),
    ("routed_to", Kind::Text),
    ("stack", Kind::Text),
    ("steps", Kind::Text),
    ("failed_open", Kind::Text),
    ("struck_stack", Kind::Text),
    ("bypassed", Kind::Bool),
    ("held_out", Kind::Bool),
    ("bytes_before", Kind::Int),
    ("bytes_after", Kind::Int),
    ("chars_before", Kind::Int),
    ("chars_after", Kind::Int),
    ("messages_before", Kind::Int),
    ("messages_after", Kind::Int),
    ("turns_removed", Kind::Int),
    ("rag_kept", Kind::Int),
    ("rag_dropped", Kind::Int),
    ("compress_chars_before", Kind::Int),
    ("compress_chars_after", Kind::Int),
    ("first_edit_at", Kind::Int),
    ("upstream_status", Kind::Int),
    ("status", Kind::Int),
    ("is_stream", Kind::Bool),
    ("response_bytes", Kind::Int),
    ("added_us", Kind::Int),
    ("upstream_head_us", Kind::Int),
    ("total_us", Kind::Int),
    ("input_tokens", Kind::Int),
    ("cache_read_tokens", Kind::Int),
    ("cache_write_tokens", Kind::Int),
    ("output_tokens", Kind::Int),
    ("predicted_tokens_before", Kind::Int),
    ("predicted_tokens_after", Kind::Int),
    ("predicted_cache_read_tokens", Kind::Int),
    ("predicted_cache_write_tokens", Kind::Int),
    ("tokens_are_exact", Kind::Bool),
    ("predicted_usd_without", Kind::Real),
    ("predicted_usd_with", Kind::Real),
    ("break_even_turns", Kind::Real),
    ("price_date", Kind::Text),
    ("actual_usd", Kind::Real),
    ("actual_input_usd", Kind::Real),
    ("tokens_saved", Kind::Int),
    ("saved_usd", Kind::Real),
    ("ended", Kind::Text),
    ("trouble", Kind::Bool),
];

pub(crate) const AUDIT_PLAN: Table = Table {
    name: "audit_plan",
    columns: &[
        ("id", Kind::Text),
        ("at_ms", Kind::Int),
        ("plan", Kind::Bytes),
    ],
};

pub(crate) const SAVINGS: Table = Table {
    name: "optimize_savings",
    columns: &[
        ("request_id", Kind::Text),
        ("at_ms", Kind::Int),
        ("workload", Kind::Text),
        ("stack", Kind::Text),
        ("model", Kind::Text),
        ("tokens_saved", Kind::Int),
        ("saved_usd", Kind::Real),
        ("compress_chars_before", Kind::Int),
        ("compress_chars_after", Kind::Int),
    ],
};

/// Whether the list filter for trouble finds it: the client got an error or nothing, the original went out in doubt, or the
/// provider rejected what was changed.
pub(crate) fn is_trouble(row: &Row) -> bool {
    is_error(row.status) || row.failed_open.is_some() || !row.struck_stack.is_empty()
}

/// Whether a client got an error, or nothing (0).
pub(crate) fn is_error(status: u16) -> bool {
    status >= 400 || status == 0
}

pub(crate) fn values(row: &Row) -> Vec<Value<'_>> {
    let receipt = &row.receipt;
    vec![
        Value::text(&row.id),
        Value::Int(row.at),
        Value::text(&row.workload),
        Value::maybe_text(row.key.as_deref()),
        Value::maybe_text(row.session.as_deref()),
        Value::text(&row.provider),
        Value::maybe_text(row.dialect.as_deref()),
        Value::text(row.model.as_deref().unwrap_or_default()),
        Value::maybe_text(row.routed_to.as_deref()),
        Value::text(&row.stack),
        Value::Text(steps_json(&row.steps)),
        Value::maybe_text(row.failed_open.as_deref()),
        Value::text(&row.struck_stack),
        Value::Bool(row.bypassed),
        Value::Bool(row.held_out),
        Value::count(row.bytes_before),
        Value::count(row.bytes_after),
        Value::maybe_count(row.chars_before),
        Value::maybe_count(row.chars_after),
        Value::maybe_count(row.messages_before),
        Value::maybe_count(row.messages_after),
        Value::count(row.turns_removed),
        Value::count(row.rag_kept),
        Value::count(row.rag_dropped),
        Value::maybe_count(row.compress.map(|compress| compress.chars_before)),
        Value::maybe_count(row.compress.map(|compress| compress.chars_after)),
        Value::maybe_count(row.first_edit_at),
        Value::maybe_count(row.upstream_status.map(u64::from)),
        Value::count(u64::from(row.status)),
        Value::Bool(row.is_stream),
        Value::count(row.response_bytes),
        Value::count(row.added_us),
        Value::maybe_count(row.upstream_head_us),
        Value::count(row.total_us),
        Value::maybe_count(row.usage.input),
        Value::maybe_count(row.usage.cache_read),
        Value::maybe_count(row.usage.cache_write),
        Value::maybe_count(row.usage.output),
        Value::maybe_count(receipt.predicted_tokens_before),
        Value::maybe_count(receipt.predicted_tokens_after),
        Value::maybe_count(receipt.predicted_cache_read),
        Value::maybe_count(receipt.predicted_cache_write),
        Value::Bool(receipt.tokens_are_exact),
        Value::maybe_real(receipt.predicted_usd_without),
        Value::maybe_real(receipt.predicted_usd_with),
        Value::maybe_real(receipt.break_even_turns),
        Value::maybe_text(receipt.price_date.as_deref()),
        Value::maybe_real(receipt.actual_usd),
        Value::maybe_real(receipt.actual_input_usd),
        receipt.tokens_saved.map_or(Value::Null, Value::Int),
        Value::maybe_real(receipt.saved_usd),
        Value::text(&row.ended),
        Value::Bool(is_trouble(row)),
    ]
}

/// Most rows have none.
pub(crate) fn steps_json(steps: &[StepRow]) -> Cow<'static, str> {
    let json = (!steps.is_empty()).then(|| serde_json::to_string(steps).ok());
    json.flatten().map_or(Cow::Borrowed("[]"), Cow::Owned)
}

pub(crate) fn savings_values(row: &Row) -> Vec<Value<'_>> {
    vec![
        Value::text(&row.id),
        Value::Int(row.at),
        Value::text(&row.workload),
        Value::text(&row.stack),
        Value::text(row.model.as_deref().unwrap_or_default()),
        row.receipt.tokens_saved.map_or(Value::Null, Value::Int),
        Value::maybe_real(row.receipt.saved_usd),
        Value::maybe_count(row.compress.map(|compress| compress.chars_before)),
        Value::maybe_count(row.compress.map(|compress| compress.chars_after)),
    ]
}

pub(crate) fn row(values: Vec<Value<'_>>) -> Result<Row, LedgerError> {
    let mut from = values.into_iter();
    let mut take = || from.next().unwrap_or(Value::Null);
    Ok(Row {
        id: take().into_text()?,
        at: take().into_int()?,
        workload: take().into_text()?,
        key: take().into_maybe_text()?,
        session: take().into_maybe_text()?,
        provider: take().into_text()?,
        dialect: take().into_maybe_text()?,
        model: take().into_maybe_text()?.filter(|model| !model.is_empty()),
        routed_to: take().into_maybe_text()?,
        stack: take().into_text()?,
        steps: steps(&take().into_text()?)?,
        failed_open: take().into_maybe_text()?,
        struck_stack: take().into_text()?,
        bypassed: take().into_bool()?,
        held_out: take().into_bool()?,
        bytes_before: take().into_count()?,
        bytes_after: take().into_count()?,
        chars_before: take().into_maybe_count()?,
        chars_after: take().into_maybe_count()?,
        messages_before: take().into_maybe_count()?,
        messages_after: take().into_maybe_count()?,
        turns_removed: take().into_count()?,
        rag_kept: take().into_count()?,
        rag_dropped: take().into_count()?,
        compress: match (take().into_maybe_count()?, take().into_maybe_count()?) {
            (Some(chars_before), Some(chars_after)) => Some(CompressRow {
                chars_before,
                chars_after,
            }),
            _ => None,
        },
        first_edit_at: take().into_maybe_count()?,
        upstream_status: take().into_maybe_count()?.map(status),
        status: status(take().into_count()?),
        is_stream: take().into_bool()?,
        response_bytes: take().into_count()?,
        added_us: take().into_count()?,
        upstream_head_us: take().into_maybe_count()?,
        total_us: take().into_count()?,
        usage: UsageRow {
            input: take().into_maybe_count()?,
            cache_read: take().into_maybe_count()?,
            cache_write: take().into_maybe_count()?,
            output: take().into_maybe_count()?,
        },
        receipt: ReceiptRow {
            predicted_tokens_before: take().into_maybe_count()?,
            predicted_tokens_after: take().into_maybe_count()?,
            predicted_cache_read: take().into_maybe_count()?,
            predicted_cache_write: take().into_maybe_count()?,
            tokens_are_exact: take().into_bool()?,
            predicted_usd_without: take().into_maybe_real()?,
            predicted_usd_with: take().into_maybe_real()?,
            break_even_turns: take().into_maybe_real()?,
            price_date: take().into_maybe_text()?,
            actual_usd: take().into_maybe_real()?,
            actual_input_usd: take().into_maybe_real()?,
            tokens_saved: take().into_maybe_int()?,
            saved_usd: take().into_maybe_real()?,
        },
        ended: take().into_text()?,
        plan: None,
    })
}

fn status(number: u64) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

fn steps(json: &str) -> Result<Vec<StepRow>, LedgerError> {
    serde_json::from_str(json).map_err(|error| LedgerError::Unreadable(format!("steps: {error}")))
}
