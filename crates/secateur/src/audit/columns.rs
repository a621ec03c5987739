//! A row as the columns of a flat file, for CSV and Parquet. Names carry their unit.

use secateur_ledger::Row;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Real(f64),
    Bool(bool),
    Text(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Milliseconds since 1970, UTC.
    Time,
    Int,
    Real,
    Bool,
    Text,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) get: fn(&Row) -> Cell,
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

fn maybe_text(text: Option<&String>) -> Cell {
    text.map_or(Cell::Null, |text| Cell::Text(text.clone()))
}

fn int(number: u64) -> Cell {
    Cell::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn maybe_int(number: Option<u64>) -> Cell {
    number.map_or(Cell::Null, int)
}

fn maybe_real(number: Option<f64>) -> Cell {
    number.map_or(Cell::Null, Cell::Real)
}

/// `m7`, `m3: not-eligible`, one after the other.
fn steps(row: &Row) -> Cell {
    let words: Vec<String> = row
        .steps
        .iter()
        .map(|step| match &step.skipped {
            Some(reason) => format!("{}: {reason}", step.mechanic),
            None => step.mechanic.clone(),
        })
        .collect();
    Cell::Text(words.join("; "))
}

macro_rules! columns {
    ($($name:literal $kind:ident $get:expr;)*) => {
        &[$(Column { name: $name, kind: Kind::$kind, get: $get }),*]
    };
}

pub(crate) const COLUMNS: &[Column] = columns! {
    "id" Text |row| text(&row.id);
    "at" Time |row| Cell::Int(row.at);
    "workload" Text |row| text(&row.workload);
    "key" Text |row| maybe_text(row.key.as_ref());
    "session" Text |row| maybe_text(row.session.as_ref());
    "provider" Text |row| text(&row.provider);
    "dialect" Text |row| maybe_text(row.dialect.as_ref());
    "model" Text |row| maybe_text(row.model.as_ref());
    "routed_to" Text |row| maybe_text(row.routed_to.as_ref());
    "stack" Text |row| text(&row.stack);
    "steps" Text steps;
    "failed_open" Text |row| maybe_text(row.failed_open.as_ref());
    "struck_stack" Text |row| text(&row.struck_stack);
    "bypassed" Bool |row| Cell::Bool(row.bypassed);
    "held_out" Bool |row| Cell::Bool(row.held_out);
    "bytes_before" Int |row| int(row.bytes_before);
    "bytes_after" Int |row| int(row.bytes_after);
    "chars_before" Int |row| maybe_int(row.chars_before);
    "chars_after" Int |row| maybe_int(row.chars_after);
    "messages_before" Int |row| maybe_int(row.messages_before);
    "messages_after" Int |row| maybe_int(row.messages_after);
    "turns_removed" Int |row| int(row.turns_removed);
    "rag_kept" Int |row| int(row.rag_kept);
    "rag_dropped" Int |row| int(row.rag_dropped);
    "compress_chars_before" Int |row| maybe_int(row.compress.map(|compress| compress.chars_before));
    "compress_chars_after" Int |row| maybe_int(row.compress.map(|compress| compress.chars_after));
    "first_edit_at" Int |row| maybe_int(row.first_edit_at);
    "upstream_status" Int |row| maybe_int(row.upstream_status.map(u64::from));
    "status" Int |row| int(u64::from(row.status));
    "is_stream" Bool |row| Cell::Bool(row.is_stream);
    "response_bytes" Int |row| int(row.response_bytes);
    "added_us" Int |row| int(row.added_us);
    "upstream_head_us" Int |row| maybe_int(row.upstream_head_us);
    "total_us" Int |row| int(row.total_us);
    "input_tokens" Int |row| maybe_int(row.usage.input);
    "cache_read_tokens" Int |row| maybe_int(row.usage.cache_read);
    "cache_write_tokens" Int |row| maybe_int(row.usage.cache_write);
    "output_tokens" Int |row| maybe_int(row.usage.output);
    "predicted_tokens_before" Int |row| maybe_int(row.receipt.predicted_tokens_before);
    "predicted_tokens_after" Int |row| maybe_int(row.receipt.predicted_tokens_after);
    "predicted_cache_read" Int |row| maybe_int(row.receipt.predicted_cache_read);
    "predicted_cache_write" Int |row| maybe_int(row.receipt.predicted_cache_write);
    "tokens_are_exact" Bool |row| Cell::Bool(row.receipt.tokens_are_exact);
    "predicted_usd_without" Real |row| maybe_real(row.receipt.predicted_usd_without);
    "predicted_usd_with" Real |row| maybe_real(row.receipt.predicted_usd_with);
    "break_even_turns" Real |row| maybe_real(row.receipt.break_even_turns);
    "price_date" Text |row| maybe_text(row.receipt.price_date.as_ref());
    "billed_usd" Real |row| maybe_real(row.receipt.billed_usd);
    "billed_input_usd" Real |row| maybe_real(row.receipt.billed_input_usd);
    "tokens_saved" Int |row| row.receipt.tokens_saved.map_or(Cell::Null, Cell::Int);
    "saved_usd" Real |row| maybe_real(row.receipt.saved_usd);
    "ended" Text |row| text(&row.ended);
};
