//! Prometheus metrics. Each is a field, so that one which nobody registered cannot be counted.

mod families;
mod record;

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use secateur_ledger::{LedgerStats, Purpose};

use self::families::{Families, labels};
use crate::audit::SummaryOutcome;
use crate::usage::Usage;

/// The media type of the page.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What is read from elsewhere when the page is made.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    /// Bytes of request bodies that are held in memory.
    pub(crate) buffered_bytes: u64,
    /// Log lines that were dropped.
    pub(crate) dropped_log_lines: u64,
    /// Spans of traces that were dropped.
    pub(crate) dropped_spans: u64,
    /// The ledger, where there is one.
    pub(crate) ledger: Option<LedgerStats>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    families: Families,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let families = Families::register(&mut registry);
        Self { registry, families }
    }
}

impl Metrics {
    pub(crate) fn request_started(&self) {
        self.families.in_flight.inc();
    }

    pub(crate) fn connections(&self, change: i64) {
        self.families.connections.inc_by(change);
    }

    pub(crate) fn connection_refused(&self, reason: &'static str) {
        let labels = labels([("reason", reason)]);
        self.families
            .connections_refused
            .get_or_create(&labels)
            .inc();
    }

    /// Requests that are under way.
    #[must_use]
    pub(crate) fn in_flight(&self) -> i64 {
        self.families.in_flight.get()
    }

    pub(crate) fn reloaded(&self, result: &'static str) {
        let labels = labels([("result", result)]);
        self.families.config_reloads.get_or_create(&labels).inc();
    }

    /// A call that the proxy made for itself was billed.
    pub(crate) fn spent(&self, workload: &str, purpose: Purpose, usd: f64) {
        let labels = labels([("workload", workload), ("purpose", purpose.name())]);
        self.families.spent_usd.get_or_create(&labels).inc_by(usd);
    }

    pub(crate) fn shadow_call(&self, workload: &str, stack: &str, result: &str) {
        let labels = labels([("workload", workload), ("stack", stack), ("result", result)]);
        self.families.shadow_calls.get_or_create(&labels).inc();
    }

    pub(crate) fn score(&self, workload: &str, stack: &str, scorer: &str, score: f64) {
        let labels = labels([("workload", workload), ("stack", stack), ("scorer", scorer)]);
        self.families.scores.get_or_create(&labels).inc();
        self.families.score_sum.get_or_create(&labels).inc_by(score);
    }

    pub(crate) fn stack_rolled_back(&self, workload: &str, stack: &str) {
        let labels = labels([("workload", workload), ("stack", stack)]);
        self.families.rollbacks.get_or_create(&labels).inc();
    }

    pub(crate) fn stack_warning(&self, workload: &str, stack: &str, signal: &str) {
        let labels = labels([("workload", workload), ("stack", stack), ("signal", signal)]);
        self.families.warnings.get_or_create(&labels).inc();
    }

    pub(crate) fn captured_texts(&self, workload: &str, result: &str, count: u64) {
        let labels = labels([("workload", workload), ("result", result)]);
        self.families
            .captured_texts
            .get_or_create(&labels)
            .inc_by(count);
    }

    pub(super) fn summary_call(
        &self,
        workload: &str,
        result: SummaryOutcome,
        usage: Option<&Usage>,
    ) {
        let of = labels([("workload", workload), ("result", result.name())]);
        self.families.summary_calls.get_or_create(&of).inc();
        for (kind, count) in usage.into_iter().flat_map(record::tokens) {
            let of = labels([("workload", workload), ("kind", kind)]);
            self.families
                .summary_tokens
                .get_or_create(&of)
                .inc_by(count);
        }
    }

    /// The page, in the OpenMetrics text format.
    #[must_use]
    pub(crate) fn page(&self, readings: &Readings) -> String {
        let mut page = String::new();
        // Writing to a String cannot fail.
        let _ = encode_registry(&mut page, &self.registry);
        let _ = encode_registry(&mut page, &read_now(readings));
        let _ = encode_eof(&mut page);
        page
    }
}

/// The values that are not counted here.
fn read_now(readings: &Readings) -> Registry {
    let mut registry = Registry::with_prefix("secateur");
    let mut gauge = |name: &str, help: &str, value: u64| {
        registry.register(name, help, ConstGauge::new(value));
    };
    gauge(
        "buffered_bytes",
        "Bytes of request bodies that are held in memory",
        readings.buffered_bytes,
    );
    if let Some(ledger) = &readings.ledger {
        for (name, help, value) in [
            (
                "ledger_up",
                "Whether the ledger's database accepts rows",
                u64::from(ledger.away.is_none()),
            ),
            (
                "ledger_spool_up",
                "Whether the spool accepted rows when it was last needed",
                u64::from(ledger.spool_away.is_none()),
            ),
            (
                "ledger_queued",
                "Rows in memory, neither in the database nor in the spool",
                ledger.queued,
            ),
            (
                "ledger_spooled",
                "Rows in the spool, not yet in the database",
                ledger.spooled,
            ),
        ] {
            gauge(name, help, value);
        }
    }
    let mut counter = |name: &str, help: &str, value: u64| {
        registry.register(name, help, ConstCounter::new(value));
    };
    counter(
        "log_lines_dropped",
        "Log lines that were dropped because the output was too slow",
        readings.dropped_log_lines,
    );
    counter(
        "spans_dropped",
        "Spans of traces that the collector did not take",
        readings.dropped_spans,
    );
    if let Some(ledger) = &readings.ledger {
        counter(
            "ledger_written",
            "Rows that the ledger's database has stored",
            ledger.written,
        );
        counter(
            "ledger_lost",
            "Rows that were lost: the queue and the spool were full, or the database cannot store them",
            ledger.lost,
        );
    }
    registry
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::audit::{AuditEvent, Ended};
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
        let page = metrics.page(&Readings::default());
        for line in [
            "secateur_requests_total{workload=\"a\\\"b\",key=\"\",dialect=\"other\",status=\"200\",ended=\"complete\"} 1",
            "secateur_chars_saved_total{workload=\"a\\\"b\"} 40",
            "secateur_added_latency_seconds_bucket{le=\"0.0001\",workload=\"a\\\"b\"} 1",
            "secateur_added_latency_seconds_count{workload=\"a\\\"b\"} 1",
            "secateur_in_flight_requests 0",
            "secateur_log_lines_dropped_total 0",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
        assert!(page.ends_with("# EOF\n"));
    }

    /// A family without a series is not on the page, so the page of a test cannot show that all are documented.
    #[test]
    fn every_metric_is_in_the_documentation_and_no_other() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
        let text = std::fs::read_to_string(path).unwrap();
        let listed: BTreeSet<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("| `secateur_")?.split('`').next())
            .map(|name| name.trim_end_matches("_total"))
            .collect();
        let page = Metrics::default().page(&Readings {
            ledger: Some(LedgerStats::default()),
            ..Readings::default()
        });
        let read_now = page
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE secateur_")?.split(' ').next());
        let names = families::NAMES.iter().copied().chain(read_now);
        let names: BTreeSet<&str> = names.map(|name| name.trim_end_matches("_total")).collect();
        assert_eq!(names, listed);
    }

    /// A cut can cost more than it saves at first, so that the sum can fall.
    #[test]
    fn saved_dollars_are_the_sum_of_gains_and_losses() {
        let metrics = Metrics::default();
        for saved in [0.5, -0.75] {
            let mut event = AuditEvent::new("r".into(), "w".into(), Provider::Openai, None);
            event.model = Some("m".into());
            (event.receipt.billed_usd, event.receipt.saved_usd) = (Some(1.0), Some(saved));
            metrics.record(&event);
        }
        let page = metrics.page(&Readings::default());
        for line in [
            "secateur_billed_usd_total{workload=\"w\",key=\"\",model=\"m\"} 2.0",
            "secateur_saved_usd_total{workload=\"w\",key=\"\",model=\"m\"} -0.25",
            "secateur_priced_requests_total{workload=\"w\"} 2",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
    }
}
