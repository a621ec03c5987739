//! What is cleared away, and by whom.

use std::time::Duration;

use crate::suite::{open, options, row};
use secateur_ledger::moment::{DAY_MS, now};
use secateur_ledger::{
    CaptureLimits, CapturedCut, Filter, Ledger, LedgerOptions, Recalled, Row, id_time,
};

const WEEKS: CaptureLimits = CaptureLimits {
    max_bytes: 1 << 20,
    max_age: Duration::from_secs(30 * 24 * 3600),
};

/// A ledger with a row of a hundred days ago, and a text of eight days ago that may be kept for thirty.
async fn aged(folder: &std::path::Path) -> String {
    let url = format!("sqlite:{}", folder.join("ledger.db").display());
    let ledger = open(&url, &folder.join("spool")).await;
    ledger.set_capture_limits("agent", WEEKS);
    let at = now() - 100 * DAY_MS;
    let id = id_time(at);
    ledger.record(Row { id, at, ..row(1) });
    ledger.flush().await;
    let cut = CapturedCut {
        id: "cut".into(),
        request: "request".into(),
        session: None,
        workload: "agent".into(),
        at: now() - 8 * DAY_MS,
        text: "the text".into(),
        after: None,
    };
    ledger.capture(vec![cut]).await.unwrap();
    ledger.close().await;
    url
}

/// Rows that are there, and whether the text is.
async fn left(ledger: &Ledger) -> (usize, bool) {
    // Housekeeping begins at once.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let rows = ledger.rows(&Filter::default(), None, 10).await.unwrap();
    let recalled = ledger.recall("agent", "cut").await.unwrap();
    (rows.len(), matches!(recalled, Recalled::Text { .. }))
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_comes_to_decide_clears_nothing_away() {
    let folder = tempfile::tempdir().unwrap();
    let url = aged(folder.path()).await;
    let mut visitor = LedgerOptions::new(&url, folder.path().join("other"));
    visitor.clears = false;
    visitor.capture_key = Some([7; 32]);
    let ledger = Ledger::open(visitor).await.unwrap();
    assert_eq!(left(&ledger).await, (1, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_whose_limits_a_process_does_not_know_go_with_the_rows() {
    let folder = tempfile::tempdir().unwrap();
    let url = aged(folder.path()).await;
    let spool = folder.path().join("other");
    let ledger = open(&url, &spool).await;
    assert_eq!(left(&ledger).await, (1, true));
    ledger.close().await;
    let mut month = options(&url, &spool);
    month.keep_days = 30;
    let ledger = Ledger::open(month).await.unwrap();
    assert_eq!(left(&ledger).await, (0, true));
    ledger.close().await;
    let mut week = options(&url, &spool);
    week.keep_days = 7;
    let ledger = Ledger::open(week).await.unwrap();
    assert_eq!(left(&ledger).await, (0, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_decided_is_read_without_writing() {
    let folder = tempfile::tempdir().unwrap();
    let url = aged(folder.path()).await;
    let ledger = open(&url, &folder.path().join("spool")).await;
    let switch = secateur_ledger::Switch {
        workload: "agent".into(),
        mechanic: "m7".into(),
        is_on: false,
        at: now(),
        by: "ada".into(),
    };
    ledger.set_switch(&switch).await.unwrap();
    ledger.close().await;
    let reader = Ledger::open_for_reading(&url, None).await.unwrap();
    assert_eq!(reader.controls().borrow().switches, [switch]);
}
