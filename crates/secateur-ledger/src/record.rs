//! What goes through the queue, made fit for any database on the way in.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::control::Score;
use crate::late_plan::LatePlan;
use crate::rollup::Rollup;
use crate::row::{LAST_TIME, Millis, Row, id_time};
use crate::shadow::ShadowCall;

/// Longest plan that is kept, in bytes. A longer one is replaced by a note with its size.
pub(crate) const MAX_PLAN_BYTES: usize = 256 * 1024;
/// Longest reason, in bytes.
const MAX_TEXT_BYTES: usize = 4 * 1024;
/// Longest id or name, in bytes: five of them must fit into one index entry of PostgreSQL (2,704 bytes).
const MAX_NAME_BYTES: usize = 256;
/// Most steps of a row.
const MAX_STEPS: usize = 64;

/// What several requests add to the sums, in place of their rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AddedSums {
    /// Unique: sums that are replayed with it are added once.
    pub(crate) id: String,
    pub(crate) at: Millis,
    /// How many requests.
    pub(crate) requests: usize,
    pub(crate) rollup: Rollup,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Record {
    Row(Box<Row>),
    Sums(Box<AddedSums>),
    Score(Score),
    Shadow(ShadowCall),
}

impl Record {
    /// A row, fit for any database.
    pub(crate) fn of(mut row: Row) -> Self {
        fit_row(&mut row);
        Self::Row(Box::new(row))
    }

    /// What so many requests add to the sums, under an id of its own.
    pub(crate) fn sums(rollup: Rollup, requests: usize, at: Millis) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut random = [0; 8];
        // Where there are no random numbers, the process and its own count have to do.
        let _ = getrandom::fill(&mut random);
        let (process, next) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let random = u64::from_ne_bytes(random);
        Self::Sums(Box::new(AddedSums {
            id: format!("{}-{process:x}-{next:x}-{random:016x}", id_time(at)),
            at,
            requests,
            rollup,
        }))
    }

    /// How many recorded things it stands for.
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Sums(sums) => sums.requests,
            _ => 1,
        }
    }

    /// The same of all of them together.
    pub(crate) fn count_all(records: &[Self]) -> usize {
        records.iter().map(Self::count).sum()
    }

    /// Roughly what it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        match self {
            Self::Row(row) => {
                let steps: usize = row.steps.iter().map(|step| 80 + text(&step.skipped)).sum();
                size_of::<Row>() + 200 + steps + text(&row.plan) + text(&row.failed_open)
            }
            Self::Sums(sums) => size_of::<AddedSums>() + sums.rollup.bytes(),
            Self::Score(score) => {
                size_of::<Score>() + score.workload.len() + score.stack.len() + 64
            }
            Self::Shadow(call) => {
                size_of::<ShadowCall>() + call.workload.len() + call.stack.len() + 64
            }
        }
    }

    /// A score, fit for any database.
    pub(crate) fn score(mut score: Score) -> Self {
        for text in [
            &mut score.id,
            &mut score.workload,
            &mut score.stack,
            &mut score.scorer,
        ] {
            fit_text(text, MAX_NAME_BYTES);
        }
        fit_option(&mut score.request, MAX_NAME_BYTES);
        if !score.score.is_finite() {
            score.score = 0.0;
        }
        Self::Score(score)
    }

    /// A call, fit for any database.
    pub(crate) fn shadow(mut call: ShadowCall) -> Self {
        for text in [&mut call.id, &mut call.workload, &mut call.stack] {
            fit_text(text, MAX_NAME_BYTES);
        }
        if !call.usd.is_finite() {
            call.usd = 0.0;
        }
        Self::Shadow(call)
    }

    /// Gives a row its plan.
    pub(crate) fn with_plan(mut self, plan: LatePlan) -> Self {
        if let Self::Row(row) = &mut self {
            row.plan = plan.write();
            fit_plan(&mut row.plan);
        }
        self
    }
}

/// Texts cut to their limits, without the NUL characters that PostgreSQL cannot hold; numbers that are none
/// become nothing.
fn fit_row(row: &mut Row) {
    row.at = row.at.clamp(0, LAST_TIME);
    for text in [
        &mut row.id,
        &mut row.workload,
        &mut row.provider,
        &mut row.stack,
        &mut row.struck_stack,
    ] {
        fit_text(text, MAX_NAME_BYTES);
    }
    for text in [
        &mut row.key,
        &mut row.session,
        &mut row.dialect,
        &mut row.model,
        &mut row.routed_to,
        &mut row.receipt.price_date,
    ] {
        fit_option(text, MAX_NAME_BYTES);
    }
    fit_option(&mut row.failed_open, MAX_TEXT_BYTES);
    fit_text(&mut row.ended, MAX_TEXT_BYTES);
    row.steps.truncate(MAX_STEPS);
    for step in &mut row.steps {
        fit_text(&mut step.mechanic, MAX_NAME_BYTES);
        fit_option(&mut step.skipped, MAX_TEXT_BYTES);
    }
    let receipt = &mut row.receipt;
    for number in [
        &mut receipt.predicted_usd_without,
        &mut receipt.predicted_usd_with,
        &mut receipt.break_even_turns,
        &mut receipt.billed_usd,
        &mut receipt.billed_input_usd,
        &mut receipt.saved_usd,
    ] {
        *number = number.filter(|number| number.is_finite());
    }
    fit_plan(&mut row.plan);
}

fn fit_plan(plan: &mut Option<String>) {
    if let Some(plan) = plan.as_mut().filter(|plan| plan.len() > MAX_PLAN_BYTES) {
        *plan = format!(
            "{{\"left_out\":\"the plan is too large to keep\",\"bytes\":{}}}",
            plan.len()
        );
    }
}

fn fit_option(text: &mut Option<String>, max_bytes: usize) {
    if let Some(text) = text {
        fit_text(text, max_bytes);
    }
}

fn fit_text(text: &mut String, max_bytes: usize) {
    if text.as_bytes().contains(&0) {
        *text = text.replace('\0', "\u{fffd}");
    }
    if text.len() > max_bytes {
        let end = text.floor_char_boundary(max_bytes);
        text.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_is_too_large_leaves_a_note_with_its_size() {
        let plan = "x".repeat(MAX_PLAN_BYTES + 1);
        let row = Row {
            plan: Some(plan),
            ..Row::default()
        };
        let Record::Row(row) = Record::of(row) else {
            panic!()
        };
        let plan: serde_json::Value = serde_json::from_str(row.plan.as_deref().unwrap()).unwrap();
        assert_eq!(plan["bytes"], MAX_PLAN_BYTES + 1);
    }

    #[test]
    fn texts_that_a_database_refuses_are_mended() {
        let mut row = Row {
            model: Some("a\0b".into()),
            id: "é".repeat(5_000),
            ..Row::default()
        };
        row.receipt.saved_usd = Some(f64::NAN);
        let Record::Row(row) = Record::of(row) else {
            panic!()
        };
        assert_eq!(row.model.as_deref(), Some("a\u{fffd}b"));
        assert_eq!(row.id.len(), MAX_NAME_BYTES);
        assert_eq!(row.receipt.saved_usd, None);
    }
}
