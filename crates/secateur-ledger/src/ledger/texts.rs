//! Text that was cut, kept and given back.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::Ledger;
use crate::captured::{self, CapturedCut, Recalled};
use crate::error::LedgerError;
use crate::moment::now;
use crate::opening::Limits;
use crate::options::CaptureLimits;
use crate::read_pool;

fn limits_of(limits: &Limits, workload: &str) -> Option<CaptureLimits> {
    let all = limits.lock().unwrap_or_else(PoisonError::into_inner);
    all.get(workload).copied()
}

impl Ledger {
    /// How much captured text a workload may keep. Holds for this process; replicas set the same.
    pub fn set_capture_limits(&self, workload: &str, limits: CaptureLimits) {
        let mut all = self
            .inner
            .limits
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.insert(workload.to_owned(), limits);
    }

    /// Keeps texts that were cut, encrypted, all or none of them. A second text with the same id in its
    /// workload changes nothing.
    ///
    /// # Errors
    /// There is no key, or see [`Ledger::rows`].
    pub async fn capture(&self, cuts: Vec<CapturedCut>) -> Result<(), LedgerError> {
        let seal = self.inner.seal.clone().ok_or(LedgerError::NoCaptureKey)?;
        let limits = Arc::clone(&self.inner.limits);
        let keeper = &self.writing()?.keeper;
        read_pool::ask(keeper, move |store| {
            let limits = |workload: &str| limits_of(&limits, workload).unwrap_or_default();
            captured::capture(store, &seal, limits, &cuts, now())
        })
        .await
    }

    /// Those of the ids whose text is kept for a workload.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn still_captured(
        &self,
        workload: &str,
        ids: Vec<String>,
    ) -> Result<Vec<String>, LedgerError> {
        let workload = workload.to_owned();
        self.read(move |store| captured::still_there(store, &workload, &ids))
            .await
    }

    /// Gives a text back by its id.
    ///
    /// # Errors
    /// The key is missing or another one, or see [`Ledger::rows`].
    pub async fn recall(&self, workload: &str, id: &str) -> Result<Recalled, LedgerError> {
        // Where this process knows no limits, what is there is there.
        let limits = limits_of(&self.inner.limits, workload).unwrap_or(CaptureLimits {
            max_bytes: u64::MAX,
            max_age: Duration::MAX,
        });
        let seal = self.inner.seal.clone();
        let (workload, id) = (workload.to_owned(), id.to_owned());
        self.read(move |store| {
            captured::recall(store, seal.as_deref(), limits, &workload, &id, now())
        })
        .await
    }

    /// What was cut first in a request and is still there.
    ///
    /// # Errors
    /// See [`Ledger::recall`].
    pub async fn captured_of(&self, request: &str) -> Result<Vec<CapturedCut>, LedgerError> {
        let (seal, request) = (self.inner.seal.clone(), request.to_owned());
        self.read(move |store| captured::captured_of(store, seal.as_deref(), &request))
            .await
    }
}
