//! The ledger as the canary's store: all replicas on one ledger share scores and switches.

use std::sync::Arc;

use secateur_ledger::{
    Controls, Ledger, LedgerError, Millis, Retired, Score, StackEvent, StackEventKind,
};
use tokio::sync::watch;

use crate::store::{CanaryStore, Later, PastRequest, StoreError};

impl From<LedgerError> for StoreError {
    fn from(error: LedgerError) -> Self {
        Self(error.to_string())
    }
}

impl CanaryStore for Ledger {
    fn record_score(&self, score: Score) {
        Ledger::record_score(self, score);
    }

    fn scores<'s>(
        &'s self,
        workload: &'s str,
        stack: &'s str,
        since: Millis,
        limit: u32,
    ) -> Later<'s, Vec<Score>> {
        Box::pin(async move { Ok(Ledger::scores(self, workload, stack, since, limit).await?) })
    }

    fn resumed_at<'s>(&'s self, workload: &'s str, stack: &'s str) -> Later<'s, Option<Millis>> {
        Box::pin(async move {
            let events = self.stack_events(Some(workload), 0).await?;
            let is_it =
                |event: &&StackEvent| event.kind == StackEventKind::Resumed && event.stack == stack;
            Ok(events.iter().filter(is_it).map(|event| event.at).max())
        })
    }

    fn retire<'s>(&'s self, retired: &'s Retired, event: &'s StackEvent) -> Later<'s, bool> {
        Box::pin(async move { Ok(Ledger::retire(self, retired, event).await?) })
    }

    fn warn<'s>(&'s self, event: &'s StackEvent) -> Later<'s, ()> {
        Box::pin(async move { Ok(Ledger::warn(self, event).await?) })
    }

    fn request<'s>(&'s self, id: &'s str) -> Later<'s, Option<PastRequest>> {
        Box::pin(async move {
            let row = self.row(id).await?;
            Ok(row.map(|row| PastRequest {
                workload: row.workload,
                stack: row.stack,
            }))
        })
    }

    fn controls(&self) -> watch::Receiver<Arc<Controls>> {
        Ledger::controls(self)
    }
}
