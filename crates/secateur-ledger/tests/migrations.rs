//! Ledgers of every earlier schema version are opened and found whole. A new version adds its fixture
//! here when it is released.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod suite;

use secateur_ledger::testing::Postgres;
use secateur_ledger::{Filter, GroupBy, Ledger, LedgerError};

const SQLITE: [&str; 2] = [
    include_str!("fixtures/v1.sqlite.sql"),
    include_str!("fixtures/v2.sqlite.sql"),
];
const POSTGRES: [&str; 2] = [
    include_str!("fixtures/v1.postgres.sql"),
    include_str!("fixtures/v2.postgres.sql"),
];

async fn is_whole(url: &str, spool: &std::path::Path) {
    let ledger = suite::open(url, spool).await;
    let rows = ledger.rows(&Filter::default(), None, 10).await.unwrap();
    let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["row-3", "row-2", "row-1", "row-0"]);
    let trouble = Filter {
        only_trouble: true,
        workload: Some("agent".into()),
        ..Filter::default()
    };
    assert_eq!(ledger.rows(&trouble, None, 10).await.unwrap().len(), 1);
    let totals = ledger
        .totals(&Filter::default(), GroupBy::Stack)
        .await
        .unwrap();
    assert_eq!(
        totals
            .iter()
            .map(|totals| totals.requests)
            .collect::<Vec<_>>(),
        [1, 3]
    );
    let holdout = ledger.holdout("agent", 0).await.unwrap();
    assert_eq!((holdout.held_sessions, holdout.pruned_sessions), (1, 1));
    assert!((holdout.held_mean_usd - 0.5).abs() < 1e-9);
    assert_eq!(ledger.scores("agent", "m7", 0, 5).await.unwrap().len(), 1);
    assert!(ledger.controls().borrow().is_retired("agent", "m3"));
    ledger.record(suite::row(5));
    ledger.close().await;
    let again = suite::open(url, spool).await;
    assert_eq!(
        again
            .rows(&Filter::default(), None, 10)
            .await
            .unwrap()
            .len(),
        5
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_sqlite_schema_is_brought_forward() {
    for fixture in SQLITE {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.db");
        rusqlite::Connection::open(&path)
            .unwrap()
            .execute_batch(fixture)
            .unwrap();
        is_whole(
            &format!("sqlite:{}", path.display()),
            &folder.path().join("spool"),
        )
        .await;
    }
}

fn run_in(url: &str, sql: &str) {
    let (url, sql) = (url.to_owned(), sql.to_owned());
    let run = move || {
        postgres::Client::connect(&url, postgres::NoTls)
            .unwrap()
            .batch_execute(&sql)
            .unwrap();
    };
    std::thread::spawn(run).join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_postgres_schema_is_brought_forward() {
    for fixture in POSTGRES {
        let folder = tempfile::tempdir().unwrap();
        let url = Postgres::shared().new_database();
        run_in(&url, fixture);
        is_whole(&url, &folder.path().join("spool")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_schema_is_refused_in_clear_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.db");
    let newer = "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL); INSERT INTO meta VALUES ('schema_version', '999');";
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch(newer)
        .unwrap();
    let url = Postgres::shared().new_database();
    run_in(&url, newer);
    for url in [format!("sqlite:{}", path.display()), url] {
        let opened = Ledger::open(suite::options(&url, &folder.path().join("spool"))).await;
        let Err(error @ LedgerError::NewerSchema { found: 999, .. }) = opened else {
            panic!("{opened:?}")
        };
        assert!(error.to_string().contains("at least as new"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_ledger_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.db");
    std::fs::write(
        &path,
        "this is not a database, it is a text of some length".repeat(50),
    )
    .unwrap();
    let url = format!("sqlite:{}", path.display());
    let error = Ledger::open(suite::options(&url, &folder.path().join("spool")))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("text.db"), "{error}");
    let missing = format!("sqlite:{}", folder.path().join("missing.db").display());
    assert!(
        Ledger::open_for_reading(&missing, None)
            .await
            .unwrap_err()
            .to_string()
            .contains("missing.db")
    );
}
