//! What the ledger writes is for its owner alone, whatever the umask, and what an earlier version left wider is narrowed.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use crate::burst::row;
use crate::suite::open;

/// Everything below a folder that somebody else could open, with its mode.
fn open_to_others(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let mode = path.metadata().unwrap().permissions().mode();
        if mode & 0o077 != 0 {
            found.push(format!("{} {mode:o}", path.display()));
        }
        if path.is_dir() {
            found.extend(open_to_others(&path));
        }
    }
    found
}

fn widen(folder: &Path) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let wide = if path.is_dir() { 0o755 } else { 0o644 };
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(wide)).unwrap();
        count += 1;
        if path.is_dir() {
            count += widen(&path);
        }
    }
    count
}

#[tokio::test(flavor = "multi_thread")]
async fn database_and_spool_are_for_their_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (path, spool) = (folder.path().join("ledger.db"), folder.path().join("spool"));
    let url = format!("sqlite:{}", path.display());
    let ledger = open(&url, &spool).await;
    ledger.record(row(0));
    let is_home = || {
        let stats = ledger.stats();
        stats.written == 1 && stats.queued == 0
    };
    secateur_ledger::testing::eventually("the row is home", Duration::from_secs(20), is_home);
    let names = |name: &str| folder.path().join(name).exists();
    assert!(names("ledger.db-wal") && names("ledger.db-shm"));
    assert_eq!(open_to_others(folder.path()), [""; 0]);
    // As an earlier version left it.
    assert!(widen(folder.path()) >= 6);
    let second = open(&url, &spool).await;
    assert_eq!(open_to_others(folder.path()), [""; 0]);
    drop(second);
    drop(ledger);
    open(&url, &spool).await.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_wait_are_for_their_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (path, spool) = (folder.path().join("ledger.db"), folder.path().join("spool"));
    // A database that cannot be opened, so that rows go to the spool.
    std::fs::create_dir(&path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    let url = format!("sqlite:{}", path.display());
    let ledger = open(&url, &spool).await;
    ledger.record(row(0));
    secateur_ledger::testing::eventually("it is spooled", Duration::from_secs(20), || {
        ledger.stats().spooled == 1
    });
    assert_eq!(open_to_others(folder.path()), [""; 0]);
    ledger.close().await;
    widen(&spool);
    let ledger = open(&url, &spool).await;
    assert_eq!(ledger.stats().spooled, 1);
    assert_eq!(open_to_others(&spool), [""; 0]);
}
