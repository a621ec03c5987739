//! Everything that a request leaves behind: log lines, metrics, traces, the audit event.
//!
//! **Invariant:** no credential and no prompt text passes through here. What is written comes from
//! [`AuditEvent`], which holds neither, and from configuration names.

mod headers;
mod ledger;
mod ledger_sink;
mod lines;
mod log;
mod metrics;
mod model_names;
mod otlp;
mod short_line;

use std::sync::Arc;

pub(crate) use headers::{HeadFacts, stamp};
pub(crate) use ledger::watch as watch_ledger;
pub use ledger_sink::LedgerSink;
pub use log::{Captured, Field, Log};
pub(crate) use metrics::CONTENT_TYPE;
pub(crate) use metrics::Metrics;
use metrics::Readings;
pub(crate) use model_names::ModelNames;
pub(crate) use otlp::Traces;

use secateur_ledger::{Ledger, Spending};

use crate::audit::SummaryOutcome;
use crate::audit::{AuditEvent, AuditSink};
use crate::audit::{Untouched, UntouchedRequests};
use crate::config::Config;
use crate::usage::Usage;

/// See the module.
#[derive(Debug)]
pub(crate) struct Surfaces {
    pub(crate) log: Log,
    pub(crate) metrics: Metrics,
    pub(crate) traces: Option<Traces>,
    pub(crate) sink: Arc<dyn AuditSink>,
    pub(crate) model_names: ModelNames,
    pub(crate) untouched: Arc<UntouchedRequests>,
}

impl Surfaces {
    /// A call for a summary came to its end.
    pub(crate) fn summary_call(
        &self,
        workload: &str,
        result: SummaryOutcome,
        usage: Option<&Usage>,
        took: std::time::Duration,
    ) {
        lines::write_summary_call(&self.log, workload, result, usage, took);
        self.metrics.summary_call(workload, result, usage);
    }

    /// The page of metrics.
    pub(crate) fn page(&self, buffered_bytes: usize, ledger: Option<&Ledger>) -> String {
        self.metrics.page(&Readings {
            buffered_bytes: buffered_bytes as u64,
            dropped_log_lines: self.log.dropped(),
            dropped_spans: self.traces.as_ref().map_or(0, Traces::dropped),
            ledger: ledger.map(Ledger::stats),
        })
    }

    /// A call that the proxy made for itself came to its end.
    pub(crate) fn spent(&self, spending: Spending) {
        if let Some(usd) = spending.usd {
            self.metrics
                .spent(&spending.workload, spending.purpose, usd);
        }
        self.sink.record_spending(spending);
    }

    /// A request is going to pass untouched because of its address. The first of each kind is a warning in the log.
    pub(crate) fn passes_untouched(&self, untouched: &Untouched, config: &Config) {
        if self.untouched.note(untouched) {
            let changing: Vec<&str> = config.changing_workloads().collect();
            lines::write_untouched(&self.log, untouched, &changing);
        }
    }

    /// Logs and traces have the model's name as the client gave it, what stays has not.
    pub(crate) fn record(&self, mut event: AuditEvent) {
        lines::write(&self.log, &event);
        if let Some(traces) = &self.traces {
            traces.record(&event);
        }
        self.model_names.settle(&mut event);
        self.metrics.record(&event);
        self.sink.record(&event);
    }
}
