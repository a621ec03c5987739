//! What one request adds to the metrics.

use std::collections::HashMap;

use secateur_core::Dialect;

use super::Metrics;
use super::families::labels;
use crate::audit::{AuditEvent, Ended, Untouched, reason_name};
use crate::usage::Usage;

/// The kinds of tokens that a provider counted, and how many.
pub(super) fn tokens(usage: &Usage) -> impl Iterator<Item = (&'static str, u64)> {
    let kinds = [
        ("input", usage.input_tokens),
        ("cache_read", usage.cache_read_tokens),
        ("cache_write", usage.cache_write_tokens),
        ("output", usage.output_tokens),
    ];
    kinds
        .into_iter()
        .filter_map(|(kind, count)| Some((kind, count?)))
}

impl Metrics {
    /// The model's name is one of a bounded number by now.
    pub(in crate::surface) fn record(&self, event: &AuditEvent) {
        self.families.in_flight.dec();
        self.record_request(event);
        self.record_changes(event);
        self.record_money(event);
        self.record_trouble(event);
    }

    fn record_request(&self, event: &AuditEvent) {
        let (all, workload) = (&self.families, &*event.workload);
        let status = event.status.to_string();
        let of = labels([
            ("workload", workload),
            ("key", event.key.as_deref().unwrap_or_default()),
            ("dialect", event.dialect.map_or("other", Dialect::name)),
            ("status", &status),
            ("ended", event.ended.name()),
        ]);
        all.requests.get_or_create(&of).inc();
        let of_workload = labels([("workload", workload)]);
        let response_bytes = all.response_bytes.get_or_create(&of_workload);
        response_bytes.inc_by(event.response_bytes);
        let added = all.added_latency.get_or_create(&of_workload);
        added.observe(event.added.as_secs_f64());
        let of_model = labels([
            ("workload", workload),
            ("model", event.model.as_deref().unwrap_or_default()),
        ]);
        for (family, took) in [
            (&all.first_byte, event.upstream_head),
            (&all.upstream, event.upstream_total),
        ] {
            if let Some(took) = took {
                family.get_or_create(&of_model).observe(took.as_secs_f64());
            }
        }
        if let Some(untouched) = &event.untouched {
            let family = match untouched {
                Untouched::UnknownWorkload(_) => &all.unknown_workloads,
                Untouched::NoWorkload => &all.no_workload,
            };
            family.get_or_create(&of_workload).inc();
        }
    }

    fn record_changes(&self, event: &AuditEvent) {
        let (all, workload) = (&self.families, &*event.workload);
        for step in &event.steps {
            let mechanic = step.mechanic.name();
            match &step.skipped {
                None => {
                    let of = labels([("workload", workload), ("mechanic", mechanic)]);
                    all.mechanics_applied.get_or_create(&of).inc();
                }
                Some(reason) => {
                    let of = labels([
                        ("workload", workload),
                        ("mechanic", mechanic),
                        ("reason", reason),
                    ]);
                    all.skips.get_or_create(&of).inc();
                }
            }
        }
        if let Some(report) = &event.report {
            // A plan can skip thousands of parts, for few reasons.
            let mut reasons = HashMap::new();
            for skip in &report.plan.skips {
                *reasons.entry(skip.reason).or_insert(0_u64) += 1;
            }
            for (reason, count) in reasons {
                let reason = reason_name(reason);
                let of = labels([("workload", workload), ("reason", &reason)]);
                all.plan_skips.get_or_create(&of).inc_by(count);
            }
        }
        let of = labels([("workload", workload)]);
        if let (Some(before), Some(after)) = (event.chars_before, event.chars_after) {
            let saved = before.saturating_sub(after);
            all.chars_saved.get_or_create(&of).inc_by(saved);
        }
        // A counter cannot fall; the ledger has the exact sum.
        if let Some(saved) = event.receipt.tokens_saved {
            let saved = u64::try_from(saved).unwrap_or(0);
            all.tokens_saved.get_or_create(&of).inc_by(saved);
        }
        if let Some(summary) = event.summary {
            let of = labels([("workload", workload), ("outcome", summary.name())]);
            all.summaries.get_or_create(&of).inc();
        }
    }

    fn record_money(&self, event: &AuditEvent) {
        let (all, workload) = (&self.families, &*event.workload);
        let key = event.key.as_deref().unwrap_or_default();
        let model = event.model.as_deref().unwrap_or_default();
        for (kind, count) in event.usage.iter().flat_map(tokens) {
            let of = labels([
                ("workload", workload),
                ("key", key),
                ("model", model),
                ("kind", kind),
            ]);
            all.tokens.get_or_create(&of).inc_by(count);
        }
        let of_workload = labels([("workload", workload)]);
        if let Some(money) = event.money() {
            let of = labels([("workload", workload), ("key", key), ("model", model)]);
            all.billed_usd.get_or_create(&of).inc_by(money.billed_usd);
            all.saved_usd.get_or_create(&of).inc_by(money.saved_usd);
            all.priced.get_or_create(&of_workload).inc();
        } else if event.is_unpriced() {
            all.unpriced.get_or_create(&of_workload).inc();
        }
        if let Some(cause) = event.receipt.cache_read.and_then(|read| read.miss) {
            let of = labels([("workload", workload), ("cause", cause.name())]);
            all.cache_misses.get_or_create(&of).inc();
        }
        let usage = event.usage.as_ref();
        if usage.is_some_and(|usage| usage.is_implausible) {
            all.implausible_usage.get_or_create(&of_workload).inc();
        }
    }

    fn record_trouble(&self, event: &AuditEvent) {
        let (all, workload) = (&self.families, &*event.workload);
        if let Some(reason) = event.failed_open {
            let of = labels([("workload", workload), ("reason", reason.name())]);
            all.failed_open.get_or_create(&of).inc();
        }
        if event.retried_original {
            let stack = event.struck_stack.join("+");
            let of = labels([("workload", workload), ("stack", &stack)]);
            all.retried_original.get_or_create(&of).inc();
        }
        let kind = match event.ended {
            Ended::UpstreamBroke | Ended::UpstreamStalled => Some(event.ended.name()),
            Ended::Refused(reason) if reason.starts_with("upstream") => Some(reason),
            _ if event.upstream_status.is_some_and(|status| status >= 500) => Some("status"),
            _ => None,
        };
        if let Some(kind) = kind {
            let of = labels([("workload", workload), ("kind", kind)]);
            all.upstream_errors.get_or_create(&of).inc();
        }
    }
}
