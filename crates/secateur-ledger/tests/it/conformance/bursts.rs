//! Rows as a busy proxy makes them: many to a millisecond, and in another order than they began.

use secateur_ledger::{After, Filter, Ledger, Row, id_time};

use super::plain_walk::{fits, has_these_pages, has_these_sums, newest_first, without_plans};
use super::settled;
use crate::burst;
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
    let gone = |at| After(id_time(at));
    for at in [0, burst - 200, burst + 1, rows[0].at, rows[0].at + 1] {
        let newer = rows.iter().filter(|row| row.at >= at);
        let nearest = newer.clone().count().saturating_sub(50);
        let wanted: Vec<Row> = newer.skip(nearest).cloned().collect();
        let found = ledger.rows_before(&Filter::default(), &gone(at), 50).await;
        assert_eq!(found.unwrap(), wanted, "{at}");
    }
}
