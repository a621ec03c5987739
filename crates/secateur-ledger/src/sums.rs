//! The sums that are kept of rows, declared once: the columns of table `daily`, what a row adds to each in Rust, and the
//! same in SQL for days that are counted in part.

use crate::error::LedgerError;
use crate::query::Totals;
use crate::row::Row;
use crate::store::{Kind, Value};

/// One sum of [`Totals`].
pub(crate) struct Sum {
    /// Its column in `daily`.
    pub(crate) name: &'static str,
    /// What a row of `audit` adds, in SQL; NULL adds nothing.
    pub(crate) of_row: &'static str,
    add: fn(&mut Totals, &Row),
    number: fn(&mut Totals) -> Number<'_>,
}

/// Where a sum is in [`Totals`].
enum Number<'t> {
    Count(&'t mut u64),
    Whole(&'t mut i64),
    Usd(&'t mut f64),
}

macro_rules! sums {
    ($($variant:ident $field:ident $sql:expr, $add:expr;)*) => {
        &[$(Sum {
            name: stringify!($field),
            of_row: $sql,
            add: |totals, row| {
                let of_row: fn(&Row) -> _ = $add;
                totals.$field += of_row(row);
            },
            number: |totals| Number::$variant(&mut totals.$field),
        }),*]
    };
}

pub(crate) const SUMS: &[Sum] = sums! {
    Count requests "1", |_| 1;
    Count changed "CASE WHEN stack <> '' THEN 1 ELSE 0 END", |row| u64::from(!row.stack.is_empty());
    Count failed_open "CASE WHEN failed_open IS NOT NULL THEN 1 ELSE 0 END",
        |row| u64::from(row.failed_open.is_some());
    Count struck "CASE WHEN struck_stack <> '' THEN 1 ELSE 0 END",
        |row| u64::from(!row.struck_stack.is_empty());
    Count errors "CASE WHEN status >= 400 OR status = 0 THEN 1 ELSE 0 END",
        |row| u64::from(row.is_error());
    Count unpriced "CASE WHEN dialect IS NOT NULL AND status BETWEEN 1 AND 399 AND billed_usd IS NULL THEN 1 ELSE 0 END",
        |row| u64::from(row.is_unpriced());
    Count chars_before "chars_before", |row| row.chars_before.unwrap_or(0);
    Count chars_after "chars_after", |row| row.chars_after.unwrap_or(0);
    Count compress_chars_before "compress_chars_before",
        |row| row.compress.map_or(0, |compress| compress.chars_before);
    Count compress_chars_after "compress_chars_after",
        |row| row.compress.map_or(0, |compress| compress.chars_after);
    Count input_tokens "input_tokens", |row| row.usage.input.unwrap_or(0);
    Count cache_read_tokens "cache_read_tokens", |row| row.usage.cache_read.unwrap_or(0);
    Count cache_write_tokens "cache_write_tokens", |row| row.usage.cache_write.unwrap_or(0);
    Count output_tokens "output_tokens", |row| row.usage.output.unwrap_or(0);
    Whole tokens_saved "tokens_saved", |row| row.receipt.tokens_saved.unwrap_or(0);
    Usd saved_usd "saved_usd", |row| row.receipt.saved_usd.unwrap_or(0.0);
    // A prediction counts only where the bill is known too, else the sums could not be compared.
    Usd predicted_usd_without
        "CASE WHEN predicted_usd_with IS NOT NULL AND billed_input_usd IS NOT NULL THEN predicted_usd_without END",
        |row| reconciled(row).map_or(0.0, |[without, _, _]| without);
    Usd predicted_usd_with
        "CASE WHEN predicted_usd_without IS NOT NULL AND billed_input_usd IS NOT NULL THEN predicted_usd_with END",
        |row| reconciled(row).map_or(0.0, |[_, with, _]| with);
    Usd reconciled_usd
        "CASE WHEN predicted_usd_without IS NOT NULL AND predicted_usd_with IS NOT NULL THEN billed_input_usd END",
        |row| reconciled(row).map_or(0.0, |[_, _, billed]| billed);
    Usd billed_usd "billed_usd", |row| row.receipt.billed_usd.unwrap_or(0.0);
    Count net_negative "CASE WHEN saved_usd < 0 THEN 1 ELSE 0 END",
        |row| u64::from(row.receipt.saved_usd.is_some_and(|saved| saved < 0.0));
    Count predicted_tokens "CASE WHEN input_tokens IS NOT NULL THEN predicted_tokens_after END",
        |row| counted(row, row.receipt.predicted_tokens_after);
    Count predicted_cache_read_tokens
        "CASE WHEN input_tokens IS NOT NULL AND predicted_tokens_after IS NOT NULL THEN predicted_cache_read_tokens END",
        |row| counted(row, row.receipt.predicted_cache_read);
    Count predicted_cache_write_tokens
        "CASE WHEN input_tokens IS NOT NULL AND predicted_tokens_after IS NOT NULL THEN predicted_cache_write_tokens END",
        |row| counted(row, row.receipt.predicted_cache_write);
    Count billed_tokens "CASE WHEN predicted_tokens_after IS NOT NULL THEN input_tokens END",
        |row| counted(row, row.usage.input);
    Count billed_cache_read_tokens
        "CASE WHEN predicted_tokens_after IS NOT NULL AND input_tokens IS NOT NULL THEN cache_read_tokens END",
        |row| counted(row, row.usage.cache_read);
    Count billed_cache_write_tokens
        "CASE WHEN predicted_tokens_after IS NOT NULL AND input_tokens IS NOT NULL THEN cache_write_tokens END",
        |row| counted(row, row.usage.cache_write);
    Count added_us "added_us", |row| row.added_us;
};

/// Predicted without cuts, predicted with them, and billed; where all three are known.
fn reconciled(row: &Row) -> Option<[f64; 3]> {
    let receipt = &row.receipt;
    Some([
        receipt.predicted_usd_without?,
        receipt.predicted_usd_with?,
        receipt.billed_input_usd?,
    ])
}

/// A count of tokens, where both the prediction and the bill are known.
fn counted(row: &Row, tokens: Option<u64>) -> u64 {
    let is_known = row.receipt.predicted_tokens_after.is_some() && row.usage.input.is_some();
    tokens.filter(|_| is_known).unwrap_or(0)
}

impl Sum {
    pub(crate) fn kind(&self) -> Kind {
        match (self.number)(&mut Totals::default()) {
            Number::Usd(_) => Kind::Real,
            Number::Count(_) | Number::Whole(_) => Kind::Int,
        }
    }

    /// The sum of an expression over rows. PostgreSQL adds whole numbers up to a type of its own; the cast brings it back.
    pub(crate) fn sql(&self, of: &str) -> String {
        match self.kind() {
            Kind::Real => format!("COALESCE(SUM({of}), 0.0)"),
            _ => format!("CAST(COALESCE(SUM({of}), 0) AS BIGINT)"),
        }
    }
}

/// Adds one row.
pub(crate) fn add_row(totals: &mut Totals, row: &Row) {
    for sum in SUMS {
        (sum.add)(totals, row);
    }
}

/// Adds other sums.
pub(crate) fn add_totals(totals: &mut Totals, other: &Totals) {
    let mut other = other.clone();
    for sum in SUMS {
        match ((sum.number)(totals), (sum.number)(&mut other)) {
            (Number::Count(sum), Number::Count(more)) => *sum += *more,
            (Number::Whole(sum), Number::Whole(more)) => *sum += *more,
            (Number::Usd(sum), Number::Usd(more)) => *sum += *more,
            _ => {}
        }
    }
}

/// The sums, in the order of the list.
pub(crate) fn values(mut totals: Totals) -> Vec<Value<'static>> {
    let value = |sum: &Sum| match (sum.number)(&mut totals) {
        Number::Count(count) => Value::count(*count),
        Number::Whole(number) => Value::Int(*number),
        Number::Usd(usd) => Value::Real(*usd),
    };
    SUMS.iter().map(value).collect()
}

/// Reads a group's name and the sums after it.
pub(crate) fn read(values: Vec<Value<'_>>) -> Result<Totals, LedgerError> {
    let mut values = values.into_iter();
    let mut totals = Totals {
        group: values.next().unwrap_or(Value::Null).into_text()?,
        ..Totals::default()
    };
    for (sum, value) in SUMS.iter().zip(values) {
        match (sum.number)(&mut totals) {
            Number::Count(count) => *count = value.into_count()?,
            Number::Whole(number) => *number = value.into_int()?,
            Number::Usd(usd) => *usd = value.into_real()?,
        }
    }
    Ok(totals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_the_totals_is_a_sum() {
        let json = serde_json::to_value(Totals::default()).unwrap();
        let mut fields: Vec<&str> = json
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let mut sums: Vec<&str> = SUMS.iter().map(|sum| sum.name).chain(["group"]).collect();
        fields.sort_unstable();
        sums.sort_unstable();
        assert_eq!(fields, sums);
    }
}
