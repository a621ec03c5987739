//! The log lines of a request.

use super::log::{Field, Log};
use super::short_line::short_line;
use crate::audit::SummaryOutcome;
use crate::audit::Untouched;
use crate::audit::{AuditEvent, Ended, Mechanic};
use crate::usage::Usage;

pub(super) fn write(log: &Log, event: &AuditEvent) {
    if log.is_off() {
        return;
    }
    write_warnings(log, event);
    if log.is_pretty() {
        return log.words(&short_line(event));
    }
    write_changes(log, event);
    write_request(log, event);
}

/// The warning when the first request passes untouched because of its address.
pub(super) fn write_untouched(log: &Log, untouched: &Untouched, pruning: &[&str]) {
    let pruning = pruning.join(", ");
    if log.is_pretty() {
        let what = match untouched {
            Untouched::NoWorkload => "a request to the bare base URL passed untouched".to_owned(),
            Untouched::UnknownWorkload(name) => {
                format!("there is no workload `{name}`: its requests pass untouched")
            }
        };
        let words = format!("warning: {what}. A base URL ends in /w/NAME; workloads: {pruning}");
        return log.words(&words);
    }
    let event = match untouched {
        Untouched::NoWorkload => "no_workload",
        Untouched::UnknownWorkload(_) => "unknown_workload",
    };
    let mut fields = vec![("workloads", Field::from(pruning))];
    if let Untouched::UnknownWorkload(name) = untouched {
        fields.push(("named", name.as_str().into()));
    }
    log.line("warn", event, &fields);
}

/// What was changed.
fn write_changes(log: &Log, event: &AuditEvent) {
    let id = || ("request_id", Field::from(event.id.as_str()));
    let workload = || ("workload", Field::from(&*event.workload));
    let report = event.report.as_deref();
    if let Some(report) = report.filter(|_| event.fired(Mechanic::M7)) {
        log.line(
            "info",
            "context_pruner_applied",
            &[
                id(),
                workload(),
                ("turns_removed", report.turns_removed.into()),
                ("rag_kept", report.rag_kept.into()),
                ("rag_dropped", report.rag_dropped.into()),
                ("messages_before", report.before.messages.into()),
                ("messages_after", report.after.messages.into()),
            ],
        );
    }
    let compress = report.and_then(|report| report.compress);
    if let Some(compress) = compress.filter(|_| event.fired(Mechanic::M3)) {
        log.line(
            "info",
            "compress_applied",
            &[
                id(),
                workload(),
                ("chars_before", compress.chars_before.into()),
                ("chars_after", compress.chars_after.into()),
                ("chars_saved", compress.chars_saved().into()),
                (
                    "pct_saved",
                    ((compress.pct_saved() * 100.0).round() / 100.0).into(),
                ),
                ("compress_system", compress.compress_system.into()),
                ("compress_user_turns", compress.compress_user_turns.into()),
            ],
        );
    }
}

/// What went wrong.
fn write_warnings(log: &Log, event: &AuditEvent) {
    let id = || ("request_id", Field::from(event.id.as_str()));
    let workload = || ("workload", Field::from(&*event.workload));
    if let Some(reason) = event.failed_open {
        let mut fields = vec![id(), workload(), ("reason", reason.name().into())];
        if let Some(time) = event.chain_time {
            fields.extend([
                ("waited_ms", millis(time.waited)),
                ("ran_ms", millis(time.ran)),
                ("budget_ms", millis(time.budget)),
                ("body_bytes", time.body_bytes.into()),
            ]);
        }
        log.line("warn", "failed_open", &fields);
    }
    if let Some(error) = &event.upstream_error {
        let error = ("error", Field::from(error.as_str()));
        let reason = ("reason", event.ended.name().into());
        log.line(
            "error",
            "upstream_failed",
            &[id(), workload(), reason, error],
        );
    }
    if event.retried_original {
        log.line(
            "warn",
            "retried_original",
            &[
                id(),
                workload(),
                ("stack", event.struck_stack.join("+").into()),
            ],
        );
    }
}

/// The request as a whole.
fn write_request(log: &Log, event: &AuditEvent) {
    let id = || ("request_id", Field::from(event.id.as_str()));
    let workload = || ("workload", Field::from(&*event.workload));
    let level = match event.ended {
        Ended::Complete if event.status < 500 => "info",
        _ => "warn",
    };
    let mut fields = vec![
        id(),
        workload(),
        ("provider", event.provider.name().into()),
        (
            "dialect",
            event
                .dialect
                .map_or("other", |dialect| dialect.name())
                .into(),
        ),
        ("stack", event.stack_name().into()),
        ("status", event.status.into()),
        ("ended", event.ended.name().into()),
        ("bytes_before", event.bytes_before.into()),
        ("bytes_after", event.bytes_after.into()),
        ("response_bytes", event.response_bytes.into()),
        ("added_ms", millis(event.added)),
        ("total_ms", millis(event.total)),
    ];
    if let Some(key) = &event.key {
        fields.push(("key", Field::from(&**key)));
    }
    if let Some(model) = &event.model {
        fields.push(("model", model.as_str().into()));
    }
    if let Some(model) = &event.routed_to {
        fields.push(("routed_to", model.as_str().into()));
    }
    if let Some(summary) = event.summary {
        fields.push(("summary", summary.name().into()));
    }
    if let Some(untouched) = &event.untouched {
        fields.push(("untouched", untouched.name().into()));
    }
    if event.bypassed {
        fields.push(("bypassed", true.into()));
    }
    let steps: Vec<String> = event
        .steps
        .iter()
        .map(|step| {
            format!(
                "{}:{}",
                step.mechanic.name(),
                step.skipped.as_deref().unwrap_or("applied")
            )
        })
        .collect();
    if !steps.is_empty() {
        fields.push(("steps", steps.join(",").into()));
    }
    if let Some(usage) = &event.usage {
        fields.extend(counts(usage));
        if usage.is_implausible {
            fields.push(("usage_implausible", true.into()));
        }
    }
    if let Some(read) = &event.receipt.cache_read {
        fields.push(("predicted_cache_read_tokens", read.predicted.into()));
        fields.push(("cache_read", read.describe().into()));
        if let Some(cause) = read.miss {
            fields.push(("cache_miss", cause.name().into()));
        }
    }
    let predicted = event.receipt.predicted;
    let costs = [
        (
            "predicted_usd_without",
            predicted.and_then(|p| p.predicted_usd_without),
        ),
        (
            "predicted_usd_with",
            predicted.and_then(|p| p.predicted_usd_with),
        ),
        ("cost_usd", event.receipt.billed_usd),
    ];
    for (name, usd) in costs {
        if let Some(usd) = usd {
            fields.push((name, ((usd * 1e8).round() / 1e8).into()));
        }
    }
    log.line(level, "request", &fields);
}

/// The line of a call for a summary.
pub(super) fn write_summary_call(
    log: &Log,
    workload: &str,
    result: SummaryOutcome,
    usage: Option<&Usage>,
    took: std::time::Duration,
) {
    let mut fields = vec![
        ("workload", Field::from(workload)),
        ("result", result.name().into()),
        ("took_ms", millis(took)),
    ];
    fields.extend(usage.into_iter().flat_map(counts));
    let level = match result {
        SummaryOutcome::Made => "info",
        _ => "warn",
    };
    log.line(level, "summary_call", &fields);
}

fn counts(usage: &Usage) -> impl Iterator<Item = (&'static str, Field)> {
    let counts = [
        ("input_tokens", usage.input_tokens),
        ("cache_read_tokens", usage.cache_read_tokens),
        ("cache_write_tokens", usage.cache_write_tokens),
        ("output_tokens", usage.output_tokens),
    ];
    counts
        .into_iter()
        .filter_map(|(name, count)| Some((name, count?.into())))
}

fn millis(duration: std::time::Duration) -> Field {
    Field::Number((duration.as_secs_f64() * 1e6).round() / 1e3)
}
