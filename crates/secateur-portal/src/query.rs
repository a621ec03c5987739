//! What each page asks of the ledger.

use std::collections::{BTreeMap, BTreeSet};

use secateur_canary::Standing;
use secateur_ledger::moment::{DAY_MS, midnight};
use secateur_ledger::{Filter, GroupBy, Ledger, LedgerError, Millis, Row, Totals};

use crate::catalog::WorkloadInfo;
use crate::pages::list_query::Page;
use crate::pages::quality::{DAYS, QualityData, is_judged};
use crate::pages::quality_list::QualityBrief;
use crate::pages::start::StartData;

/// Rows on a page of the audit.
const PAGE_ROWS: u32 = 50;
/// Rows in the chart of the context's size.
const RECENT_ROWS: u32 = 120;
/// Scores of each stack that are drawn one by one.
const RECENT_SCORES: u32 = 400;
/// Stacks whose scores are drawn.
const MAX_STACKS: usize = 6;

fn since(now: Millis, days: u32) -> Millis {
    midnight(now) - i64::from(days - 1) * DAY_MS
}

async fn recent(ledger: &Ledger, filter: &Filter) -> Result<Vec<Row>, LedgerError> {
    ledger.rows(filter, None, RECENT_ROWS).await
}

/// The rows of a page of the audit, and whether there are older ones. `None`: the newer ones fit on the first page.
pub(crate) async fn audit_page(
    ledger: &Ledger,
    filter: &Filter,
    page: &Page,
) -> Result<Option<(Vec<Row>, bool)>, LedgerError> {
    // One more tells whether the list goes on.
    let more = PAGE_ROWS + 1;
    let after = match page {
        Page::First => None,
        Page::After(place) => Some(place),
        Page::Before(place) => {
            let mut rows = ledger.rows_before(filter, place, more).await?;
            let goes_on = rows.len() > PAGE_ROWS as usize;
            return Ok(goes_on.then(|| (rows.split_off(1), true)));
        }
    };
    let mut rows = ledger.rows(filter, after, more).await?;
    let has_older = rows.len() > PAGE_ROWS as usize;
    rows.truncate(PAGE_ROWS as usize);
    Ok(Some((rows, has_older)))
}

/// All rows that fit, in sum.
pub(crate) async fn all(ledger: &Ledger, filter: &Filter) -> Result<Totals, LedgerError> {
    let groups = ledger.totals(filter, GroupBy::All).await?;
    Ok(groups.into_iter().next().unwrap_or_default())
}

/// For the list of workloads with their quality.
pub(crate) async fn briefs(
    ledger: &Ledger,
    names: Vec<String>,
    now: Millis,
) -> Result<Vec<QualityBrief>, LedgerError> {
    let from = since(now, DAYS);
    let weeks = Filter {
        since: Some(from),
        ..Filter::default()
    };
    let sums = ledger.totals(&weeks, GroupBy::Workload).await?;
    let mut briefs = Vec::with_capacity(names.len());
    for name in names {
        let totals = sums.iter().find(|totals| totals.group == name);
        briefs.push(QualityBrief {
            totals: totals.cloned().unwrap_or_default(),
            scores: ledger.day_scores(&name, from).await?,
            name,
        });
    }
    Ok(briefs)
}

/// For the start page.
pub(crate) async fn start(ledger: &Ledger, now: Millis) -> Result<StartData, LedgerError> {
    let today = Filter {
        since: Some(midnight(now)),
        ..Filter::default()
    };
    let weeks = Filter {
        since: Some(since(now, DAYS)),
        ..Filter::default()
    };
    Ok(StartData {
        today: all(ledger, &today).await?,
        workloads: ledger.totals(&today, GroupBy::Workload).await?,
        days: ledger.totals(&weeks, GroupBy::Day).await?,
        recent: recent(ledger, &Filter::default()).await?,
        events: ledger.stack_events(None, since(now, DAYS)).await?,
    })
}

/// For the quality page of a workload.
pub(crate) async fn quality(
    ledger: &Ledger,
    name: &str,
    info: Option<&WorkloadInfo>,
    now: Millis,
) -> Result<QualityData, LedgerError> {
    let from = since(now, DAYS);
    let only = Filter {
        workload: Some(name.to_owned()),
        ..Filter::default()
    };
    let weeks = Filter {
        since: Some(from),
        ..only.clone()
    };
    // The first days of the rolling ratio look back before the first day shown.
    let longer = Filter {
        since: Some(since(now, DAYS + 6)),
        ..only.clone()
    };
    let day_scores = ledger.day_scores(name, from).await?;
    let stacks: BTreeSet<&str> = day_scores
        .iter()
        .map(|score| score.stack.as_str())
        .collect();
    let mut scores = BTreeMap::new();
    for stack in stacks.into_iter().take(MAX_STACKS) {
        let found = ledger.scores(name, stack, from, RECENT_SCORES).await?;
        scores.insert(stack.to_owned(), found);
    }
    let totals = ledger.totals(&weeks, GroupBy::Stack).await?;
    let canary = info.and_then(|info| info.canary.clone());
    let mut standings = BTreeMap::new();
    if let Some(options) = &canary {
        let scored = day_scores.iter().map(|score| &*score.stack);
        let seen = totals.iter().map(|totals| &*totals.group);
        let names: BTreeSet<&str> = scored
            .chain(seen)
            .filter(|stack| is_judged(stack))
            .collect();
        for stack in names {
            let standing = Standing::of(ledger, options, name, stack, now).await;
            // The page has shown already whether the ledger answers.
            if let Ok(standing) = standing {
                standings.insert(stack.to_owned(), standing);
            }
        }
    }
    Ok(QualityData {
        workload: name.to_owned(),
        canary,
        standings,
        spent: ledger.spent_by_day(Some(name), from).await?,
        holdout_pct: info.map_or(0.0, |info| info.holdout_pct),
        days: ledger.totals(&longer, GroupBy::Day).await?,
        stacks: totals,
        scores,
        day_scores,
        events: ledger.stack_events(Some(name), from).await?,
        holdout: ledger.holdout(name, from).await?,
        recent: recent(ledger, &only).await?,
    })
}
