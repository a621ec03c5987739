//! Prometheus metrics, in the text format 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use secateur_core::internal::edit::SkipReason;

use super::tally::{Tallies, tokens};
use crate::audit::{AuditEvent, Ended};
use crate::summary::SummaryOutcome;
use crate::untouched::Untouched;
use crate::usage::Usage;

/// Upper bounds of the latency buckets, in seconds.
const BUCKETS: [f64; 10] = [
    0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.05, 0.1, 0.3, 1.0,
];

/// Name, help and kind of every family, in the order of the page.
const FAMILIES: [(&str, &str, &str); 29] = [
    (
        "secateur_requests_total",
        "counter",
        "Requests by workload, dialect, status and end.",
    ),
    (
        "secateur_mechanics_applied_total",
        "counter",
        "Mechanics that changed a request.",
    ),
    (
        "secateur_skips_total",
        "counter",
        "Mechanics that left a request alone, and why.",
    ),
    (
        "secateur_plan_skips_total",
        "counter",
        "Turns and parts that a strategy left alone, and why.",
    ),
    (
        "secateur_chars_saved_total",
        "counter",
        "Characters that were not sent.",
    ),
    (
        "secateur_tokens_saved_total",
        "counter",
        "Input tokens that were not sent, at each request's own ratio of tokens to characters.",
    ),
    (
        "secateur_tokens_total",
        "counter",
        "Tokens that providers counted, by kind.",
    ),
    (
        "secateur_cost_usd_total",
        "counter",
        "What requests cost at list prices, by the providers' counts.",
    ),
    (
        "secateur_receipts_total",
        "counter",
        "Requests with a priced receipt.",
    ),
    (
        "secateur_cache_misses_total",
        "counter",
        "Requests that read clearly less from the provider's cache than predicted, by cause.",
    ),
    (
        "secateur_failed_open_total",
        "counter",
        "Requests whose original went out although a mechanic was on, and why.",
    ),
    (
        "secateur_retried_original_total",
        "counter",
        "Requests whose mutated body the provider rejected, by the stack that struck.",
    ),
    (
        "secateur_upstream_errors_total",
        "counter",
        "Upstream responses of 500 and above, and requests without a whole response.",
    ),
    (
        "secateur_summaries_total",
        "counter",
        "Requests that missed a summary of a model, and what became of it.",
    ),
    (
        "secateur_summary_calls_total",
        "counter",
        "Calls for summaries, by their result.",
    ),
    (
        "secateur_summary_tokens_total",
        "counter",
        "Tokens that providers counted for summaries, by kind.",
    ),
    (
        "secateur_unknown_workloads_total",
        "counter",
        "Requests that named a workload that the configuration does not have.",
    ),
    (
        "secateur_no_workload_total",
        "counter",
        "Requests that named no workload and passed untouched, while other workloads change requests.",
    ),
    (
        "secateur_config_reloads_total",
        "counter",
        "Configuration files taken over or refused.",
    ),
    (
        "secateur_shadow_calls_total",
        "counter",
        "Changed requests that were chosen to be sent unchanged too, and what came of it.",
    ),
    (
        "secateur_shadow_usd_total",
        "counter",
        "What these calls cost in US dollars, at the model's prices and by the provider's counts.",
    ),
    (
        "secateur_canary_scores_total",
        "counter",
        "Scores by workload, stack and scorer; the stack `original` compares originals with themselves.",
    ),
    (
        "secateur_canary_score_sum_total",
        "counter",
        "The sum of these scores: divided by their number it is the mean.",
    ),
    (
        "secateur_stack_rollbacks_total",
        "counter",
        "Stacks that were switched off by themselves.",
    ),
    (
        "secateur_stack_warnings_total",
        "counter",
        "Signs of harm by workload, stack and signal.",
    ),
    (
        "secateur_response_bytes_total",
        "counter",
        "Bytes of responses.",
    ),
    (
        "secateur_connections_refused_total",
        "counter",
        "Connections beyond the limits or without a request, by reason.",
    ),
    (
        "secateur_implausible_usage_total",
        "counter",
        "Responses whose token counts cannot be true, by workload.",
    ),
    (
        "secateur_captured_texts_total",
        "counter",
        "Texts that were cut and are to be kept, by what became of them.",
    ),
];

type Labels = String;

#[derive(Debug, Default)]
struct Values {
    counters: BTreeMap<&'static str, BTreeMap<Labels, f64>>,
    labels: Labels,
    /// Not yet among the counters.
    tallies: Tallies,
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Metrics {
    values: Mutex<Values>,
    in_flight: AtomicI64,
    connections: AtomicI64,
}

impl Metrics {
    fn values(&self) -> MutexGuard<'_, Values> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn request_started(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn connections(&self, change: i64) {
        self.connections.fetch_add(change, Ordering::Relaxed);
    }

    pub(crate) fn connection_refused(&self, reason: &str) {
        let labels = [("reason", reason)];
        self.count("secateur_connections_refused_total", &labels, 1.0);
    }

    /// Requests that are under way.
    #[must_use]
    pub fn in_flight(&self) -> i64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(crate) fn reloaded(&self, result: &str) {
        self.values()
            .add("secateur_config_reloads_total", &[("result", result)], 1.0);
    }

    /// Adds to one of the families.
    pub(crate) fn count(&self, family: &'static str, labels: &[(&str, &str)], amount: f64) {
        self.values().add(family, labels, amount);
    }

    pub(super) fn summary_call(
        &self,
        workload: &str,
        result: SummaryOutcome,
        usage: Option<&Usage>,
    ) {
        let mut values = self.values();
        let labels = [("workload", workload), ("result", result.name())];
        values.add("secateur_summary_calls_total", &labels, 1.0);
        if let Some(usage) = usage {
            values.add_tokens("secateur_summary_tokens_total", workload, usage);
        }
    }

    pub(super) fn record(&self, event: &AuditEvent) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        let mut values = self.values();
        let workload = ("workload", &*event.workload);
        values.tallies.record(event);
        for step in &event.steps {
            let mechanic = ("mechanic", step.mechanic.name());
            match &step.skipped {
                None => values.add(
                    "secateur_mechanics_applied_total",
                    &[workload, mechanic],
                    1.0,
                ),
                Some(reason) => values.add(
                    "secateur_skips_total",
                    &[workload, mechanic, ("reason", reason)],
                    1.0,
                ),
            }
        }
        if let Some(report) = &event.report {
            // A plan can skip thousands of parts, for few reasons.
            let mut reasons: Vec<(SkipReason, f64)> = Vec::new();
            for skip in &report.plan.skips {
                match reasons
                    .iter_mut()
                    .find(|(reason, _)| *reason == skip.reason)
                {
                    Some((_, count)) => *count += 1.0,
                    None => reasons.push((skip.reason, 1.0)),
                }
            }
            for (reason, count) in reasons {
                let reason = crate::pipeline::reason_name(reason);
                let labels = [workload, ("reason", &*reason)];
                values.add("secateur_plan_skips_total", &labels, count);
            }
        }
        if let (Some(before), Some(after)) = (event.chars_before, event.chars_after) {
            values.add(
                "secateur_chars_saved_total",
                &[workload],
                before.saturating_sub(after) as f64,
            );
        }
        // A counter does not go back; what was added is in the ledger.
        if let Some(saved) = event.receipt.tokens_saved {
            let saved = saved.max(0) as f64;
            values.add("secateur_tokens_saved_total", &[workload], saved);
        }
        if let Some(cause) = event.receipt.cache_read.and_then(|read| read.miss) {
            let labels = [workload, ("cause", cause.name())];
            values.add("secateur_cache_misses_total", &labels, 1.0);
        }
        if let Some(summary) = event.summary {
            values.add(
                "secateur_summaries_total",
                &[workload, ("outcome", summary.name())],
                1.0,
            );
        }
        if let Some(untouched) = &event.untouched {
            let family = match untouched {
                Untouched::UnknownWorkload(_) => "secateur_unknown_workloads_total",
                Untouched::NoWorkload => "secateur_no_workload_total",
            };
            values.add(family, &[workload], 1.0);
        }
        if let Some(reason) = event.failed_open {
            values.add(
                "secateur_failed_open_total",
                &[workload, ("reason", reason.name())],
                1.0,
            );
        }
        if event
            .usage
            .as_ref()
            .is_some_and(|usage| usage.is_implausible)
        {
            values.add("secateur_implausible_usage_total", &[workload], 1.0);
        }
        if event.retried_original {
            let stack = event.struck_stack.join("+");
            values.add(
                "secateur_retried_original_total",
                &[workload, ("stack", &stack)],
                1.0,
            );
        }
        let kind = match event.ended {
            Ended::UpstreamBroke | Ended::UpstreamStalled => Some(event.ended.name()),
            Ended::Refused(reason) if reason.starts_with("upstream") => Some(reason),
            _ if event.upstream_status.is_some_and(|status| status >= 500) => Some("status"),
            _ => None,
        };
        if let Some(kind) = kind {
            values.add(
                "secateur_upstream_errors_total",
                &[workload, ("kind", kind)],
                1.0,
            );
        }
        values.observe(event.added.as_secs_f64());
    }

    /// The page.
    #[must_use]
    pub fn page(&self) -> String {
        let mut out = String::new();
        let mut values = self.values();
        values.empty_tallies();
        // Writing to a String cannot fail.
        for (name, kind, help) in FAMILIES {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in values.counters.get(name).into_iter().flatten() {
                let _ = writeln!(out, "{name}{{{labels}}} {value}");
            }
        }
        let name = "secateur_added_latency_seconds";
        let _ = writeln!(
            out,
            "# HELP {name} Time spent in the proxy before a request went out.\n# TYPE {name} histogram"
        );
        for (bound, count) in BUCKETS.iter().zip(values.buckets) {
            let _ = writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {count}");
        }
        let _ = writeln!(
            out,
            "{name}_bucket{{le=\"+Inf\"}} {}\n{name}_sum {}\n{name}_count {}",
            values.count, values.sum, values.count
        );
        drop(values);
        for (name, help, value) in [
            (
                "secateur_in_flight_requests",
                "Requests that are under way.",
                &self.in_flight,
            ),
            (
                "secateur_connections",
                "Client connections that are open.",
                &self.connections,
            ),
        ] {
            let value = value.load(Ordering::Relaxed);
            let _ = writeln!(
                out,
                "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}"
            );
        }
        out
    }
}

impl Values {
    fn empty_tallies(&mut self) {
        let mut tallies = std::mem::take(&mut self.tallies);
        tallies.empty(&mut |family, labels, amount| self.add(family, labels, amount));
    }

    fn add_tokens(&mut self, family: &'static str, workload: &str, usage: &Usage) {
        for (kind, count) in tokens(usage) {
            if let Some(count) = count {
                let labels = [("workload", workload), ("kind", kind)];
                self.add(family, &labels, count as f64);
            }
        }
    }

    fn add(&mut self, family: &'static str, labels: &[(&str, &str)], amount: f64) {
        // One text for all, because labels are nearly always known already.
        let mut text = std::mem::take(&mut self.labels);
        text.clear();
        for (at, (name, value)) in labels.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            text.push_str(name);
            text.push_str("=\"");
            escape_into(value, &mut text);
            text.push('"');
        }
        let family = self.counters.entry(family).or_default();
        match family.get_mut(text.as_str()) {
            Some(value) => *value += amount,
            None => {
                family.insert(text.clone(), amount);
            }
        }
        self.labels = text;
    }

    fn observe(&mut self, seconds: f64) {
        for (bound, count) in BUCKETS.iter().zip(&mut self.buckets) {
            *count += u64::from(seconds <= *bound);
        }
        self.count += 1;
        self.sum += seconds;
    }
}

fn escape_into(value: &str, out: &mut String) {
    if !value.contains(['"', '\\', '\n']) {
        return out.push_str(value);
    }
    for character in value.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            plain => out.push(plain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Provider;

    #[test]
    fn the_page_counts_what_was_recorded() {
        let metrics = Metrics::default();
        let mut event = AuditEvent::new("r".into(), "a\"b".into(), Provider::Openai, None);
        event.status = 200;
        event.ended = Ended::Complete;
        (event.chars_before, event.chars_after) = (Some(100), Some(60));
        metrics.request_started();
        metrics.record(&event);
        let page = metrics.page();
        for line in [
            "secateur_requests_total{workload=\"a\\\"b\",dialect=\"other\",status=\"200\",ended=\"complete\"} 1",
            "secateur_chars_saved_total{workload=\"a\\\"b\"} 40",
            "secateur_added_latency_seconds_bucket{le=\"0.0001\"} 1",
            "secateur_added_latency_seconds_count 1",
            "secateur_in_flight_requests 0",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
    }
}
