//! Rows into the ledger, and what people and the canary decided out of it.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use secateur_core::policy::Policy;
use secateur_core::{Outcome, Request};
use secateur_ledger::{Controls, Ledger, ReceiptRow, Row, StepRow, UsageRow};
use secateur_proxy::audit::{AuditEvent, AuditSink, Step};
use secateur_proxy::{CoreEngine, Engine};
use tokio::sync::watch;

/// Writes a row for every request.
#[derive(Debug)]
pub(crate) struct LedgerSink(pub(crate) Ledger);

fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn row(event: &AuditEvent) -> Row {
    let report = event.report.as_deref();
    let usage = event.usage.clone().unwrap_or_default();
    let at = event.at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let step = |step: &Step| StepRow {
        mechanic: step.mechanic.name().to_owned(),
        skipped: step.skipped.as_ref().map(ToString::to_string),
    };
    let receipt = &event.receipt;
    Row {
        id: event.id.clone(),
        at: i64::try_from(at.as_millis()).unwrap_or_default(),
        workload: event.workload.to_string(),
        key: event.key.as_ref().map(ToString::to_string),
        provider: format!("{:?}", event.provider).to_lowercase(),
        dialect: event
            .dialect
            .and_then(|dialect| Some(serde_json::to_value(dialect).ok()?.as_str()?.to_owned())),
        model: event.model.clone(),
        routed_to: event.routed_to.clone(),
        stack: event.stack.join("+"),
        steps: event.steps.iter().map(step).collect(),
        failed_open: event.failed_open.map(|reason| reason.name().to_owned()),
        struck_stack: event.struck_stack.join("+"),
        bypassed: event.bypassed,
        bytes_before: event.bytes_before,
        bytes_after: event.bytes_after,
        chars_before: event.chars_before,
        chars_after: event.chars_after,
        messages_before: report.map(|report| report.before.messages as u64),
        messages_after: report.map(|report| report.after.messages as u64),
        turns_removed: report.map_or(0, |report| report.turns_removed as u64),
        first_edit_at: report.and_then(|report| report.first_edit_at.map(|at| at as u64)),
        upstream_status: event.upstream_status,
        status: event.status,
        is_stream: event.is_stream,
        response_bytes: event.response_bytes,
        added_us: micros(event.added),
        upstream_head_us: event.upstream_head.map(micros),
        total_us: micros(event.total),
        usage: UsageRow {
            input: usage.input_tokens,
            cache_read: usage.cache_read_tokens,
            cache_write: usage.cache_write_tokens,
            output: usage.output_tokens,
        },
        receipt: ReceiptRow {
            predicted_usd_with: receipt.predicted_input_usd,
            actual_usd: receipt.actual_usd,
            tokens_saved: receipt
                .tokens_saved
                .and_then(|saved| i64::try_from(saved).ok()),
            ..ReceiptRow::default()
        },
        ended: event.ended.name().to_owned(),
        plan: report.and_then(|report| serde_json::to_string(report).ok()),
        ..Row::default()
    }
}

impl AuditSink for LedgerSink {
    fn record(&self, event: AuditEvent) {
        self.0.record(row(&event));
    }
}

/// The engine, with M7 off where the ledger says so for the workload `coding`.
#[derive(Debug)]
pub(crate) struct SwitchedEngine(pub(crate) watch::Receiver<Arc<Controls>>);

impl Engine for SwitchedEngine {
    fn prune<'a>(&self, body: &'a [u8], request: &Request<'_>, policy: &Policy) -> Outcome<'a> {
        let controls = Arc::clone(&self.0.borrow());
        let mut policy = policy.clone();
        if let Some(is_on) = controls.switch("coding", "m7") {
            policy.m7.enabled = is_on;
        }
        policy.m7.enabled &= !controls.is_retired("coding", "m7");
        CoreEngine.prune(body, request, &policy)
    }
}
