//! Sums that are kept up to date with the rows, in the same transaction: per day, workload, stack and
//! model, and per session.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use crate::columns::is_error;
use crate::entry::Entry;
use crate::error::LedgerError;
use crate::moment::{DAY_MS, day_of};
use crate::plain::Figures;
use crate::query::Totals;
use crate::row::{Millis, Row};
use crate::store::{Store, Value};

/// One sum of [`Totals`]: its column in `daily`, whether it is money, and what a row of `audit` adds.
/// The order is that of [`values`] and [`totals_from`].
pub(crate) const SUMS: &[(&str, bool, &str)] = &[
    ("requests", false, "1"),
    ("changed", false, "CASE WHEN stack <> '' THEN 1 ELSE 0 END"),
    (
        "failed_open",
        false,
        "CASE WHEN failed_open IS NOT NULL THEN 1 ELSE 0 END",
    ),
    (
        "struck",
        false,
        "CASE WHEN struck_stack <> '' THEN 1 ELSE 0 END",
    ),
    (
        "errors",
        false,
        "CASE WHEN status >= 400 OR status = 0 THEN 1 ELSE 0 END",
    ),
    ("chars_before", false, "chars_before"),
    ("chars_after", false, "chars_after"),
    ("compress_chars_before", false, "compress_chars_before"),
    ("compress_chars_after", false, "compress_chars_after"),
    ("input_tokens", false, "input_tokens"),
    ("cache_read_tokens", false, "cache_read_tokens"),
    ("cache_write_tokens", false, "cache_write_tokens"),
    ("output_tokens", false, "output_tokens"),
    ("tokens_saved", false, "tokens_saved"),
    ("saved_usd", true, "saved_usd"),
    ("predicted_usd_without", true, RECONCILED_WITHOUT),
    ("predicted_usd_with", true, RECONCILED_WITH),
    ("reconciled_usd", true, RECONCILED_BILLED),
    ("actual_usd", true, "actual_usd"),
    (
        "net_negative",
        false,
        "CASE WHEN saved_usd < 0 THEN 1 ELSE 0 END",
    ),
    ("predicted_tokens", false, COUNTED_PREDICTED),
    ("predicted_cache_read_tokens", false, COUNTED_PREDICTED_READ),
    (
        "predicted_cache_write_tokens",
        false,
        COUNTED_PREDICTED_WRITE,
    ),
    ("billed_tokens", false, COUNTED_BILLED),
    ("billed_cache_read_tokens", false, COUNTED_BILLED_READ),
    ("billed_cache_write_tokens", false, COUNTED_BILLED_WRITE),
    ("added_us", false, "added_us"),
];

// A prediction counts only where the bill is known too, else the sums could not be compared.
const RECONCILED_WITHOUT: &str = "CASE WHEN predicted_usd_with IS NOT NULL AND actual_input_usd IS NOT NULL THEN predicted_usd_without END";
const RECONCILED_WITH: &str = "CASE WHEN predicted_usd_without IS NOT NULL AND actual_input_usd IS NOT NULL THEN predicted_usd_with END";
const RECONCILED_BILLED: &str = "CASE WHEN predicted_usd_without IS NOT NULL AND predicted_usd_with IS NOT NULL THEN actual_input_usd END";

const COUNTED_PREDICTED: &str =
    "CASE WHEN input_tokens IS NOT NULL THEN predicted_tokens_after END";
const COUNTED_PREDICTED_READ: &str =
    "CASE WHEN input_tokens IS NOT NULL THEN predicted_cache_read_tokens END";
const COUNTED_PREDICTED_WRITE: &str =
    "CASE WHEN input_tokens IS NOT NULL THEN predicted_cache_write_tokens END";
const COUNTED_BILLED: &str = "CASE WHEN predicted_tokens_after IS NOT NULL THEN input_tokens END";
const COUNTED_BILLED_READ: &str = "CASE WHEN predicted_tokens_after IS NOT NULL AND input_tokens IS NOT NULL THEN cache_read_tokens END";
const COUNTED_BILLED_WRITE: &str = "CASE WHEN predicted_tokens_after IS NOT NULL AND input_tokens IS NOT NULL THEN cache_write_tokens END";

/// Adds one row.
pub(crate) fn add_row(totals: &mut Totals, row: &Row, own: &Figures) {
    let receipt = &row.receipt;
    totals.requests += 1;
    totals.changed += u64::from(!row.stack.is_empty());
    totals.failed_open += u64::from(row.failed_open.is_some());
    totals.struck += u64::from(!row.struck_stack.is_empty());
    totals.errors += u64::from(is_error(row.status));
    totals.chars_before += row.chars_before.unwrap_or(0);
    totals.chars_after += row.chars_after.unwrap_or(0);
    if let Some(compress) = row.compress {
        totals.compress_chars_before += compress.chars_before;
        totals.compress_chars_after += compress.chars_after;
    }
    totals.input_tokens += own.usage.input.unwrap_or(0);
    totals.cache_read_tokens += own.usage.cache_read.unwrap_or(0);
    totals.cache_write_tokens += own.usage.cache_write.unwrap_or(0);
    totals.output_tokens += own.usage.output.unwrap_or(0);
    totals.tokens_saved += receipt.tokens_saved.unwrap_or(0);
    totals.saved_usd += receipt.saved_usd.unwrap_or(0.0);
    if let (Some(without), Some(with), Some(billed)) = (
        receipt.predicted_usd_without,
        receipt.predicted_usd_with,
        own.actual_input_usd,
    ) {
        totals.predicted_usd_without += without;
        totals.predicted_usd_with += with;
        totals.reconciled_usd += billed;
    }
    totals.actual_usd += own.actual_usd.unwrap_or(0.0);
    totals.net_negative += u64::from(receipt.saved_usd.is_some_and(|saved| saved < 0.0));
    if let (Some(predicted), Some(billed)) = (receipt.predicted_tokens_after, own.usage.input) {
        totals.predicted_tokens += predicted;
        totals.predicted_cache_read_tokens += receipt.predicted_cache_read.unwrap_or(0);
        totals.predicted_cache_write_tokens += receipt.predicted_cache_write.unwrap_or(0);
        totals.billed_tokens += billed;
        totals.billed_cache_read_tokens += own.usage.cache_read.unwrap_or(0);
        totals.billed_cache_write_tokens += own.usage.cache_write.unwrap_or(0);
    }
    totals.added_us += own.added_us;
}

pub(crate) fn add_totals(sum: &mut Totals, other: &Totals) {
    sum.requests += other.requests;
    sum.changed += other.changed;
    sum.failed_open += other.failed_open;
    sum.struck += other.struck;
    sum.errors += other.errors;
    sum.chars_before += other.chars_before;
    sum.chars_after += other.chars_after;
    sum.compress_chars_before += other.compress_chars_before;
    sum.compress_chars_after += other.compress_chars_after;
    sum.input_tokens += other.input_tokens;
    sum.cache_read_tokens += other.cache_read_tokens;
    sum.cache_write_tokens += other.cache_write_tokens;
    sum.output_tokens += other.output_tokens;
    sum.tokens_saved += other.tokens_saved;
    sum.saved_usd += other.saved_usd;
    sum.predicted_usd_without += other.predicted_usd_without;
    sum.predicted_usd_with += other.predicted_usd_with;
    sum.reconciled_usd += other.reconciled_usd;
    sum.actual_usd += other.actual_usd;
    sum.net_negative += other.net_negative;
    sum.predicted_tokens += other.predicted_tokens;
    sum.predicted_cache_read_tokens += other.predicted_cache_read_tokens;
    sum.predicted_cache_write_tokens += other.predicted_cache_write_tokens;
    sum.billed_tokens += other.billed_tokens;
    sum.billed_cache_read_tokens += other.billed_cache_read_tokens;
    sum.billed_cache_write_tokens += other.billed_cache_write_tokens;
    sum.added_us += other.added_us;
}

fn values(totals: &Totals) -> Vec<Value<'_>> {
    vec![
        Value::count(totals.requests),
        Value::count(totals.changed),
        Value::count(totals.failed_open),
        Value::count(totals.struck),
        Value::count(totals.errors),
        Value::count(totals.chars_before),
        Value::count(totals.chars_after),
        Value::count(totals.compress_chars_before),
        Value::count(totals.compress_chars_after),
        Value::count(totals.input_tokens),
        Value::count(totals.cache_read_tokens),
        Value::count(totals.cache_write_tokens),
        Value::count(totals.output_tokens),
        Value::Int(totals.tokens_saved),
        Value::Real(totals.saved_usd),
        Value::Real(totals.predicted_usd_without),
        Value::Real(totals.predicted_usd_with),
        Value::Real(totals.reconciled_usd),
        Value::Real(totals.actual_usd),
        Value::count(totals.net_negative),
        Value::count(totals.predicted_tokens),
        Value::count(totals.predicted_cache_read_tokens),
        Value::count(totals.predicted_cache_write_tokens),
        Value::count(totals.billed_tokens),
        Value::count(totals.billed_cache_read_tokens),
        Value::count(totals.billed_cache_write_tokens),
        Value::count(totals.added_us),
    ]
}

/// Reads a group's name and the sums after it.
pub(crate) fn totals_from(values: Vec<Value<'_>>) -> Result<Totals, LedgerError> {
    let mut from = values.into_iter();
    let mut take = || from.next().unwrap_or(Value::Null);
    Ok(Totals {
        group: take().into_text()?,
        requests: take().into_count()?,
        changed: take().into_count()?,
        failed_open: take().into_count()?,
        struck: take().into_count()?,
        errors: take().into_count()?,
        chars_before: take().into_count()?,
        chars_after: take().into_count()?,
        compress_chars_before: take().into_count()?,
        compress_chars_after: take().into_count()?,
        input_tokens: take().into_count()?,
        cache_read_tokens: take().into_count()?,
        cache_write_tokens: take().into_count()?,
        output_tokens: take().into_count()?,
        tokens_saved: take().into_int()?,
        saved_usd: take().into_real()?,
        predicted_usd_without: take().into_real()?,
        predicted_usd_with: take().into_real()?,
        reconciled_usd: take().into_real()?,
        actual_usd: take().into_real()?,
        net_negative: take().into_count()?,
        predicted_tokens: take().into_count()?,
        predicted_cache_read_tokens: take().into_count()?,
        predicted_cache_write_tokens: take().into_count()?,
        billed_tokens: take().into_count()?,
        billed_cache_read_tokens: take().into_count()?,
        billed_cache_write_tokens: take().into_count()?,
        added_us: take().into_count()?,
    })
}

/// Adds sums to those of a day.
static ADD_TO_DAY: LazyLock<String> = LazyLock::new(|| {
    let names: Vec<&str> = SUMS.iter().map(|&(name, ..)| name).collect();
    let slots: Vec<String> = (1..=names.len() + 4).map(|at| format!("${at}")).collect();
    let additions: Vec<String> = names
        .iter()
        .map(|name| format!("{name} = daily.{name} + excluded.{name}"))
        .collect();
    format!(
        "INSERT INTO daily (day, workload, stack, model, {}) VALUES ({}) \
         ON CONFLICT (day, workload, stack, model) DO UPDATE SET {}",
        names.join(", "),
        slots.join(", "),
        additions.join(", ")
    )
});

/// Rows that are remembered for those like them.
const MAX_RECENT: usize = 64;

/// The number of the day since 1970, workload, stack and model.
type DayKey<'r> = (i64, &'r str, &'r str, &'r str);
type SessionKey<'r> = (&'r str, &'r str, bool);

#[derive(Debug)]
struct SessionSum {
    first_at: Millis,
    requests: u64,
    input_usd: f64,
}

/// What a batch adds.
#[derive(Debug, Default)]
pub(crate) struct Rollup<'r> {
    days: Vec<(DayKey<'r>, Totals)>,
    /// Where in `days` a key is.
    places: HashMap<DayKey<'r>, usize>,
    /// Where rows are counted that others are like, with their day.
    recent: Vec<(&'r Row, i64, usize)>,
    sessions: BTreeMap<SessionKey<'r>, SessionSum>,
}

impl<'r> Rollup<'r> {
    pub(crate) fn add(&mut self, entry: Entry<'r>) {
        let (row, own) = (entry.like, entry.figures());
        let place = self.place(own.at.div_euclid(DAY_MS), row);
        add_row(&mut self.days[place].1, row, &own);
        if let (Some(session), Some(usd)) = (&row.session, own.actual_input_usd) {
            let key = (row.workload.as_str(), session.as_str(), row.held_out);
            let sum = self.sessions.entry(key).or_insert(SessionSum {
                first_at: own.at,
                requests: 0,
                input_usd: 0.0,
            });
            sum.first_at = sum.first_at.min(own.at);
            sum.requests += 1;
            sum.input_usd += usd;
        }
    }

    /// Where a row is counted.
    fn place(&mut self, day: i64, row: &'r Row) -> usize {
        let is_same = |(known, its_day, _): &&(&Row, i64, usize)| {
            std::ptr::eq(*known, row) && *its_day == day
        };
        if let Some(&(_, _, place)) = self.recent.iter().find(is_same) {
            return place;
        }
        let model = row.model.as_deref().unwrap_or_default();
        let key = (day, row.workload.as_str(), row.stack.as_str(), model);
        let place = *self.places.entry(key).or_insert(self.days.len());
        if place == self.days.len() {
            self.days.push((key, Totals::default()));
        }
        self.recent.truncate(MAX_RECENT - 1);
        self.recent.insert(0, (row, day, place));
        place
    }

    /// In the order of keys: replicas lock the rows of `daily` in the same order and cannot wait for each other in a
    /// circle.
    pub(crate) fn write(mut self, store: &mut dyn Store) -> Result<(), LedgerError> {
        self.days.sort_by_key(|(key, _)| *key);
        for ((day, workload, stack, model), totals) in self.days {
            let mut row = vec![
                Value::owned(day_of(day * DAY_MS)),
                Value::text(workload),
                Value::text(stack),
                Value::text(model),
            ];
            row.extend(values(&totals));
            store.execute(&ADD_TO_DAY, &row)?;
        }
        for ((workload, session, held_out), sum) in self.sessions {
            store.execute(
                "INSERT INTO session_cost (workload, session, held_out, first_at_ms, requests, input_usd) \
                 VALUES ($1, $2, $3, $4, $5, $6) \
                 ON CONFLICT (workload, session, held_out) DO UPDATE SET \
                 first_at_ms = CASE WHEN excluded.first_at_ms < session_cost.first_at_ms \
                 THEN excluded.first_at_ms ELSE session_cost.first_at_ms END, \
                 requests = session_cost.requests + excluded.requests, \
                 input_usd = session_cost.input_usd + excluded.input_usd",
                &[
                    Value::text(workload),
                    Value::text(session),
                    Value::Bool(held_out),
                    Value::Int(sum.first_at),
                    Value::count(sum.requests),
                    Value::Real(sum.input_usd),
                ],
            )?;
        }
        Ok(())
    }
}
