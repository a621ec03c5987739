//! The questions in `docs/ledger.md` run on both databases as they stand there, and its list of columns is complete.

use crate::suite::{open, row};
use secateur_ledger::testing::Postgres;

const PAGE: &str = include_str!("../../../../docs/ledger.md");

fn questions() -> Vec<&'static str> {
    let blocks = PAGE.split("```sql\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap())
        .collect()
}

async fn filled(url: &str, folder: &std::path::Path) {
    let ledger = open(url, &folder.join("spool")).await;
    (0..400).for_each(|number| ledger.record(row(number)));
    ledger.close().await;
}

/// How many rows each question finds.
fn on_sqlite(path: &str) -> Vec<usize> {
    let file = rusqlite::Connection::open(path).unwrap();
    let count = |sql: &&str| {
        let mut statement = file.prepare(sql).unwrap();
        let mut rows = statement.query([]).unwrap();
        let mut count = 0;
        while rows.next().unwrap().is_some() {
            count += 1;
        }
        count
    };
    questions().iter().map(count).collect()
}

fn on_postgres(url: &str) -> Vec<usize> {
    let url = url.to_owned();
    let ask = move || {
        let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
        let mut count = |sql: &&str| client.query(*sql, &[]).unwrap().len();
        questions().iter().map(&mut count).collect()
    };
    std::thread::spawn(ask).join().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_questions_of_the_page_run_on_both_databases() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db").display().to_string();
    filled(&format!("sqlite:{path}"), folder.path()).await;
    let url = Postgres::shared().new_database();
    filled(&url, &folder.path().join("other")).await;
    let found = on_sqlite(&path);
    assert!(
        found.len() >= 10 && found.iter().all(|rows| *rows > 0),
        "{found:?}"
    );
    assert_eq!(found, on_postgres(&url));
    // The page names every column.
    let file = rusqlite::Connection::open(&path).unwrap();
    let mut columns = file
        .prepare("SELECT name FROM pragma_table_info('audit')")
        .unwrap();
    let names = columns
        .query_map([], |row| row.get::<_, String>(0))
        .unwrap();
    let list = PAGE
        .split("### Columns of `audit`")
        .nth(1)
        .unwrap()
        .split("\n### ")
        .next()
        .unwrap();
    for name in names.map(Result::unwrap) {
        assert!(
            list.contains(&format!("`{name}`")),
            "{name} is not on the page"
        );
    }
}
