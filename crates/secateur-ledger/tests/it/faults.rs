//! What happens when things break: processes killed, the database stopped, the disk full, two replicas.
//!
//! Load comes from child processes: this test program again, with one test selected by name.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::burst::row;
use crate::suite::open;
use secateur_ledger::testing::Postgres;
use secateur_ledger::{Filter, GroupBy, Ledger, LedgerStats};

const CHILD: &str = "faults::a_process_under_load";

/// Not a test of its own: what children run. Prints each number once it is recorded.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "runs only as a child of the other tests"]
async fn a_process_under_load() {
    let Ok(url) = std::env::var("LOAD_URL") else {
        return;
    };
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let (first, count) = (number("LOAD_FIRST").unwrap_or(0), number("LOAD_COUNT"));
    let per_tick = number("LOAD_PER_TICK").unwrap_or(50);
    let spool = std::env::var("LOAD_SPOOL").unwrap();
    let ledger = open(&url, Path::new(&spool)).await;
    let mut next = first;
    while count.is_none_or(|count| next < first + count) {
        for _ in 0..per_tick {
            ledger.record(row(next));
            next += 1;
        }
        println!("recorded {next}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    ledger.clone().close().await;
    println!("stats {}", serde_json::to_string(&ledger.stats()).unwrap());
}

struct Load {
    child: Child,
    /// How many were recorded, and when that was heard.
    heard: Arc<Mutex<Vec<(u64, Instant)>>>,
    reader: std::thread::JoinHandle<Option<LedgerStats>>,
}

impl Load {
    fn start(command: &mut Command, url: &str, spool: &Path, settings: &[(&str, u64)]) -> Self {
        command.env("LOAD_URL", url).env("LOAD_SPOOL", spool);
        for (name, value) in settings {
            command.env(name, value.to_string());
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hearing = Arc::clone(&heard);
        let reader = std::thread::spawn(move || {
            let mut stats = None;
            for line in lines.map_while(Result::ok) {
                if let Some(count) = line.strip_prefix("recorded ") {
                    hearing
                        .lock()
                        .unwrap()
                        .push((count.parse().unwrap(), Instant::now()));
                }
                if let Some(json) = line.strip_prefix("stats ") {
                    stats = serde_json::from_str(json).ok();
                }
            }
            stats
        });
        Self {
            child,
            heard,
            reader,
        }
    }

    fn direct() -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", CHILD, "--ignored", "--nocapture"]);
        command
    }

    /// A child whose files may not grow beyond this many blocks of 512 bytes; writing more fails, as it
    /// does on a full disk.
    fn with_small_files(blocks: u64) -> Command {
        let mut command = Command::new("sh");
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        command
            .args(["-c", &script, "sh"])
            .arg(std::env::current_exe().unwrap());
        command.args(["--exact", CHILD, "--ignored", "--nocapture"]);
        command
    }

    /// Waits until so many are recorded.
    fn reach(&self, count: u64) {
        secateur_ledger::testing::eventually("load", Duration::from_secs(120), || {
            self.heard
                .lock()
                .unwrap()
                .last()
                .is_some_and(|&(heard, _)| heard >= count)
        });
    }

    /// SIGKILL; how many were recorded at least a second before.
    fn kill(mut self) -> u64 {
        let at = Instant::now();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.reader.join().unwrap();
        let heard = self.heard.lock().unwrap();
        heard
            .iter()
            .filter(|(_, when)| at - *when >= Duration::from_secs(1))
            .map(|&(count, _)| count)
            .max()
            .unwrap_or(0)
    }

    fn finish(mut self) -> LedgerStats {
        assert!(self.child.wait().unwrap().success());
        self.reader
            .join()
            .unwrap()
            .expect("the child tells its counts")
    }
}

/// Rows `0..` without a gap, each once, and the sums agree; how many.
async fn count_without_gap(ledger: &Ledger) -> u64 {
    secateur_ledger::testing::eventually("the spool is home", Duration::from_secs(120), || {
        let stats = ledger.stats();
        stats.queued == 0 && stats.spooled == 0
    });
    let mut ids = std::collections::HashSet::new();
    let mut after = None;
    loop {
        let page = ledger
            .rows(&Filter::default(), after.as_ref(), 10_000)
            .await
            .unwrap();
        let Some(last) = page.last() else { break };
        after = Some(secateur_ledger::After::from(last));
        for row in page {
            assert!(ids.insert(row.id), "a row came twice");
        }
    }
    let count = ids.len() as u64;
    let gap = (0..count).find(|&number| !ids.contains(&row(number).id));
    assert_eq!(gap, None, "missing of {count}");
    let totals = ledger
        .totals(&Filter::default(), GroupBy::All)
        .await
        .unwrap();
    assert_eq!(
        totals.first().map_or(0, |totals| totals.requests),
        count,
        "sums count every row once"
    );
    count
}

fn is_sound(path: &Path) {
    let file = rusqlite::Connection::open(path).unwrap();
    let verdict: String = file
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(verdict, "ok");
}

/// The rows before `first` are there already; how many there are in the end.
async fn killed_under_load(url: &str, folder: &Path, first: u64) -> u64 {
    let spool = folder.join("spool");
    let load = Load::start(&mut Load::direct(), url, &spool, &[("LOAD_FIRST", first)]);
    load.reach(first + 4_000);
    std::thread::sleep(Duration::from_millis(1_500));
    let safe = load.kill();
    let ledger = open(url, &spool).await;
    let found = count_without_gap(&ledger).await;
    assert!(safe >= first + 4_000 && found >= safe, "{found} of {safe}");
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_all_but_the_last_second_when_killed_under_load() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let url = format!("sqlite:{}", path.display());
    let mut count = 0;
    for _ in 0..2 {
        count = killed_under_load(&url, folder.path(), count).await;
        is_sound(&path);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_has_all_but_the_last_second_when_the_proxy_is_killed_under_load() {
    let folder = tempfile::tempdir().unwrap();
    let url = Postgres::shared().new_database();
    killed_under_load(&url, folder.path(), 0).await;
}

/// Seconds without a database: a few, or the whole minute with SECATEUR_LONG_TESTS=1.
fn outage() -> Duration {
    let is_long = std::env::var_os("SECATEUR_LONG_TESTS").is_some();
    Duration::from_secs(if is_long { 60 } else { 4 })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_away_for_a_while_costs_no_row() {
    let server = Postgres::launch();
    let folder = tempfile::tempdir().unwrap();
    let url = server.new_database();
    let ledger = open(&url, &folder.path().join("spool")).await;
    let mut next = 0;
    let mut load = |time: Duration| {
        let end = Instant::now() + time;
        while Instant::now() < end {
            for _ in 0..20 {
                ledger.record(row(next));
                next += 1;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        next
    };
    load(Duration::from_secs(1));
    server.stop_immediately();
    let before = ledger.stats();
    load(outage());
    ledger.flush().await;
    let during = ledger.stats();
    assert!(
        during.spooled > before.spooled && during.last_error.is_some(),
        "{during:?}"
    );
    assert!(
        ledger.rows(&Filter::default(), None, 1).await.is_err(),
        "questions are told that it is away"
    );
    server.start();
    let recorded = load(Duration::from_secs(1));
    ledger.flush().await;
    let found = count_without_gap(&ledger).await;
    println!("recorded {recorded}, found {found}, {:?}", ledger.stats());
    assert_eq!((found, ledger.stats().lost), (recorded, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_dies_while_the_database_is_away_leaves_its_rows_to_the_next() {
    let server = Postgres::launch();
    let folder = tempfile::tempdir().unwrap();
    let (url, spool) = (server.new_database(), folder.path().join("spool"));
    let load = Load::start(&mut Load::direct(), &url, &spool, &[]);
    load.reach(1_000);
    server.stop_immediately();
    load.reach(4_000);
    std::thread::sleep(Duration::from_millis(1_200));
    let safe = load.kill();
    // It even starts without its database.
    let ledger = open(&url, &spool).await;
    server.start();
    let found = count_without_gap(&ledger).await;
    assert!(found >= safe && safe >= 4_000, "{found} of {safe}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_on_one_postgres_write_every_row_once() {
    let folder = tempfile::tempdir().unwrap();
    let (url, spool) = (
        Postgres::shared().new_database(),
        folder.path().join("spool"),
    );
    // Half of the rows of each are also written by the other.
    let one = Load::start(&mut Load::direct(), &url, &spool, &[("LOAD_COUNT", 6_000)]);
    let other = Load::start(
        &mut Load::direct(),
        &url,
        &spool,
        &[("LOAD_FIRST", 3_000), ("LOAD_COUNT", 6_000)],
    );
    assert_eq!((one.finish().lost, other.finish().lost), (0, 0));
    let ledger = open(&url, &spool).await;
    assert_eq!(count_without_gap(&ledger).await, 9_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_costs_nothing_while_the_spool_has_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let (url, spool) = (
        format!("sqlite:{}", path.display()),
        folder.path().join("spool"),
    );
    // Four megabytes for the database; each segment of the spool gets as much, and takes a batch.
    let load = Load::start(
        &mut Load::with_small_files(8_192),
        &url,
        &spool,
        &[("LOAD_COUNT", 30_000), ("LOAD_PER_TICK", 100)],
    );
    let stats = load.finish();
    println!("{stats:?}");
    assert!(stats.spooled > 0 && stats.lost == 0, "{stats:?}");
    let ledger = open(&url, &spool).await;
    assert_eq!(count_without_gap(&ledger).await, 30_000);
    ledger.close().await;
    is_sound(&path);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_fit_nowhere_are_counted_and_block_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let (url, spool) = (
        format!("sqlite:{}", path.display()),
        folder.path().join("spool"),
    );
    open(&url, &spool).await.close().await;
    // Forty kilobytes: enough for what SQLite needs to open, not for a batch.
    let load = Load::start(
        &mut Load::with_small_files(80),
        &url,
        &spool,
        &[("LOAD_COUNT", 15_000), ("LOAD_PER_TICK", 500)],
    );
    let stats = load.finish();
    println!("{stats:?}");
    let ledger = open(&url, &spool).await;
    let found = ledger
        .rows(&Filter::default(), None, 10_000)
        .await
        .unwrap()
        .len() as u64;
    assert!(stats.lost > 0 && stats.last_error.is_some(), "{stats:?}");
    assert_eq!(found + stats.lost, 15_000, "{stats:?}");
    ledger.close().await;
    is_sound(&path);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_removed_is_made_anew_and_costs_no_later_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let url = format!("sqlite:{}", path.display());
    let ledger = open(&url, &folder.path().join("spool")).await;
    ledger.record(row(0));
    ledger.flush().await;
    // A writer that is only just starting leaves it to the spool.
    secateur_ledger::testing::eventually("the row is home", Duration::from_secs(20), || {
        ledger.stats().spooled == 0
    });
    assert!(ledger.row(&row(0).id).await.unwrap().is_some());
    // Its rows are gone with it, as whoever removed it wanted; the write-ahead log stays behind.
    std::fs::remove_file(&path).unwrap();
    for number in 1..50 {
        ledger.record(row(number));
        std::thread::sleep(Duration::from_millis(10));
    }
    ledger.flush().await;
    secateur_ledger::testing::eventually("rows are home", Duration::from_secs(20), || {
        let stats = ledger.stats();
        stats.queued == 0 && stats.spooled == 0 && stats.away.is_none()
    });
    assert_eq!(ledger.stats().lost, 0);
    let told = ledger.stats().last_error.unwrap();
    assert!(told.contains("removed or replaced"), "{told}");
    // Those who ask see the new one too.
    let found = ledger.rows(&Filter::default(), None, 100).await.unwrap();
    assert_eq!(found.len(), 49);
    ledger.close().await;
    is_sound(&path);
    let again = open(&url, &folder.path().join("spool")).await;
    assert_eq!(
        again
            .rows(&Filter::default(), None, 100)
            .await
            .unwrap()
            .len(),
        49
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_takes_nothing_is_told_until_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let url = format!("sqlite:{}", path.display());
    let ledger = open(&url, &folder.path().join("spool")).await;
    let rename = |from: &str, to: &str| {
        let file = rusqlite::Connection::open(&path).unwrap();
        file.busy_timeout(Duration::from_secs(5)).unwrap();
        file.execute_batch(&format!("ALTER TABLE {from} RENAME TO {to}"))
            .unwrap();
    };
    assert_eq!(ledger.stats().away, None);
    rename("daily", "elsewhere");
    ledger.record(row(0));
    secateur_ledger::testing::eventually("it is told", Duration::from_secs(20), || {
        let stats = ledger.stats();
        stats.away.is_some() && stats.spooled == 1 && stats.trouble().is_some()
    });
    rename("elsewhere", "daily");
    secateur_ledger::testing::eventually("all is well", Duration::from_secs(20), || {
        let stats = ledger.stats();
        stats.away.is_none() && stats.spooled == 0 && stats.trouble().is_none()
    });
    assert!(ledger.row(&row(0).id).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_closed_file_alone_has_every_row() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (
        folder.path().join("ledger.db"),
        folder.path().join("copy.db"),
    );
    let url = format!("sqlite:{}", path.display());
    let ledger = open(&url, &folder.path().join("spool")).await;
    ledger.record(row(0));
    // Another handle stays, as in a program that is about to end.
    ledger.clone().close().await;
    std::fs::copy(&path, &copy).unwrap();
    let url = format!("sqlite:{}", copy.display());
    let copied = Ledger::open_for_reading(&url, None).await.unwrap();
    assert!(copied.row(&row(0).id).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_on_a_full_disk_is_no_refusal_and_counts_what_it_loses() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let (url, spool) = (
        format!("sqlite:{}", path.display()),
        folder.path().join("spool"),
    );
    // Not a byte for anybody.
    let load = Load::start(
        &mut Load::with_small_files(0),
        &url,
        &spool,
        &[("LOAD_COUNT", 100)],
    );
    let stats = load.finish();
    assert_eq!((stats.lost, stats.written), (100, 0), "{stats:?}");
    assert!(
        stats.away.is_some() && stats.spool_away.is_some(),
        "{stats:?}"
    );
    // What it left behind is in nobody's way.
    let ledger = open(&url, &spool).await;
    ledger.record(row(0));
    assert_eq!(count_without_gap(&ledger).await, 1);
}

/// What is at both paths lets nothing be written there, for root neither.
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_takes_nothing_at_the_start_is_told_until_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let (path, spool) = (folder.path().join("ledger.db"), folder.path().join("spool"));
    std::fs::create_dir(&path).unwrap();
    std::fs::write(&spool, "").unwrap();
    let ledger = open(&format!("sqlite:{}", path.display()), &spool).await;
    let told = ledger.stats().trouble().unwrap();
    assert!(told.starts_with("nothing is recorded: neither"), "{told}");
    ledger.record(row(0));
    assert!(ledger.rows(&Filter::default(), None, 1).await.is_err());
    std::fs::remove_file(&spool).unwrap();
    secateur_ledger::testing::eventually("it is spooled", Duration::from_secs(20), || {
        let stats = ledger.stats();
        stats.spooled == 1 && stats.spool_away.is_none() && stats.away.is_some()
    });
    std::fs::remove_dir(&path).unwrap();
    assert_eq!(count_without_gap(&ledger).await, 1);
    secateur_ledger::testing::eventually("all is well", Duration::from_secs(20), || {
        ledger.stats().trouble().is_none()
    });
    assert_eq!(ledger.stats().lost, 0);
}
