//! Pages, filters and sums as a plain walk over the rows gives them.

use std::collections::BTreeMap;

use secateur_ledger::{After, Filter, GroupBy, Ledger, Row, Totals};

use super::{DAY_MS, filled, settled};
use crate::suite::MONDAY;

/// The filter in plain words.
pub(crate) fn fits(filter: &Filter, row: &Row) -> bool {
    let is = |wanted: &Option<String>, found: &str| {
        wanted.as_deref().is_none_or(|wanted| wanted == found)
    };
    is(&filter.workload, &row.workload)
        && is(&filter.stack, &row.stack)
        && is(&filter.model, row.model.as_deref().unwrap_or_default())
        && is(&filter.session, row.session.as_deref().unwrap_or_default())
        && (!filter.only_trouble
            || row.status >= 400
            || row.status == 0
            || row.failed_open.is_some()
            || !row.struck_stack.is_empty())
        && (!filter.only_changed || !row.stack.is_empty())
        && filter.since.is_none_or(|since| row.at >= since)
        && filter.until.is_none_or(|until| row.at < until)
}

/// Every mix of filters.
pub(crate) fn filters() -> Vec<Filter> {
    let mut all = Vec::new();
    for mix in 0..256_u32 {
        let has = |bit: u32| mix & (1 << bit) != 0;
        all.push(Filter {
            workload: has(0).then(|| "agent".into()),
            stack: has(1).then(|| if has(7) { String::new() } else { "m7".into() }),
            model: has(2).then(|| "claude-a".into()),
            session: has(3).then(|| "session 30".into()),
            only_trouble: has(4),
            only_changed: has(5),
            since: has(6).then_some(MONDAY + 7 * 3_600_000),
            until: has(7).then_some(MONDAY + DAY_MS + 5 * 3_600_000),
        });
    }
    all
}

pub(crate) async fn pages_and_filters_agree_with_a_plain_walk(url: &str, folder: &std::path::Path) {
    let (ledger, rows) = filled(url, folder, 3_000).await;
    // Two rows of the same moment: the rest of the id decides.
    let twin = Row {
        id: format!("{}ffff", secateur_ledger::id_time(rows[2_999].at)),
        ..rows[2_999].clone()
    };
    ledger.record(twin.clone());
    ledger.flush().await;
    settled(&ledger).await;
    has_these_pages(&ledger, &newest_first(rows.into_iter().chain([twin]))).await;
}

/// In the list's order.
pub(crate) fn newest_first(rows: impl IntoIterator<Item = Row>) -> Vec<Row> {
    let mut rows: Vec<Row> = rows.into_iter().collect();
    rows.sort_by(|one, other| (other.at, &other.id).cmp(&(one.at, &one.id)));
    rows
}

pub(crate) fn without_plans(rows: &[Row]) -> Vec<Row> {
    let without = |row: &Row| Row {
        plan: None,
        ..row.clone()
    };
    rows.iter().map(without).collect()
}

/// Whatever the filter: the first pages, the way back from there, and with plans. The rows are newest first.
pub(crate) async fn has_these_pages(ledger: &Ledger, rows: &[Row]) {
    for filter in filters() {
        let fitting = rows.iter().filter(|row| fits(&filter, row));
        let wanted: Vec<Row> = fitting.take(28).cloned().collect();
        let with_plans = ledger.rows_with_plans(&filter, None, 28).await.unwrap();
        assert_eq!(with_plans, wanted, "{filter:?}");
        let wanted = without_plans(&wanted);
        let mut after = None;
        for page in wanted.chunks(7) {
            let found = ledger.rows(&filter, after.as_ref(), 7).await.unwrap();
            assert_eq!(found, page, "{filter:?}");
            after = found.last().map(After::from);
        }
        if let Some(last) = after.filter(|_| wanted.len() < 28) {
            let behind = ledger.rows(&filter, Some(&last), 7).await.unwrap();
            assert_eq!(behind, [], "{filter:?}");
        }
        let Some((last, mut newer)) = wanted.split_last() else {
            continue;
        };
        let mut before = After::from(last);
        loop {
            let found = ledger.rows_before(&filter, &before, 7).await.unwrap();
            let (rest, page) = newer.split_at(newer.len().saturating_sub(7));
            assert_eq!(found, page, "{filter:?}");
            let Some(first) = page.first() else {
                break;
            };
            (before, newer) = (After::from(first), rest);
        }
    }
}

pub(crate) fn plain_sums(rows: &[Row], filter: &Filter, by: GroupBy) -> BTreeMap<String, Totals> {
    let mut groups: BTreeMap<String, Totals> = BTreeMap::new();
    for row in rows.iter().filter(|row| fits(filter, row)) {
        let group = match by {
            GroupBy::All => String::new(),
            GroupBy::Workload => row.workload.clone(),
            GroupBy::Stack => row.stack.clone(),
            GroupBy::Model => row.model.clone().unwrap_or_default(),
            GroupBy::Key => row.key.clone().unwrap_or_default(),
            GroupBy::Day => secateur_ledger::day_of(row.at),
        };
        let sum = groups.entry(group.clone()).or_insert_with(|| Totals {
            group,
            ..Totals::default()
        });
        sum.requests += 1;
        sum.changed += u64::from(!row.stack.is_empty());
        sum.failed_open += u64::from(row.failed_open.is_some());
        sum.struck += u64::from(!row.struck_stack.is_empty());
        sum.errors += u64::from(row.status >= 400 || row.status == 0);
        sum.unpriced += u64::from(
            row.dialect.is_some()
                && (1..400).contains(&row.status)
                && row.receipt.billed_usd.is_none(),
        );
        sum.chars_before += row.chars_before.unwrap_or(0);
        sum.chars_after += row.chars_after.unwrap_or(0);
        sum.compress_chars_before += row.compress.map_or(0, |compress| compress.chars_before);
        sum.compress_chars_after += row.compress.map_or(0, |compress| compress.chars_after);
        sum.input_tokens += row.usage.input.unwrap_or(0);
        sum.cache_read_tokens += row.usage.cache_read.unwrap_or(0);
        sum.cache_write_tokens += row.usage.cache_write.unwrap_or(0);
        sum.output_tokens += row.usage.output.unwrap_or(0);
        sum.tokens_saved += row.receipt.tokens_saved.unwrap_or(0);
        sum.saved_usd += row.receipt.saved_usd.unwrap_or(0.0);
        let (without, with) = (
            row.receipt.predicted_usd_without,
            row.receipt.predicted_usd_with,
        );
        if let (Some(without), Some(with), Some(billed)) =
            (without, with, row.receipt.billed_input_usd)
        {
            sum.predicted_usd_without += without;
            sum.predicted_usd_with += with;
            sum.reconciled_usd += billed;
        }
        sum.billed_usd += row.receipt.billed_usd.unwrap_or(0.0);
        sum.net_negative += u64::from(row.receipt.saved_usd.unwrap_or(0.0) < 0.0);
        if let (Some(predicted), Some(billed)) =
            (row.receipt.predicted_tokens_after, row.usage.input)
        {
            sum.predicted_tokens += predicted;
            sum.predicted_cache_read_tokens += row.receipt.predicted_cache_read.unwrap_or(0);
            sum.predicted_cache_write_tokens += row.receipt.predicted_cache_write.unwrap_or(0);
            sum.billed_tokens += billed;
            sum.billed_cache_read_tokens += row.usage.cache_read.unwrap_or(0);
            sum.billed_cache_write_tokens += row.usage.cache_write.unwrap_or(0);
        }
        sum.added_us += row.added_us;
    }
    groups
}

/// Sums of money may differ in the last digits: they were added in another order.
pub(crate) fn rounded(totals: &Totals) -> Totals {
    let round = |usd: f64| (usd * 1e9).round() / 1e9;
    Totals {
        saved_usd: round(totals.saved_usd),
        predicted_usd_without: round(totals.predicted_usd_without),
        predicted_usd_with: round(totals.predicted_usd_with),
        reconciled_usd: round(totals.reconciled_usd),
        billed_usd: round(totals.billed_usd),
        ..totals.clone()
    }
}

pub(crate) async fn sums_agree_with_a_plain_walk(url: &str, folder: &std::path::Path) {
    let (ledger, rows) = filled(url, folder, 4_000).await;
    let edges = [
        (None, None),
        (Some(MONDAY), Some(MONDAY + 2 * DAY_MS)),
        (Some(MONDAY + 1), Some(MONDAY + 2 * DAY_MS + 1)),
        (Some(MONDAY + 5_000_000), Some(MONDAY + 6_000_000)),
        (Some(MONDAY + DAY_MS - 60_000), None),
    ];
    has_these_sums(&ledger, &rows, &edges).await;
}

/// Whatever the filter, from one edge to the other.
pub(crate) async fn has_these_sums(
    ledger: &Ledger,
    rows: &[Row],
    edges: &[(Option<i64>, Option<i64>)],
) {
    for filter in filters().into_iter().step_by(3) {
        for &(since, until) in edges {
            let filter = Filter {
                since,
                until,
                ..filter.clone()
            };
            for by in [
                GroupBy::All,
                GroupBy::Workload,
                GroupBy::Stack,
                GroupBy::Model,
                GroupBy::Key,
                GroupBy::Day,
            ] {
                let found = ledger.totals(&filter, by).await.unwrap();
                let wanted = plain_sums(rows, &filter, by);
                let found: Vec<Totals> = found.iter().map(rounded).collect();
                let wanted: Vec<Totals> = wanted.values().map(rounded).collect();
                assert_eq!(found, wanted, "{filter:?} {by:?}");
            }
        }
    }
}
