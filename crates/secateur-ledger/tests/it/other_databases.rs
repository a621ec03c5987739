//! Databases that are not a ledger of this version: what is said of them, and that rows wait meanwhile.

use std::path::Path;
use std::time::Duration;

use crate::suite::{open, options, row};
use secateur_ledger::testing::{Postgres, eventually};
use secateur_ledger::{Filter, Ledger, LedgerError};

fn run_in(url: &str, sql: &str) {
    if let Some(path) = url.strip_prefix("sqlite:") {
        let file = rusqlite::Connection::open(path).unwrap();
        return file.execute_batch(sql).unwrap();
    }
    let (url, sql) = (url.to_owned(), sql.to_owned());
    let run = move || {
        postgres::Client::connect(&url, postgres::NoTls)
            .unwrap()
            .batch_execute(&sql)
            .unwrap();
    };
    std::thread::spawn(run).join().unwrap();
}

fn file_in(folder: &Path) -> String {
    format!("sqlite:{}", folder.join("ledger.db").display())
}

/// As development versions left it: packed rows in SQLite, and a schema version in both databases.
const PACKED: &str = "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL); \
    INSERT INTO meta VALUES ('schema_version', '5'); \
    CREATE TABLE audit_bundle (seq INTEGER PRIMARY KEY, last_seq INTEGER NOT NULL, entries TEXT NOT NULL);";

#[tokio::test(flavor = "multi_thread")]
async fn a_packed_ledger_is_refused_with_how_to_move_it_aside() {
    let folder = tempfile::tempdir().unwrap();
    let spool = folder.path().join("spool");
    for (url, remedy) in [
        (file_in(folder.path()), "rename the file"),
        (
            Postgres::shared().new_database(),
            "ALTER SCHEMA public RENAME TO old_ledger; CREATE SCHEMA public",
        ),
    ] {
        run_in(&url, PACKED);
        for opened in [
            Ledger::open(options(&url, &spool)).await,
            Ledger::open_for_reading(&url, None).await,
        ] {
            let Err(error @ LedgerError::OlderSchema { .. }) = opened else {
                panic!("{opened:?}")
            };
            let told = error.to_string();
            assert!(
                told.contains(remedy) && told.contains("a new ledger is made"),
                "{told}"
            );
        }
        // What the sentence says is all that is needed.
        match url.strip_prefix("sqlite:") {
            Some(path) => std::fs::rename(path, format!("{path}.old")).unwrap(),
            None => run_in(&url, remedy),
        }
        let ledger = open(&url, &spool).await;
        ledger.record(row(1));
        ledger.clone().close().await;
        let reader = Ledger::open_for_reading(&url, None).await.unwrap();
        assert!(reader.row(&row(1).id).await.unwrap().is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_schema_is_refused_in_clear_words() {
    let folder = tempfile::tempdir().unwrap();
    let newer = "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL); INSERT INTO meta VALUES ('schema_version', '999');";
    for url in [file_in(folder.path()), Postgres::shared().new_database()] {
        run_in(&url, newer);
        let opened = Ledger::open(options(&url, &folder.path().join("spool"))).await;
        let Err(error @ LedgerError::NewerSchema { found: 999, .. }) = opened else {
            panic!("{opened:?}")
        };
        assert!(error.to_string().contains("at least as new"), "{error}");
    }
}

/// The ledger opens and says what is wrong; a row waits in the spool, and is written once `repair` has been done.
async fn waits_until_repaired(url: &str, folder: &Path, words: &str, repair: impl FnOnce()) {
    let ledger = open(url, &folder.join("spool")).await;
    let told = ledger.stats().away.unwrap();
    assert!(told.contains(words), "{told}");
    ledger.record(row(5));
    ledger.flush().await;
    assert_eq!(ledger.stats().spooled, 1);
    assert!(ledger.rows(&Filter::default(), None, 1).await.is_err());
    repair();
    eventually("the row is written", Duration::from_secs(30), || {
        let stats = ledger.stats();
        stats.away.is_none() && stats.spooled == 0 && stats.written == 1
    });
    assert!(ledger.row(&row(5).id).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_database_is_said_so_and_rows_wait() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    std::fs::write(&path, "this is a text of some length".repeat(50)).unwrap();
    let words = format!("{}", path.display());
    let remove = || std::fs::remove_file(&path).unwrap();
    waits_until_repaired(&file_in(folder.path()), folder.path(), &words, remove).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_another_program_is_left_alone_and_rows_wait() {
    let folder = tempfile::tempdir().unwrap();
    let url = file_in(folder.path());
    run_in(&url, "CREATE TABLE orders (id INTEGER PRIMARY KEY)");
    let before = std::fs::read(folder.path().join("ledger.db")).unwrap();
    let path = folder.path().join("ledger.db");
    let elsewhere = folder.path().join("shop.db");
    let move_away = || std::fs::rename(&path, &elsewhere).unwrap();
    waits_until_repaired(&url, folder.path(), "a table `orders`", move_away).await;
    let after = std::fs::read(&elsewhere).unwrap();
    assert!(after == before, "nothing was changed in it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_rights_is_said_so_and_rows_wait() {
    let folder = tempfile::tempdir().unwrap();
    let url = Postgres::shared().new_database();
    let role = format!("guest_{}", std::process::id());
    run_in(
        &url,
        &format!("CREATE ROLE {role} LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC"),
    );
    let as_guest = url.replace("secateur@", &format!("{role}@"));
    let grant = || run_in(&url, &format!("GRANT ALL ON SCHEMA public TO {role}"));
    waits_until_repaired(&as_guest, folder.path(), "permission denied", grant).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_does_not_exist_is_not_made_by_reading() {
    let folder = tempfile::tempdir().unwrap();
    let missing = format!("sqlite:{}", folder.path().join("missing.db").display());
    let error = Ledger::open_for_reading(&missing, None).await.unwrap_err();
    assert!(error.to_string().contains("missing.db"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
