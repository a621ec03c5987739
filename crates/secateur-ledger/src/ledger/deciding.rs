//! What people and the canary decide.

use std::sync::Arc;

use tokio::sync::watch;

use super::Ledger;
use crate::control::{Controls, Retired, StackEvent, Switch};
use crate::decisions;
use crate::ended_sessions;
use crate::error::LedgerError;
use crate::moment::now;
use crate::read_pool::{self, publish};
use crate::row::Millis;
use crate::scores;
use crate::store::Store;

impl Ledger {
    /// Remembers that a session of the portal was ended, until it would have ended by itself.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn end_session(&self, id: &str, until: Millis) -> Result<(), LedgerError> {
        let id = id.to_owned();
        let keeper = &self.writing()?.keeper;
        read_pool::ask(keeper, move |store| {
            ended_sessions::end(store, &id, until, now())
        })
        .await
    }

    /// Switches a stack off. `false`: it was off already, and the event is not written again.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn retire(&self, retired: &Retired, event: &StackEvent) -> Result<bool, LedgerError> {
        let (retired, event) = (retired.clone(), event.clone());
        self.decide(move |store| decisions::retire(store, &retired, &event))
            .await
    }

    /// Switches a stack on again. `false`: it was not off.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn resume(
        &self,
        workload: &str,
        stack: &str,
        by: &str,
        at: Millis,
    ) -> Result<bool, LedgerError> {
        let (workload, stack, by) = (workload.to_owned(), stack.to_owned(), by.to_owned());
        self.decide(move |store| decisions::resume(store, &workload, &stack, &by, at))
            .await
    }

    /// Writes an event that switches nothing.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn warn(&self, event: &StackEvent) -> Result<(), LedgerError> {
        let event = event.clone();
        self.decide(move |store| scores::add_event(store, &event))
            .await
    }

    /// Switches a mechanic of a workload, over what the configuration says.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn set_switch(&self, switch: &Switch) -> Result<(), LedgerError> {
        let switch = switch.clone();
        self.decide(move |store| decisions::set_switch(store, &switch))
            .await
    }

    /// Lets the configuration decide again.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn clear_switch(&self, workload: &str, mechanic: &str) -> Result<(), LedgerError> {
        let (workload, mechanic) = (workload.to_owned(), mechanic.to_owned());
        self.decide(move |store| decisions::clear_switch(store, &workload, &mechanic))
            .await
    }

    /// What people and the canary decided. Own decisions show at once, those of other replicas within
    /// two seconds while the database answers.
    #[must_use]
    pub fn controls(&self) -> watch::Receiver<Arc<Controls>> {
        self.inner.controls.clone()
    }

    /// Writes, and shows the controls that result before it returns.
    async fn decide<T: Send + 'static>(
        &self,
        work: impl Fn(&mut dyn Store) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let writing = self.writing()?;
        let publisher = writing.publisher.clone();
        read_pool::ask(&writing.keeper, move |store| {
            let value = work(store)?;
            publish(&publisher, decisions::controls(store)?);
            Ok(value)
        })
        .await
    }
}
