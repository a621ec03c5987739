//! From audit events to rows of the ledger.

use std::sync::Arc;
use std::time::Duration;

use secateur_core::receipt::Basis;
use secateur_core::report::Report;
use secateur_ledger::moment::millis;
use secateur_ledger::{
    CompressRow, LatePlan, Ledger, ReceiptRow, Row, Spending, StepRow, UsageRow,
};

use serde::Serialize;

use crate::audit::{AuditEvent, AuditSink, CacheRead};

/// Hands every event to the ledger, which never blocks.
#[derive(Clone, Debug)]
pub struct LedgerSink(pub Ledger);

impl AuditSink for LedgerSink {
    fn record(&self, event: &AuditEvent) {
        match &event.report {
            Some(report) => self.0.record_with_plan(row(event), plan(event, report)),
            None if is_implausible(event) => {
                let mark = || Some(MARK.to_owned());
                self.0
                    .record_with_plan(row(event), LatePlan::new(MARK.len(), mark));
            }
            None => self.0.record(row(event)),
        }
    }

    fn record_spending(&self, spending: Spending) {
        self.0.record_spending(spending);
    }
}

/// What is kept in the place of a plan where there is none and the provider's counts cannot be true.
const MARK: &str = "{\"usage_implausible\":true}";

fn is_implausible(event: &AuditEvent) -> bool {
    let usage = event.usage.as_ref();
    usage.is_some_and(|usage| usage.is_implausible)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// What there is to say of a request whether a mechanic looked at it or not.
fn plain_row(event: &AuditEvent) -> Row {
    let predicted = event.receipt.predicted.as_ref();
    let usage = event.usage.as_ref();
    Row {
        id: event.id.clone(),
        at: millis(event.at),
        workload: event.workload.to_string(),
        key: event.key.as_deref().map(str::to_owned),
        session: event.session.clone(),
        provider: event.provider.name().to_owned(),
        dialect: event.dialect.map(|dialect| dialect.name().to_owned()),
        model: event.model.as_deref().map(str::to_owned),
        routed_to: event.routed_to.as_deref().map(str::to_owned),
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
        upstream_status: event.upstream_status,
        status: event.status,
        is_stream: event.is_stream,
        response_bytes: event.response_bytes,
        added_us: micros(event.added),
        upstream_head_us: event.upstream_head.map(micros),
        total_us: micros(event.total),
        usage: usage.map_or_else(UsageRow::default, |usage| UsageRow {
            input: usage.input_tokens,
            cache_read: usage.cache_read_tokens,
            cache_write: usage.cache_write_tokens,
            output: usage.output_tokens,
        }),
        receipt: ReceiptRow {
            tokens_are_exact: predicted.is_some_and(|p| p.basis == Basis::Exact),
            price_date: predicted.map(|p| p.price_date.to_owned()),
            billed_usd: event.receipt.billed_usd,
            billed_input_usd: event.receipt.billed_input_usd,
            ..ReceiptRow::default()
        },
        ended: event.ended.name().to_owned(),
        ..Row::default()
    }
}

fn row(event: &AuditEvent) -> Row {
    let report = event.report.as_deref();
    let is_changed = |report: &&Report| !event.stack.is_empty() && !report.stack.is_empty();
    let changed = report.filter(is_changed);
    let mut row = plain_row(event);
    if let Some(report) = report {
        let sent = changed.map_or(&report.before, |changed| &changed.after);
        row.messages_before = Some(report.before.messages as u64);
        row.messages_after = Some(sent.messages as u64);
    }
    if let Some(report) = changed {
        row.turns_removed = report.turns_removed as u64;
        row.rag_kept = report.rag_kept as u64;
        row.rag_dropped = report.rag_dropped as u64;
        row.compress = report.compress.map(|compress| CompressRow {
            chars_before: compress.chars_before as u64,
            chars_after: compress.chars_after as u64,
        });
        row.first_edit_at = report.first_edit_at.map(|at| at as u64);
    }
    if !event.stack.is_empty() {
        row.receipt.tokens_saved = event.receipt.tokens_saved;
        row.receipt.saved_usd = event.receipt.saved_usd;
    }
    if let Some(predicted) = &event.receipt.predicted {
        row.receipt.predicted_tokens_before = Some(predicted.predicted_input_tokens_before as u64);
        row.receipt.predicted_tokens_after = Some(predicted.predicted_input_tokens_after as u64);
        row.receipt.predicted_cache_read = Some(predicted.predicted_cached_tokens_after as u64);
        row.receipt.predicted_cache_write = Some(predicted.predicted_written_tokens_after as u64);
        row.receipt.predicted_usd_without = predicted.predicted_usd_without;
        row.receipt.predicted_usd_with = predicted.predicted_usd_with;
        row.receipt.break_even_turns = changed.and(predicted.break_even_turns);
    }
    row
}

/// Bytes of JSON that a report, a cut and a skip come to, roughly.
const REPORT_BYTES: usize = 1024;
const CUT_BYTES: usize = 256;
const LEFT_BYTES: usize = 128;

/// What is kept of a request's plan: the report, and what was read from the cache in the end.
#[derive(Serialize)]
struct Plan<'r> {
    #[serde(flatten)]
    report: &'r Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_read: Option<CacheRead>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    usage_implausible: bool,
}

/// The plan as JSON, made by the ledger's own thread.
fn plan(event: &AuditEvent, report: &Arc<Report>) -> LatePlan {
    let (cache_read, usage_implausible) = (event.receipt.cache_read, is_implausible(event));
    let bytes = REPORT_BYTES + report.cuts.len() * CUT_BYTES + report.left.len() * LEFT_BYTES;
    let report = Arc::clone(report);
    LatePlan::new(bytes, move || {
        let plan = Plan {
            report: &report,
            cache_read,
            usage_implausible,
        };
        serde_json::to_string(&plan).ok()
    })
}

fn steps(event: &AuditEvent) -> Vec<StepRow> {
    let step = |step: &crate::audit::Step| StepRow {
        mechanic: step.mechanic.name().to_owned(),
        skipped: step.skipped.as_deref().map(str::to_owned),
    };
    event.steps.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use secateur_ledger::LedgerOptions;

    use super::*;
    use crate::config::Provider;
    use crate::usage::Usage;

    fn event(number: u64) -> AuditEvent {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_794_787_200_000 + number);
        let id = format!("{:011x}{number:016x}", millis(at));
        let mut event = AuditEvent::new(id, "w".into(), Provider::Openai, None);
        event.at = at;
        event.model = Some("gpt-5".into());
        event.status = 200;
        event.upstream_status = Some(200);
        event.bytes_before = 1_000 + number;
        event.bytes_after = 1_000 + number;
        event.response_bytes = number;
        event.added = Duration::from_micros(number);
        event.upstream_head = Some(Duration::from_micros(2 * number));
        event.total = Duration::from_micros(3 * number);
        event.receipt.billed_usd = Some(0.5);
        event
    }

    #[test]
    fn what_is_predicted_of_the_cache_is_kept_by_kind() {
        let body = serde_json::json!({"model": "claude-sonnet-4-5", "max_tokens": 9,
            "cache_control": {"type": "ephemeral"},
            "messages": [{"role": "user", "content": "word ".repeat(4_000)},
                {"role": "assistant", "content": "so"}, {"role": "user", "content": "more ".repeat(800)}]});
        let body = body.to_string();
        let request = secateur_core::Request::default();
        let policy = secateur_core::policy::Policy::default();
        let report = secateur_core::prune(body.as_bytes(), &request, &policy).report;
        let mut event = event(1);
        event.model = Some("claude-sonnet-4-5".into());
        event.report = Some(Arc::new(report));
        event.usage = Some(Usage {
            input_tokens: Some(9_000),
            cache_read_tokens: Some(7_500),
            ..Usage::default()
        });
        let event = event.settle();
        let plan = Plan {
            report: event.report.as_deref().unwrap(),
            cache_read: event.receipt.cache_read,
            usage_implausible: false,
        };
        let plan = serde_json::to_value(plan).unwrap();
        assert_eq!(
            plan["cache_read"]["summary"],
            "read 7,500: the marker reached an entry at message 0"
        );
        assert!(plan["cuts"].is_array(), "{plan}");
        let receipt = row(&event).receipt;
        let (read, written) = (
            receipt.predicted_cache_read.unwrap(),
            receipt.predicted_cache_write.unwrap(),
        );
        assert!(
            read > 7_000 && (1_500..2_000).contains(&written),
            "{receipt:?}"
        );
        // The brackets after the last block are in no block.
        let rest = receipt.predicted_tokens_after.unwrap() - read - written;
        assert!(rest < 10, "{receipt:?}");
    }

    /// The mark was in the log and the metrics alone.
    #[tokio::test]
    async fn counts_that_cannot_be_true_are_marked_on_their_row() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("a.db").display());
        let options = LedgerOptions::new(&url, folder.path().join("spool"));
        let ledger = Ledger::open(options).await.unwrap();
        let mut event = event(1);
        event.usage = Some(Usage {
            is_implausible: true,
            ..Usage::default()
        });
        LedgerSink(ledger.clone()).record(&event);
        let mut found = None;
        for _ in 0..100 {
            ledger.flush().await;
            found = ledger.row(&event.id).await.unwrap();
            if found.is_some() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(found.unwrap().plan.as_deref(), Some(MARK));
    }
}
