//! What nearly every request of a workload adds to the metrics, as plain numbers. Labels are made when
//! somebody asks for the page, and not for every request.

use std::sync::Arc;

use secateur_core::Dialect;

use crate::audit::{AuditEvent, Ended};
use crate::usage::Usage;

/// Adds to a family, under labels.
pub(super) type Add<'a> = dyn FnMut(&'static str, &[(&str, &str)], f64) + 'a;

/// The kinds of tokens, and how many of each a provider counted.
pub(super) fn tokens(usage: &Usage) -> [(&'static str, Option<u64>); 4] {
    [
        ("input", usage.input_tokens),
        ("cache_read", usage.cache_read_tokens),
        ("cache_write", usage.cache_write_tokens),
        ("output", usage.output_tokens),
    ]
}

/// One workload since the page was asked for.
#[derive(Debug)]
struct Tally {
    workload: Arc<str>,
    requests: Vec<(Option<Dialect>, u16, Ended, u64)>,
    /// Counts and their kinds; `None`: there were none.
    tokens: [Option<(&'static str, f64)>; 4],
    receipts: u64,
    usd: f64,
    response_bytes: u64,
}

impl Tally {
    fn new(workload: &Arc<str>) -> Self {
        Self {
            workload: Arc::clone(workload),
            requests: Vec::new(),
            tokens: [None; 4],
            receipts: 0,
            usd: 0.0,
            response_bytes: 0,
        }
    }

    fn record(&mut self, event: &AuditEvent) {
        let of = (event.dialect, event.status, event.ended);
        let is_it =
            |(dialect, status, ended, _): &&mut (_, _, _, u64)| (*dialect, *status, *ended) == of;
        match self.requests.iter_mut().find(is_it) {
            Some((.., count)) => *count += 1,
            None => self.requests.push((of.0, of.1, of.2, 1)),
        }
        if let Some(usage) = &event.usage {
            for (slot, (kind, count)) in self.tokens.iter_mut().zip(tokens(usage)) {
                if let Some(count) = count {
                    slot.get_or_insert((kind, 0.0)).1 += count as f64;
                }
            }
        }
        if let Some(usd) = event.receipt.billed_usd {
            self.usd += usd;
            self.receipts += 1;
        }
        self.response_bytes += event.response_bytes;
    }

    fn empty(self, add: &mut Add<'_>) {
        let workload = ("workload", &*self.workload);
        for (dialect, status, ended, count) in self.requests {
            let labels = [
                workload,
                ("dialect", dialect.map_or("other", Dialect::name)),
                ("status", &*status.to_string()),
                ("ended", ended.name()),
            ];
            add("secateur_requests_total", &labels, count as f64);
        }
        for (kind, count) in self.tokens.into_iter().flatten() {
            add("secateur_tokens_total", &[workload, ("kind", kind)], count);
        }
        if self.receipts > 0 {
            add("secateur_cost_usd_total", &[workload], self.usd);
            add("secateur_receipts_total", &[workload], self.receipts as f64);
        }
        let bytes = self.response_bytes as f64;
        add("secateur_response_bytes_total", &[workload], bytes);
    }
}

/// See the module. Few: one for each workload that had requests.
#[derive(Debug, Default)]
pub(super) struct Tallies(Vec<Tally>);

impl Tallies {
    pub(super) fn record(&mut self, event: &AuditEvent) {
        let workload = &event.workload;
        let known = self
            .0
            .iter()
            .position(|tally| Arc::ptr_eq(&tally.workload, workload))
            .or_else(|| self.0.iter().position(|tally| tally.workload == *workload));
        let at = known.unwrap_or_else(|| {
            self.0.push(Tally::new(workload));
            self.0.len() - 1
        });
        if let Some(tally) = self.0.get_mut(at) {
            tally.record(event);
        }
    }

    /// Hands over everything that was recorded since the last time.
    pub(super) fn empty(&mut self, add: &mut Add<'_>) {
        for tally in std::mem::take(&mut self.0) {
            tally.empty(add);
        }
    }
}
