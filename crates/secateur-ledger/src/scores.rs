//! Scores of answers, and what happened to stacks, as they are stored and asked for.

use std::sync::LazyLock;

use crate::control::{Score, StackEvent, StackEventKind};
use crate::error::LedgerError;
use crate::moment::{DAY_MS, day_of};
use crate::query::DayScore;
use crate::row::Millis;
use crate::store::{Store, Table, Value};

pub(crate) static SCORE: LazyLock<Table> = LazyLock::new(|| {
    let columns = vec![
        "id",
        "at_ms",
        "request_id",
        "workload",
        "stack",
        "scorer",
        "score",
    ];
    Table::new("score", columns)
});

pub(crate) fn values<'s>(score: &'s Score, out: &mut Vec<Value<'s>>) {
    out.extend([
        Value::text(&score.id),
        Value::Int(score.at),
        Value::maybe_text(score.request.as_deref()),
        Value::text(&score.workload),
        Value::text(&score.stack),
        Value::text(&score.scorer),
        Value::Real(score.score),
    ]);
}

/// Newest first.
pub(crate) fn scores(
    store: &mut dyn Store,
    workload: &str,
    stack: &str,
    since: Millis,
    limit: u32,
) -> Result<Vec<Score>, LedgerError> {
    let sql = format!(
        "SELECT {} FROM score WHERE workload = $1 AND stack = $2 AND at_ms >= $3 \
         ORDER BY at_ms DESC, id DESC LIMIT $4",
        SCORE.column_list("")
    );
    let asked = [
        Value::text(workload),
        Value::text(stack),
        Value::Int(since),
        Value::Int(i64::from(limit)),
    ];
    let found = store.query(&sql, &asked)?;
    found.into_iter().map(score).collect()
}

fn score(values: Vec<Value<'_>>) -> Result<Score, LedgerError> {
    let mut from = values.into_iter();
    let mut take = || from.next().unwrap_or(Value::Null);
    Ok(Score {
        id: take().into_text()?,
        at: take().into_int()?,
        request: take().into_maybe_text()?,
        workload: take().into_text()?,
        stack: take().into_text()?,
        scorer: take().into_text()?,
        score: take().into_real()?,
    })
}

/// Oldest day first, then by stack.
pub(crate) fn day_scores(
    store: &mut dyn Store,
    workload: &str,
    since: Millis,
) -> Result<Vec<DayScore>, LedgerError> {
    let sql = format!(
        "SELECT at_ms / {DAY_MS}, stack, COUNT(*), SUM(score) FROM score \
         WHERE workload = $1 AND at_ms >= $2 GROUP BY at_ms / {DAY_MS}, stack ORDER BY 1, 2"
    );
    let found = store.query(&sql, &[Value::text(workload), Value::Int(since)])?;
    let mut days = Vec::with_capacity(found.len());
    for values in found {
        let mut from = values.into_iter();
        let mut take = || from.next().unwrap_or(Value::Null);
        let day = day_of(take().into_int()? * DAY_MS);
        let stack = take().into_text()?;
        let samples = take().into_count()?;
        let sum = take().into_real()?;
        let mean = sum / samples.max(1) as f64;
        days.push(DayScore {
            day,
            stack,
            samples,
            mean,
        });
    }
    Ok(days)
}

/// Newest first.
pub(crate) fn stack_events(
    store: &mut dyn Store,
    workload: Option<&str>,
    since: Millis,
) -> Result<Vec<StackEvent>, LedgerError> {
    let columns = "at_ms, workload, stack, kind, reason, mean, samples, by_whom";
    let mut asked = vec![Value::Int(since)];
    let mut of = "";
    if let Some(workload) = workload {
        asked.push(Value::text(workload));
        of = " AND workload = $2";
    }
    let sql = format!(
        "SELECT {columns} FROM stack_event WHERE at_ms >= $1{of} ORDER BY at_ms DESC, seq DESC"
    );
    store.query(&sql, &asked)?.into_iter().map(event).collect()
}

fn event(values: Vec<Value<'_>>) -> Result<StackEvent, LedgerError> {
    let mut from = values.into_iter();
    let mut take = || from.next().unwrap_or(Value::Null);
    Ok(StackEvent {
        at: take().into_int()?,
        workload: take().into_text()?,
        stack: take().into_text()?,
        kind: match take().into_text()?.as_str() {
            "rolled-back" => StackEventKind::RolledBack,
            "resumed" => StackEventKind::Resumed,
            "warning" => StackEventKind::Warning,
            other => return Err(LedgerError::Unreadable(format!("stack event `{other}`"))),
        },
        reason: take().into_text()?,
        mean: take().into_maybe_real()?,
        samples: take().into_maybe_count()?,
        by: take().into_maybe_text()?,
    })
}

pub(crate) fn add_event(store: &mut dyn Store, event: &StackEvent) -> Result<(), LedgerError> {
    let kind = match event.kind {
        StackEventKind::RolledBack => "rolled-back",
        StackEventKind::Resumed => "resumed",
        StackEventKind::Warning => "warning",
    };
    store.execute(
        "INSERT INTO stack_event (at_ms, workload, stack, kind, reason, mean, samples, by_whom) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        &[
            Value::Int(event.at),
            Value::text(&event.workload),
            Value::text(&event.stack),
            Value::text(kind),
            Value::text(&event.reason),
            Value::maybe_real(event.mean),
            Value::maybe_count(event.samples),
            Value::maybe_text(event.by.as_deref()),
        ],
    )?;
    Ok(())
}
