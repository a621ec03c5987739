//! Ledgers of every earlier schema version are opened and found whole. A new version adds its fixture
//! here when it is released.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod suite;

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use secateur_ledger::testing::Postgres;
use secateur_ledger::{Filter, GroupBy, Ledger, LedgerError, Recalled};

struct Fixture {
    sqlite: &'static str,
    postgres: &'static str,
    /// Its rows, the newest first.
    ids: [&'static str; 4],
    /// Whether it has a plan with its newest row, a switch, an event and a captured text too.
    has_texts: bool,
}

const FIXTURES: [Fixture; 5] = [
    Fixture {
        sqlite: include_str!("fixtures/v1.sqlite.sql"),
        postgres: include_str!("fixtures/v1.postgres.sql"),
        ids: ["row-3", "row-2", "row-1", "row-0"],
        has_texts: false,
    },
    Fixture {
        sqlite: include_str!("fixtures/v2.sqlite.sql"),
        postgres: include_str!("fixtures/v2.postgres.sql"),
        ids: ["row-3", "row-2", "row-1", "row-0"],
        has_texts: false,
    },
    // SQLite keeps ids of two kinds from here on: those that begin with their row's time, and others.
    Fixture {
        sqlite: include_str!("fixtures/v3.sqlite.sql"),
        postgres: include_str!("fixtures/v3.postgres.sql"),
        ids: [
            "1a1e1a757b8fffffffffffffffc",
            "1a1e1a753d0fffffffffffffffd",
            "row-1",
            "row-0",
        ],
        has_texts: true,
    },
    // And rows in bundles.
    Fixture {
        sqlite: include_str!("fixtures/v4.sqlite.sql"),
        postgres: include_str!("fixtures/v4.postgres.sql"),
        ids: [
            "1a1e1a757b8fffffffffffffffc",
            "1a1e1a753d0fffffffffffffffd",
            "row-1",
            "1a1e1a74c000000000000000007",
        ],
        has_texts: true,
    },
    // Which are packed. PostgreSQL has none, and is as it was.
    Fixture {
        sqlite: include_str!("fixtures/v5.sqlite.sql"),
        postgres: concat!(
            include_str!("fixtures/v4.postgres.sql"),
            "UPDATE meta SET value = '5' WHERE name = 'schema_version';"
        ),
        ids: [
            "1a1e1a757b8fffffffffffffffc",
            "1a1e1a753d0fffffffffffffffd",
            "row-1",
            "1a1e1a74c000000000000000007",
        ],
        has_texts: true,
    },
];

async fn is_whole(url: &str, spool: &Path, fixture: &Fixture) {
    let ledger = suite::open(url, spool).await;
    let rows = ledger.rows(&Filter::default(), None, 10).await.unwrap();
    let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, fixture.ids);
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
    if fixture.has_texts {
        has_its_texts(&ledger, fixture.ids).await;
    }
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

async fn has_its_texts(ledger: &Ledger, ids: [&str; 4]) {
    let [newest, .., oldest] = ids;
    let row = ledger.row(newest).await.unwrap().unwrap();
    assert_eq!(row.plan.as_deref(), Some("{\"cuts\":[3]}"));
    assert_eq!((row.bytes_before, row.bytes_after), (10_001, 8_001));
    assert_eq!((row.turns_removed, row.steps.len()), (10, 2));
    assert_eq!(row.receipt.price_date.as_deref(), Some("2026-09-01"));
    let row = ledger.row(oldest).await.unwrap().unwrap();
    assert_eq!((row.bytes_before, row.bytes_after), (10_001, 10_001));
    assert_eq!((row.steps.len(), row.plan), (0, None));
    let text = ledger.recall("agent", "cut-1").await.unwrap();
    assert!(
        matches!(&text, Recalled::Text { text, request, .. } if text == "what was cut" && request == "row-1"),
        "{text:?}"
    );
    assert_eq!(
        ledger.controls().borrow().switch("agent", "m8"),
        Some(false)
    );
    let events = ledger.stack_events(Some("agent"), 0).await.unwrap();
    assert_eq!(events.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_sqlite_schema_is_brought_forward() {
    for fixture in &FIXTURES {
        let folder = tempfile::tempdir().unwrap();
        let path = old_sqlite(folder.path(), fixture.sqlite);
        is_whole(
            &format!("sqlite:{}", path.display()),
            &folder.path().join("spool"),
            fixture,
        )
        .await;
    }
}

/// Somebody else who is at the database until let go, on a thread of their own: bringing it forward takes as long.
struct Other {
    lets_go: mpsc::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl Other {
    /// `at_it` says when it has the database, and waits to be let go.
    fn begin(at_it: impl FnOnce(&dyn Fn()) + Send + 'static) -> Self {
        let (lets_go, go) = mpsc::channel();
        let (has_it, is_held) = mpsc::channel();
        let hold = move || {
            has_it.send(()).unwrap();
            // An error lets go as well.
            let _ = go.recv();
        };
        let thread = std::thread::spawn(move || at_it(&hold));
        is_held.recv().unwrap();
        Self { lets_go, thread }
    }

    fn at_sqlite(path: &Path) -> Self {
        let other = rusqlite::Connection::open(path).unwrap();
        Self::begin(move |hold| {
            other.execute_batch("BEGIN IMMEDIATE").unwrap();
            hold();
            other.execute_batch("ROLLBACK").unwrap();
        })
    }

    fn at_postgres(url: &str) -> Self {
        let url = url.to_owned();
        Self::begin(move |hold| {
            let mut other = postgres::Client::connect(&url, postgres::NoTls).unwrap();
            let lock = "BEGIN; LOCK TABLE audit IN ROW EXCLUSIVE MODE";
            other.batch_execute(lock).unwrap();
            hold();
            other.batch_execute("ROLLBACK").unwrap();
        })
    }

    fn let_go(self) {
        drop(self.lets_go);
        self.thread.join().unwrap();
    }
}

async fn rows_wait_until_it_is_brought_forward(url: &str, spool: &Path, other: Other) {
    let ledger = suite::open(url, spool).await;
    assert!(ledger.is_moving());
    assert!(ledger.controls().borrow().is_retired("agent", "m3"));
    let refused = ledger.rows(&Filter::default(), None, 10).await;
    assert!(
        matches!(refused, Err(LedgerError::OlderSchema { .. })),
        "{refused:?}"
    );
    ledger.record(suite::row(5));
    ledger.flush().await;
    assert_eq!(ledger.stats().spooled, 1);
    other.let_go();
    assert_eq!(ledger.moved().await, Ok(()));
    assert!(!ledger.is_moving());
    has_the_row_that_waited(&ledger).await;
    ledger.close().await;
}

/// Beside the fixture's four.
async fn has_the_row_that_waited(ledger: &Ledger) {
    let mut rows = Vec::new();
    for _ in 0..200 {
        rows = ledger.rows(&Filter::default(), None, 10).await.unwrap();
        if rows.len() > 4 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(rows.len(), 5, "{:?}", ledger.stats());
}

fn old_sqlite(folder: &Path, fixture: &str) -> PathBuf {
    let path = folder.join("old.db");
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(fixture).unwrap();
    old.pragma_update(None, "journal_mode", "WAL").unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_takes_long_to_bring_forward_holds_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = old_sqlite(folder.path(), FIXTURES[1].sqlite);
    let (sqlite, spool) = (
        format!("sqlite:{}", path.display()),
        folder.path().join("spool"),
    );
    rows_wait_until_it_is_brought_forward(&sqlite, &spool, Other::at_sqlite(&path)).await;
    let postgres = Postgres::shared().new_database();
    run_in(&postgres, FIXTURES[0].postgres);
    let (other, spool) = (
        Other::at_postgres(&postgres),
        folder.path().join("another spool"),
    );
    rows_wait_until_it_is_brought_forward(&postgres, &spool, other).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_does_not_wait_for_a_ledger_that_is_brought_forward() {
    let folder = tempfile::tempdir().unwrap();
    let url = Postgres::shared().new_database();
    run_in(&url, FIXTURES[0].postgres);
    let other = Other::at_postgres(&url);
    let spool = folder.path().join("spool");
    let ledger = suite::open(&url, &spool).await;
    ledger.record(suite::row(5));
    let closed = tokio::time::timeout(Duration::from_secs(5), ledger.close()).await;
    assert!(closed.is_ok());
    other.let_go();
    let again = suite::open(&url, &spool).await;
    assert_eq!(again.moved().await, Ok(()));
    // Here the first one's thread lives on, and brings it home.
    has_the_row_that_waited(&again).await;
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
    for fixture in &FIXTURES {
        let folder = tempfile::tempdir().unwrap();
        let url = Postgres::shared().new_database();
        run_in(&url, fixture.postgres);
        is_whole(&url, &folder.path().join("spool"), fixture).await;
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
