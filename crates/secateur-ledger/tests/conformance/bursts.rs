//! Rows as a busy proxy makes them: in SQLite most of them lie in bundles.

use secateur_ledger::{After, Filter, Ledger, Row};

use crate::burst;
use crate::plain_walk::{fits, has_these_pages, has_these_sums, newest_first, without_plans};
use crate::settled;
use crate::suite::open;

async fn filled(url: &str, folder: &std::path::Path) -> (Ledger, Vec<Row>) {
    let ledger = open(url, &folder.join("spool")).await;
    let rows: Vec<Row> = (0..6_000).map(burst::row).collect();
    // Requests end in another order than they begin: what comes together is of many times.
    for part in 0..5 {
        let of_part = rows.iter().filter(|row| row.at % 5 == part);
        of_part.for_each(|row| ledger.record(row.clone()));
        ledger.flush().await;
        settled(&ledger).await;
    }
    (ledger, rows)
}

pub(crate) async fn bursts_of_rows_are_found_like_others(url: &str, folder: &std::path::Path) {
    let (ledger, rows) = filled(url, folder).await;
    let all = ledger.rows(&Filter::default(), None, 10_000).await.unwrap();
    assert_eq!(all.len(), rows.len());
    for row in rows.iter().step_by(97) {
        assert_eq!(ledger.row(&row.id).await.unwrap().as_ref(), Some(row));
    }
    let burst = rows[3_000].at;
    let edges = [
        (None, None),
        (Some(burst + 3), Some(burst + 200)),
        (Some(burst + 111), None),
        (None, Some(burst + 1)),
        (Some(burst + 1_000), Some(burst + 2_000)),
    ];
    has_these_sums(&ledger, &rows, &edges).await;
    for (since, until) in edges {
        let filter = Filter {
            workload: Some("rag".into()),
            since,
            until,
            ..Filter::default()
        };
        let found = ledger.rows(&filter, None, 10_000).await.unwrap().len();
        assert_eq!(found, rows.iter().filter(|row| fits(&filter, row)).count());
    }
    has_these_pages(&ledger, &newest_first(rows.clone())).await;
    if let Some(path) = url.strip_prefix("sqlite:") {
        plain_sql_finds_them(path, &rows);
    }
}

pub(crate) async fn the_way_back_shows_the_pages_of_the_way_there(
    url: &str,
    folder: &std::path::Path,
) {
    let (ledger, rows) = filled(url, folder).await;
    let rows = without_plans(&newest_first(rows));
    let burst = rows[3_000].at;
    let of_workload = Filter {
        workload: Some("rag".into()),
        ..Filter::default()
    };
    let in_time = Filter {
        since: Some(burst - 90),
        until: Some(burst + 101),
        ..Filter::default()
    };
    for (filter, limit) in [(Filter::default(), 251), (of_workload, 50), (in_time, 13)] {
        let fitting = rows.iter().filter(|row| fits(&filter, row));
        let wanted: Vec<Row> = fitting.cloned().collect();
        let size = usize::try_from(limit).unwrap();
        let mut pages: Vec<Vec<Row>> = Vec::new();
        loop {
            let last = pages.last().and_then(|page| page.last()).map(After::from);
            let page = ledger.rows(&filter, last.as_ref(), limit).await.unwrap();
            if page.is_empty() {
                break;
            }
            pages.push(page);
        }
        assert!(pages.len() > 5 && pages.concat() == wanted, "{filter:?}");
        let mut here = After::from(&wanted[wanted.len() - pages[pages.len() - 1].len()]);
        for page in pages.iter().rev().skip(1) {
            let found = ledger.rows_before(&filter, &here, limit).await.unwrap();
            assert!(found == *page, "{filter:?} before {here:?}");
            here = After::from(&page[0]);
        }
        assert_eq!(ledger.rows_before(&filter, &here, limit).await.unwrap(), []);
        // From any row, not only from where pages begin.
        for at in (0..wanted.len()).step_by(37) {
            let here = After::from(&wanted[at]);
            let found = ledger.rows_before(&filter, &here, limit).await.unwrap();
            assert!(found == wanted[at.saturating_sub(size)..at], "{here:?}");
        }
    }
    // Places whose row is gone.
    let gone = |at| After {
        at,
        id: format!("{at:011x}{:016x}", 0),
    };
    for at in [0, burst - 200, burst + 1, rows[0].at, rows[0].at + 1] {
        let newer = rows.iter().filter(|row| row.at >= at);
        let nearest = newer.clone().count().saturating_sub(50);
        let wanted: Vec<Row> = newer.skip(nearest).cloned().collect();
        let found = ledger.rows_before(&Filter::default(), &gone(at), 50).await;
        assert_eq!(found.unwrap(), wanted, "{at}");
    }
}

/// What anybody sees who opens the file: every row, though most lie in bundles.
pub(crate) fn plain_sql_finds_them(path: &str, rows: &[Row]) {
    let file = rusqlite::Connection::open(path).unwrap();
    let count = |sql: &str| file.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert!(count("SELECT COUNT(*) FROM audit_packed") > 4_000);
    let sql = "SELECT id || ' ' || at_ms || ' ' || workload || ' ' || model || ' ' || status || ' ' || bytes_after \
               || ' ' || COALESCE(upstream_head_us, '-') || ' ' || COALESCE(output_tokens, '-') \
               || ' ' || CAST(ROUND(COALESCE(actual_input_usd, -1) * 1e12) AS INTEGER) FROM audit ORDER BY at_ms, id";
    let mut all = file.prepare(sql).unwrap();
    let found: Vec<String> = all
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap();
    let count_or_dash =
        |count: Option<u64>| count.map_or("-".to_owned(), |count| count.to_string());
    let told = |row: &Row| {
        format!(
            "{} {} {} {} {} {} {} {} {}",
            row.id,
            row.at,
            row.workload,
            row.model.as_deref().unwrap_or_default(),
            row.status,
            row.bytes_after,
            count_or_dash(row.upstream_head_us),
            count_or_dash(row.usage.output),
            (row.receipt.actual_input_usd.unwrap_or(-1.0) * 1e12).round() as i64,
        )
    };
    assert_eq!(found, rows.iter().map(told).collect::<Vec<_>>());
    let sql = "SELECT actual_usd, actual_input_usd, input_tokens, cache_read_tokens, cache_write_tokens, response_bytes, \
               added_us, total_us FROM audit ORDER BY at_ms, id";
    let mut all = file.prepare(sql).unwrap();
    let mut found = all.query([]).unwrap();
    for row in rows {
        let told = found.next().unwrap().unwrap();
        let usd = |at| told.get::<_, Option<f64>>(at).unwrap();
        // To the last bit.
        let receipt = &row.receipt;
        assert_eq!(
            (usd(0), usd(1)),
            (receipt.actual_usd, receipt.actual_input_usd),
            "{row:?}"
        );
        let count = |at| {
            told.get::<_, Option<i64>>(at)
                .unwrap()
                .map(i64::cast_unsigned)
        };
        let usage = [row.usage.input, row.usage.cache_read, row.usage.cache_write];
        assert_eq!([2, 3, 4].map(count), usage, "{row:?}");
        let others = [row.response_bytes, row.added_us, row.total_us].map(Some);
        assert_eq!([5, 6, 7].map(count), others, "{row:?}");
    }
    let changed = rows.iter().filter(|row| !row.stack.is_empty()).count();
    assert_eq!(
        count("SELECT COUNT(*) FROM optimize_savings"),
        i64::try_from(changed).unwrap()
    );
}
