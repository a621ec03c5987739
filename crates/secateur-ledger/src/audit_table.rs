//! The columns of table `audit`, declared once: what is created, written and read follows from this list.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::error::LedgerError;
use crate::row::{CompressRow, Row, StepRow};
use crate::store::{Kind, Table, Value};

/// One column: its type, and how a row's value gets in and out.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) may_be_null: bool,
    get: for<'r> fn(&'r Row) -> Value<'r>,
    set: fn(&mut Row, Value<'static>) -> Result<(), LedgerError>,
}

macro_rules! column {
    ($name:literal $kind:ident $null:literal $get:expr, |$row:ident, $value:ident| $set:expr) => {
        Column {
            name: $name,
            kind: Kind::$kind,
            may_be_null: $null,
            get: $get,
            set: |$row, $value| {
                $set;
                Ok(())
            },
        }
    };
    (text $name:literal $($field:ident).+) => {
        column!($name Text false |row| Value::text(&row.$($field).+),
            |row, value| row.$($field).+ = value.into_text()?)
    };
    (maybe_text $name:literal $($field:ident).+) => {
        column!($name Text true |row| Value::maybe_text(row.$($field).+.as_deref()),
            |row, value| row.$($field).+ = value.into_maybe_text()?)
    };
    (flag $name:literal $($field:ident).+) => {
        column!($name Bool false |row| Value::Bool(row.$($field).+),
            |row, value| row.$($field).+ = value.into_bool()?)
    };
    (count $name:literal $($field:ident).+) => {
        column!($name Int false |row| Value::count(row.$($field).+),
            |row, value| row.$($field).+ = value.into_count()?)
    };
    (maybe_count $name:literal $($field:ident).+) => {
        column!($name Int true |row| Value::maybe_count(row.$($field).+),
            |row, value| row.$($field).+ = value.into_maybe_count()?)
    };
    (maybe_real $name:literal $($field:ident).+) => {
        column!($name Real true |row| Value::maybe_real(row.$($field).+),
            |row, value| row.$($field).+ = value.into_maybe_real()?)
    };
}

pub(crate) const COLUMNS: &[Column] = &[
    // The first is the key.
    column!(text "id" id),
    column!("at_ms" Int false |row| Value::Int(row.at), |row, value| row.at = value.into_int()?),
    column!(text "workload" workload),
    column!(maybe_text "key_name" key),
    column!(maybe_text "session" session),
    column!(text "provider" provider),
    column!(maybe_text "dialect" dialect),
    // Empty where there is none: it is part of the keys of sums.
    column!("model" Text false |row| Value::text(row.model.as_deref().unwrap_or_default()),
        |row, value| row.model = Some(value.into_text()?).filter(|model| !model.is_empty())),
    column!(maybe_text "routed_to" routed_to),
    column!(text "stack" stack),
    column!("steps" Text false |row| Value::Text(steps_json(&row.steps)),
        |row, value| row.steps = read_steps(&value.into_text()?)?),
    column!(maybe_text "failed_open" failed_open),
    column!(text "struck_stack" struck_stack),
    column!(flag "bypassed" bypassed),
    column!(flag "held_out" held_out),
    column!(count "bytes_before" bytes_before),
    column!(count "bytes_after" bytes_after),
    column!(maybe_count "chars_before" chars_before),
    column!(maybe_count "chars_after" chars_after),
    column!(maybe_count "messages_before" messages_before),
    column!(maybe_count "messages_after" messages_after),
    column!(count "turns_removed" turns_removed),
    column!(count "rag_kept" rag_kept),
    column!(count "rag_dropped" rag_dropped),
    column!("compress_chars_before" Int true
        |row| Value::maybe_count(row.compress.map(|compress| compress.chars_before)),
        |row, value| row.compress = value.into_maybe_count()?.map(compress_from)),
    column!("compress_chars_after" Int true
        |row| Value::maybe_count(row.compress.map(|compress| compress.chars_after)),
        |row, value| row.compress = compress_to(row.compress, value.into_maybe_count()?)),
    column!(maybe_count "first_edit_at" first_edit_at),
    column!("upstream_status" Int true |row| Value::maybe_count(row.upstream_status.map(u64::from)),
        |row, value| row.upstream_status = value.into_maybe_count()?.map(status)),
    column!("status" Int false |row| Value::count(row.status.into()),
        |row, value| row.status = status(value.into_count()?)),
    column!(flag "is_stream" is_stream),
    column!(count "response_bytes" response_bytes),
    column!(count "added_us" added_us),
    column!(maybe_count "upstream_head_us" upstream_head_us),
    column!(count "total_us" total_us),
    column!(maybe_count "input_tokens" usage.input),
    column!(maybe_count "cache_read_tokens" usage.cache_read),
    column!(maybe_count "cache_write_tokens" usage.cache_write),
    column!(maybe_count "output_tokens" usage.output),
    column!(maybe_count "predicted_tokens_before" receipt.predicted_tokens_before),
    column!(maybe_count "predicted_tokens_after" receipt.predicted_tokens_after),
    column!(maybe_count "predicted_cache_read_tokens" receipt.predicted_cache_read),
    column!(maybe_count "predicted_cache_write_tokens" receipt.predicted_cache_write),
    column!(flag "tokens_are_exact" receipt.tokens_are_exact),
    column!(maybe_real "predicted_usd_without" receipt.predicted_usd_without),
    column!(maybe_real "predicted_usd_with" receipt.predicted_usd_with),
    column!(maybe_real "break_even_turns" receipt.break_even_turns),
    column!(maybe_text "price_date" receipt.price_date),
    column!(maybe_real "billed_usd" receipt.billed_usd),
    column!(maybe_real "billed_input_usd" receipt.billed_input_usd),
    column!("tokens_saved" Int true |row| row.receipt.tokens_saved.map_or(Value::Null, Value::Int),
        |row, value| row.receipt.tokens_saved = value.into_maybe_int()?),
    column!(maybe_real "saved_usd" receipt.saved_usd),
    column!(text "ended" ended),
    // For the filter; it follows from the others.
    Column {
        name: "trouble",
        kind: Kind::Bool,
        may_be_null: false,
        get: |row| Value::Bool(row.is_trouble()),
        set: |_, _| Ok(()),
    },
];

pub(crate) static AUDIT: LazyLock<Table> = LazyLock::new(|| {
    let names = COLUMNS.iter().map(|column| column.name);
    Table::new("audit", names.collect())
});

pub(crate) static AUDIT_PLAN: LazyLock<Table> =
    LazyLock::new(|| Table::new("audit_plan", vec!["id", "plan"]));

/// The values of a row, in the order of the columns.
pub(crate) fn write<'r>(row: &'r Row, out: &mut Vec<Value<'r>>) {
    out.extend(COLUMNS.iter().map(|column| (column.get)(row)));
}

/// The row with these values, without its plan.
pub(crate) fn read(values: Vec<Value<'static>>) -> Result<Row, LedgerError> {
    let mut row = Row::default();
    for (column, value) in COLUMNS.iter().zip(values) {
        (column.set)(&mut row, value)?;
    }
    Ok(row)
}

/// Most rows have none.
fn steps_json(steps: &[StepRow]) -> Cow<'static, str> {
    let json = (!steps.is_empty()).then(|| serde_json::to_string(steps).ok());
    json.flatten().map_or(Cow::Borrowed("[]"), Cow::Owned)
}

fn read_steps(json: &str) -> Result<Vec<StepRow>, LedgerError> {
    serde_json::from_str(json).map_err(|error| LedgerError::Unreadable(format!("steps: {error}")))
}

fn compress_from(chars_before: u64) -> CompressRow {
    CompressRow {
        chars_before,
        chars_after: 0,
    }
}

fn compress_to(before: Option<CompressRow>, chars_after: Option<u64>) -> Option<CompressRow> {
    let before = before?;
    chars_after.map(|chars_after| CompressRow {
        chars_after,
        ..before
    })
}

fn status(number: u64) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}
