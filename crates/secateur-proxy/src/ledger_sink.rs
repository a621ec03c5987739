//! From audit events to rows of the ledger.

use std::sync::Arc;
use std::time::Duration;

use secateur_core::receipt::Basis;
use secateur_core::report::Report;
use secateur_ledger::moment::millis;
use secateur_ledger::{CompressRow, LatePlan, Ledger, ReceiptRow, Row, StepRow, UsageRow};

use crate::audit::{AuditEvent, AuditSink};

/// Hands every event to the ledger, which never blocks.
#[derive(Clone, Debug)]
pub struct LedgerSink(pub Ledger);

impl AuditSink for LedgerSink {
    fn record(&self, event: &AuditEvent) {
        let row = row(event);
        match &event.report {
            Some(report) => self.0.record_with_plan(row, plan(report)),
            None => self.0.record(row),
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn row(event: &AuditEvent) -> Row {
    let report = event.report.as_deref();
    let is_changed = |report: &&Report| !event.stack.is_empty() && !report.stack.is_empty();
    let changed = report.filter(is_changed);
    let (usage, receipt) = (event.usage.as_ref(), &event.receipt);
    let predicted = receipt.predicted.as_ref();
    Row {
        id: event.id.clone(),
        at: millis(event.at),
        workload: (*event.workload).to_owned(),
        key: event.key.as_deref().map(str::to_owned),
        session: event.session.clone(),
        provider: event.provider.name().to_owned(),
        dialect: event.dialect.map(|dialect| dialect.name().to_owned()),
        model: event.model.clone(),
        routed_to: event.routed_to.clone(),
        stack: event.stack.join("+"),
        steps: steps(event),
        failed_open: event.failed_open.map(|reason| reason.name().to_owned()),
        struck_stack: event.struck_stack.join("+"),
        bypassed: event.bypassed,
        held_out: event.held_out,
        bytes_before: event.bytes_before,
        bytes_after: event.bytes_after,
        chars_before: event.chars_before,
        chars_after: event.chars_after,
        messages_before: report.map(|report| report.before.messages as u64),
        messages_after: changed.map_or_else(
            || report.map(|report| report.before.messages as u64),
            |report| Some(report.after.messages as u64),
        ),
        turns_removed: changed.map_or(0, |report| report.turns_removed as u64),
        rag_kept: changed.map_or(0, |report| report.rag_kept as u64),
        rag_dropped: changed.map_or(0, |report| report.rag_dropped as u64),
        compress: changed
            .and_then(|report| report.compress)
            .map(|compress| CompressRow {
                chars_before: compress.chars_before as u64,
                chars_after: compress.chars_after as u64,
            }),
        first_edit_at: changed
            .and_then(|report| report.first_edit_at)
            .map(|at| at as u64),
        upstream_status: event.upstream_status,
        status: event.status,
        is_stream: event.is_stream,
        response_bytes: event.response_bytes,
        added_us: micros(event.added),
        upstream_head_us: event.upstream_head.map(micros),
        total_us: micros(event.total),
        usage: UsageRow {
            input: usage.and_then(|usage| usage.input_tokens),
            cache_read: usage.and_then(|usage| usage.cache_read_tokens),
            cache_write: usage.and_then(|usage| usage.cache_write_tokens),
            output: usage.and_then(|usage| usage.output_tokens),
        },
        receipt: ReceiptRow {
            predicted_tokens_before: predicted.map(|p| p.predicted_input_tokens_before as u64),
            predicted_tokens_after: predicted.map(|p| p.predicted_input_tokens_after as u64),
            tokens_are_exact: predicted.is_some_and(|p| p.basis == Basis::Exact),
            predicted_usd_without: predicted.and_then(|p| p.predicted_usd_without),
            predicted_usd_with: predicted.and_then(|p| p.predicted_usd_with),
            break_even_turns: changed.and(predicted).and_then(|p| p.break_even_turns),
            price_date: predicted.map(|p| p.price_date.to_owned()),
            actual_usd: receipt.actual_usd,
            actual_input_usd: receipt.actual_input_usd,
            tokens_saved: changed.and(receipt.tokens_saved).map(u64::cast_signed),
            saved_usd: changed.and(receipt.saved_usd),
        },
        ended: event.ended.name().to_owned(),
        plan: None,
    }
}

/// Bytes of JSON that a report, a cut and a skip come to, roughly.
const REPORT_BYTES: usize = 1024;
const CUT_BYTES: usize = 256;
const LEFT_BYTES: usize = 128;

/// The report as JSON, made by the ledger's own thread.
fn plan(report: &Arc<Report>) -> LatePlan {
    let bytes = REPORT_BYTES + report.cuts.len() * CUT_BYTES + report.left.len() * LEFT_BYTES;
    let report = Arc::clone(report);
    LatePlan::new(bytes, move || serde_json::to_string(&*report).ok())
}

fn steps(event: &AuditEvent) -> Vec<StepRow> {
    let step = |step: &crate::audit::Step| StepRow {
        mechanic: step.mechanic.name().to_owned(),
        skipped: step.skipped.as_deref().map(str::to_owned),
    };
    event.steps.iter().map(step).collect()
}
