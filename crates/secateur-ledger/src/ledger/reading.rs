//! Questions about rows, sums, scores and stacks.

use super::Ledger;
use crate::control::{Score, StackEvent};
use crate::ended_sessions;
use crate::error::LedgerError;
use crate::holdout;
use crate::listing::{self, Page, Towards};
use crate::query::{After, DayScore, Filter, GroupBy, Holdout, Totals};
use crate::row::{Millis, Row};
use crate::scores;
use crate::spending::{self, SpentDay};
use crate::totals;

impl Ledger {
    /// A page of rows, newest first, without their plans.
    ///
    /// # Errors
    /// The database does not answer; so for every question below.
    pub async fn rows(
        &self,
        filter: &Filter,
        after: Option<&After>,
        limit: u32,
    ) -> Result<Vec<Row>, LedgerError> {
        let (filter, after) = (filter.clone(), after.cloned());
        self.read(move |store| Page::new(&filter, after.as_ref(), limit).read(store))
            .await
    }

    /// The page of rows just before a place, newest first too: the nearest ones, not the newest.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn rows_before(
        &self,
        filter: &Filter,
        before: &After,
        limit: u32,
    ) -> Result<Vec<Row>, LedgerError> {
        let (filter, before) = (filter.clone(), before.clone());
        self.read(move |store| {
            let page = Page {
                towards: Towards::Newer,
                ..Page::new(&filter, Some(&before), limit)
            };
            page.read(store)
        })
        .await
    }

    /// A page of rows with their plans. These may be large (see `docs/ledger.md`): ask for few rows at once.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn rows_with_plans(
        &self,
        filter: &Filter,
        after: Option<&After>,
        limit: u32,
    ) -> Result<Vec<Row>, LedgerError> {
        let (filter, after) = (filter.clone(), after.cloned());
        self.read(move |store| {
            let page = Page {
                has_plans: true,
                ..Page::new(&filter, after.as_ref(), limit)
            };
            page.read(store)
        })
        .await
    }

    /// One row with its plan.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn row(&self, id: &str) -> Result<Option<Row>, LedgerError> {
        let id = id.to_owned();
        self.read(move |store| listing::one(store, &id)).await
    }

    /// Sums by group, ordered by the group's name.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn totals(&self, filter: &Filter, by: GroupBy) -> Result<Vec<Totals>, LedgerError> {
        let filter = filter.clone();
        self.read(move |store| totals::totals(store, &filter, by))
            .await
    }

    /// Held-out against pruned sessions that began at or after `since`.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn holdout(&self, workload: &str, since: Millis) -> Result<Holdout, LedgerError> {
        let workload = workload.to_owned();
        self.read(move |store| holdout::holdout(store, &workload, since))
            .await
    }

    /// Workloads that have rows.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn workloads(&self) -> Result<Vec<String>, LedgerError> {
        self.seen(GroupBy::Workload).await
    }

    /// The names that rows can be added up by.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn seen(&self, by: GroupBy) -> Result<Vec<String>, LedgerError> {
        self.read(move |store| listing::seen(store, by)).await
    }

    /// Scores of a stack, newest first.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn scores(
        &self,
        workload: &str,
        stack: &str,
        since: Millis,
        limit: u32,
    ) -> Result<Vec<Score>, LedgerError> {
        let (workload, stack) = (workload.to_owned(), stack.to_owned());
        self.read(move |store| scores::scores(store, &workload, &stack, since, limit))
            .await
    }

    /// Mean scores per day and stack, oldest day first.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn day_scores(
        &self,
        workload: &str,
        since: Millis,
    ) -> Result<Vec<DayScore>, LedgerError> {
        let workload = workload.to_owned();
        self.read(move |store| scores::day_scores(store, &workload, since))
            .await
    }

    /// What Secateur's own calls cost since then, by day, workload and purpose, the oldest day first. Calls are removed with
    /// the rows, after `keep_days`; the sums keep them.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn spent_by_day(
        &self,
        workload: Option<&str>,
        since: Millis,
    ) -> Result<Vec<SpentDay>, LedgerError> {
        let workload = workload.map(str::to_owned);
        self.read(move |store| spending::by_day(store, workload.as_deref(), since))
            .await
    }

    /// Whether a session of the portal was ended, here or elsewhere.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn is_session_ended(&self, id: &str) -> Result<bool, LedgerError> {
        let id = id.to_owned();
        self.read(move |store| ended_sessions::is_ended(store, &id))
            .await
    }

    /// What happened to stacks, newest first.
    ///
    /// # Errors
    /// See [`Ledger::rows`].
    pub async fn stack_events(
        &self,
        workload: Option<&str>,
        since: Millis,
    ) -> Result<Vec<StackEvent>, LedgerError> {
        let workload = workload.map(str::to_owned);
        self.read(move |store| scores::stack_events(store, workload.as_deref(), since))
            .await
    }
}
