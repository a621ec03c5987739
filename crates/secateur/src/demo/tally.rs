//! Sums of the audit events of one playing.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::command_error::CommandError;
use secateur_proxy::audit::{AuditEvent, AuditSink};

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) requests: usize,
    pub(super) chars_sent: u64,
    pub(super) input_tokens: u64,
    pub(super) cache_read_tokens: u64,
    pub(super) cost_usd: f64,
    pub(super) added_us_max: u128,
}

#[derive(Debug, Default)]
pub(super) struct Tallies(Mutex<Tally>);

impl AuditSink for Tallies {
    fn record(&self, event: &AuditEvent) {
        let mut tally = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tally.requests += 1;
        tally.chars_sent += event.chars_after.unwrap_or(event.bytes_after);
        tally.cost_usd += event.receipt.billed_usd.unwrap_or(0.0);
        tally.added_us_max = tally.added_us_max.max(event.added.as_micros());
        if let Some(usage) = &event.usage {
            tally.input_tokens += usage.input_tokens.unwrap_or(0);
            tally.cache_read_tokens += usage.cache_read_tokens.unwrap_or(0);
        }
    }
}

impl Tallies {
    /// The sums once all requests are in, and a fresh start.
    pub(super) async fn take(&self, requests: usize) -> Result<Tally, CommandError> {
        for _ in 0..500 {
            {
                let mut tally = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                if tally.requests >= requests {
                    return Ok(std::mem::take(&mut tally));
                }
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Err(CommandError::Demo(
            "some requests left no audit event".to_owned(),
        ))
    }
}
