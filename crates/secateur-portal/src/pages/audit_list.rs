//! The audit: rows, newest first, with filters in the address and links to the older and the newer ones.

use askama::Template;
use secateur_ledger::moment::Moment;
use secateur_ledger::{After, Row, Totals};

use super::list_query::{Hint, LEAST_REFRESH, ListQuery, Page, Seen};
use super::row_line::{RowLine, places};
use crate::numbers::{signed, thousands, usd};
use crate::shell::Shell;

/// What the ledger told.
pub(crate) struct ListData {
    pub(crate) rows: Vec<Row>,
    pub(crate) has_older: bool,
    pub(crate) workloads: Vec<String>,
    pub(crate) seen: Seen,
    /// Of all rows that fit, on whatever page, where that is at hand.
    pub(crate) totals: Option<Totals>,
}

/// All rows that fit, in sum.
struct Sum {
    requests: String,
    changed: String,
    tokens: String,
    billed: String,
    /// Requests that no sum of dollars has.
    unpriced: Option<String>,
    saved: String,
    is_loss: bool,
}

#[derive(Template)]
#[template(path = "audit_list.html")]
pub(crate) struct AuditListPage {
    shell: Shell,
    query: ListQuery,
    hints: Vec<Hint>,
    filters: usize,
    /// Workloads to choose from, with the chosen one among them.
    workloads: Vec<String>,
    seen: Seen,
    rows: Vec<RowLine>,
    sum: Option<Sum>,
    older: Option<String>,
    newer: Option<String>,
    newest: Option<String>,
    refresh_on: Option<String>,
    refresh_off: Option<String>,
    every: u32,
}

impl AuditListPage {
    pub(crate) fn of(query: ListQuery, hints: Vec<Hint>, data: ListData, shell: Shell) -> Self {
        let ListData {
            rows,
            has_older,
            mut workloads,
            mut seen,
            totals,
        } = data;
        let is_first = query.page == Page::First;
        let last = rows.last().filter(|_| has_older);
        let older = last.map(|row| query.href(&Page::After(After::from(row)), None));
        let first = rows.first().filter(|_| !is_first);
        let newer = first.map(|row| query.href(&Page::Before(After::from(row)), None));
        if !query.workload.is_empty() && !workloads.contains(&query.workload) {
            workloads.push(query.workload.clone());
        }
        seen.stacks.retain(|stack| !stack.is_empty());
        seen.models.retain(|model| !model.is_empty());
        let is_fresh = query.refresh.is_some();
        let places = places(&rows);
        Self {
            filters: query.count(),
            rows: rows
                .iter()
                .map(|row| RowLine::of(row, &query, places))
                .collect(),
            sum: totals.map(|totals| Sum {
                requests: thousands(totals.requests),
                changed: thousands(totals.changed),
                tokens: signed(totals.tokens_saved),
                billed: usd(totals.billed_usd),
                unpriced: (totals.unpriced > 0).then(|| thousands(totals.unpriced)),
                saved: usd(totals.saved_usd),
                is_loss: totals.saved_usd < 0.0,
            }),
            older,
            newer,
            newest: (!is_first).then(|| query.href(&Page::First, None)),
            refresh_on: (is_first && !is_fresh)
                .then(|| query.href(&Page::First, Some(LEAST_REFRESH))),
            refresh_off: is_fresh.then(|| query.href(&Page::First, None)),
            every: query.refresh.unwrap_or(LEAST_REFRESH),
            hints,
            workloads,
            seen,
            query,
            shell,
        }
    }

    /// When the oldest row on the page came in.
    fn reaches_back_to(&self) -> Option<Moment> {
        self.rows.last().map(|row| row.at)
    }
}
