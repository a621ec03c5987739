//! From audit events to rows of the ledger.

mod kinds;

use std::sync::Arc;
use std::time::Duration;

use secateur_core::Dialect;
use secateur_core::receipt::Basis;
use secateur_core::report::Report;
use secateur_ledger::moment::millis;
use secateur_ledger::{Alike, CompressRow, Figures, LatePlan, Ledger, Row, StepRow, UsageRow};

use serde::Serialize;

use self::kinds::with_likeness;
use crate::audit::{AuditEvent, AuditSink, CacheRead, FailOpen};

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
            None if is_plain(event) => {
                with_likeness(
                    event,
                    || alike(event, "", "").keep(),
                    |like| self.0.record_plain(&event.id, like, figures(event)),
                );
            }
            None => self.0.record(row(event)),
        }
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

/// Whether no mechanic looked at it: all there is to say then is what it has in common with others, and figures.
fn is_plain(event: &AuditEvent) -> bool {
    event.report.is_none()
        && event.session.is_none()
        && event.steps.is_empty()
        && event.stack.is_empty()
        && event.struck_stack.is_empty()
        && event.chars_before.is_none()
        && event.chars_after.is_none()
        && event.receipt.predicted.is_none()
}

/// `stack` and `struck_stack` are the event's, joined.
fn alike<'e>(event: &'e AuditEvent, stack: &'e str, struck_stack: &'e str) -> Alike<'e> {
    let predicted = event.receipt.predicted.as_ref();
    Alike {
        status: event.status,
        upstream_status: event.upstream_status,
        is_stream: event.is_stream,
        held_out: event.held_out,
        bypassed: event.bypassed,
        tokens_are_exact: predicted.is_some_and(|p| p.basis == Basis::Exact),
        workload: &event.workload,
        model: event.model.as_deref(),
        stack,
        provider: event.provider.name(),
        dialect: event.dialect.map(Dialect::name),
        key: event.key.as_deref(),
        ended: event.ended.name(),
        routed_to: event.routed_to.as_deref(),
        failed_open: event.failed_open.map(FailOpen::name),
        struck_stack,
        price_date: predicted.map(|p| p.price_date),
    }
}

fn figures(event: &AuditEvent) -> Figures {
    let mut figures = Figures::new(&event.id, millis(event.at));
    figures.bytes_before = event.bytes_before;
    figures.bytes_after = event.bytes_after;
    figures.response_bytes = event.response_bytes;
    figures.added_us = micros(event.added);
    figures.upstream_head_us = event.upstream_head.map(micros);
    figures.total_us = micros(event.total);
    figures.actual_usd = event.receipt.actual_usd;
    figures.actual_input_usd = event.receipt.actual_input_usd;
    if let Some(usage) = &event.usage {
        figures.usage = UsageRow {
            input: usage.input_tokens,
            cache_read: usage.cache_read_tokens,
            cache_write: usage.cache_write_tokens,
            output: usage.output_tokens,
        };
    }
    figures
}

fn row(event: &AuditEvent) -> Row {
    let report = event.report.as_deref();
    let is_changed = |report: &&Report| !event.stack.is_empty() && !report.stack.is_empty();
    let changed = report.filter(is_changed);
    let (stack, struck_stack) = (event.stack.join("+"), event.struck_stack.join("+"));
    let mut row = alike(event, &stack, &struck_stack).row(&event.id, &figures(event));
    row.session.clone_from(&event.session);
    row.steps = steps(event);
    row.chars_before = event.chars_before;
    row.chars_after = event.chars_after;
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

    use secateur_ledger::{Filter, LedgerOptions};

    use super::*;
    use crate::audit::{Ended, Mechanic, Step};
    use crate::config::Provider;
    use crate::usage::Usage;

    fn event(number: u64) -> AuditEvent {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_794_787_200_000 + number);
        let id = format!("{:011x}{number:016x}", millis(at));
        let mut event = AuditEvent::at(at, id, "w".into(), Provider::Openai, None);
        event.model = Some("gpt-5".into());
        event.status = 200;
        event.upstream_status = Some(200);
        event.bytes_before = 1_000 + number;
        event.bytes_after = 1_000 + number;
        event.response_bytes = number;
        event.added = Duration::from_micros(number);
        event.upstream_head = Some(Duration::from_micros(2 * number));
        event.total = Duration::from_micros(3 * number);
        event.receipt.actual_usd = Some(0.5);
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
        event.settle();
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

    /// Each differs from a plain one in one thing.
    const CHANGES: [fn(&mut AuditEvent); 19] = [
        |_| (),
        |event| event.model = None,
        |event| event.key = Some("team".into()),
        |event| event.key = Some("mate".into()),
        |event| event.workload = "rag".into(),
        |event| event.status = 500,
        |event| event.provider = Provider::Gemini,
        |event| event.routed_to = Some("m".into()),
        |event| event.failed_open = Some(FailOpen::Engine),
        |event| event.bypassed = true,
        |event| event.held_out = true,
        |event| event.is_stream = true,
        |event| event.upstream_status = None,
        |event| event.ended = Ended::ClientGone,
        |event| event.dialect = Some(Dialect::OpenaiChat),
        |event| event.id = "not a number".into(),
        |event| {
            event.usage = Some(Usage {
                input_tokens: Some(7),
                ..Usage::default()
            });
        },
        // These are not plain.
        |event| event.session = Some("s".into()),
        |event| {
            event.stack = vec!["m7"];
            event.steps.push(Step {
                mechanic: Mechanic::M7,
                skipped: None,
            });
        },
    ];

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

    #[tokio::test]
    async fn a_plain_request_is_the_row_that_it_would_be_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("a.db").display());
        let options = LedgerOptions::new(&url, folder.path().join("spool"));
        let ledger = Ledger::open(options).await.unwrap();
        let sink = LedgerSink(ledger.clone());
        let mut wanted = Vec::new();
        for (number, change) in (0..).zip(CHANGES) {
            // The first of its like, and one like it.
            for number in [2 * number, 2 * number + 1] {
                let mut event = event(number);
                change(&mut event);
                if event.id.contains(' ') {
                    event.id = format!("{} {number}", event.id);
                }
                sink.record(&event);
                wanted.push(row(&event));
            }
        }
        // On a busy machine they may go by way of the spool.
        let mut found = Vec::new();
        for _ in 0..100 {
            ledger.flush().await;
            found = ledger.rows(&Filter::default(), None, 99).await.unwrap();
            if found.len() == wanted.len() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        found.reverse();
        assert_eq!(found, wanted);
        assert_eq!(CHANGES.len() - 2, {
            let plain = CHANGES.iter().filter(|change| {
                let mut event = event(1);
                change(&mut event);
                is_plain(&event)
            });
            plain.count()
        });
    }
}
