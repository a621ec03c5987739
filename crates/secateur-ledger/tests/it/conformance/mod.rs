//! One suite, run on both databases: the same questions get the same answers.

mod bursts;
mod kept_texts;
mod plain_walk;

use std::time::Duration;

use crate::suite::{MONDAY, open, options, row};
use bursts::{bursts_of_rows_are_found_like_others, the_way_back_shows_the_pages_of_the_way_there};
use kept_texts::{
    captured_text_is_found_until_its_limits_take_it, comparisons_and_ended_sessions_are_kept,
};
use plain_walk::{
    pages_and_filters_agree_with_a_plain_walk, plain_sums, rounded, sums_agree_with_a_plain_walk,
};
use secateur_ledger::{
    Filter, GroupBy, Ledger, LedgerError, PassThrough, Retired, Row, Score, StackEvent,
    StackEventKind, Switch, id_time,
};

const DAY_MS: i64 = 86_400_000;

/// Each case gets an empty ledger of its own.
macro_rules! on_both {
    ($($case:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                let folder = tempfile::tempdir().unwrap();
                let url = format!("sqlite:{}", folder.path().join("ledger.db").display());
                super::$case(&url, folder.path()).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                let folder = tempfile::tempdir().unwrap();
                let url = secateur_ledger::testing::Postgres::shared().new_database();
                super::$case(&url, folder.path()).await;
            })*
        }
    };
}

on_both!(
    rows_come_back_as_they_went_in,
    pages_and_filters_agree_with_a_plain_walk,
    sums_agree_with_a_plain_walk,
    bursts_of_rows_are_found_like_others,
    the_way_back_shows_the_pages_of_the_way_there,
    a_row_recorded_twice_counts_once,
    decisions_reach_everyone,
    scores_are_kept_by_stack_and_day,
    captured_text_is_found_until_its_limits_take_it,
    comparisons_and_ended_sessions_are_kept,
    old_rows_go_and_sums_stay,
    untouched_requests_leave_sums_where_no_rows_are_wanted,
    held_out_sessions_are_compared,
    rows_that_a_database_cannot_hold_harm_nobody,
);

async fn filled(url: &str, folder: &std::path::Path, count: u64) -> (Ledger, Vec<Row>) {
    let ledger = open(url, &folder.join("spool")).await;
    let rows: Vec<Row> = (0..count).map(row).collect();
    for row in &rows {
        ledger.record(row.clone());
    }
    ledger.flush().await;
    settled(&ledger).await;
    (ledger, rows)
}

/// Waits until nothing is on its way any more.
async fn settled(ledger: &Ledger) {
    for _ in 0..1_000 {
        let stats = ledger.stats();
        if stats.queued == 0 && stats.spooled == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{:?}", ledger.stats());
}

async fn rows_come_back_as_they_went_in(url: &str, folder: &std::path::Path) {
    let (ledger, rows) = filled(url, folder, 50).await;
    for row in &rows {
        assert_eq!(ledger.row(&row.id).await.unwrap().as_ref(), Some(row));
    }
    assert_eq!(ledger.row("nobody").await.unwrap(), None);
    assert_eq!(ledger.workloads().await.unwrap(), ["agent", "chat", "rag"]);
    let stacks = ledger.seen(GroupBy::Stack).await.unwrap();
    assert_eq!(stacks, ["", "m1", "m3", "m7"]);
    let bare = Row {
        id: id_time(0),
        ..Row::default()
    };
    ledger.record(bare.clone());
    ledger.flush().await;
    settled(&ledger).await;
    assert_eq!(ledger.row(&bare.id).await.unwrap(), Some(bare));
    assert_eq!(ledger.stats().written, 51);
    ledger.close().await;
    let again = open(url, &folder.join("spool")).await;
    assert_eq!(
        again
            .rows(&Filter::default(), None, 100)
            .await
            .unwrap()
            .len(),
        51
    );
    let reader = Ledger::open_for_reading(url, None).await.unwrap();
    assert_eq!(
        reader.row(&rows[3].id).await.unwrap().as_ref(),
        Some(&rows[3])
    );
    assert!(matches!(
        reader.clear_switch("a", "m7").await,
        Err(LedgerError::ReadOnly)
    ));
}

async fn a_row_recorded_twice_counts_once(url: &str, folder: &std::path::Path) {
    let (ledger, rows) = filled(url, folder, 500).await;
    for row in &rows {
        ledger.record(row.clone());
        ledger.record(row.clone());
    }
    ledger.flush().await;
    settled(&ledger).await;
    let totals = ledger
        .totals(&Filter::default(), GroupBy::All)
        .await
        .unwrap();
    assert_eq!(totals[0].requests, 500);
    assert_eq!(
        rounded(&totals[0]),
        rounded(&plain_sums(&rows, &Filter::default(), GroupBy::All)[""])
    );
}

fn event(kind: StackEventKind, at: i64) -> StackEvent {
    StackEvent {
        at,
        workload: "agent".into(),
        stack: "m7".into(),
        kind,
        reason: "mean 0.91 of 34 scores is under the floor 0.95".into(),
        mean: Some(0.91),
        samples: Some(34),
        by: None,
    }
}

async fn decisions_reach_everyone(url: &str, folder: &std::path::Path) {
    let here = open(url, &folder.join("spool")).await;
    let there = open(url, &folder.join("spool")).await;
    let retired = Retired {
        workload: "agent".into(),
        stack: "m7".into(),
        at: 5,
        reason: "low".into(),
    };
    let rolled_back = event(StackEventKind::RolledBack, 5);
    let mut seen = there.controls();
    assert!(here.retire(&retired, &rolled_back).await.unwrap());
    assert!(
        here.controls().borrow().is_retired("agent", "m1+m7"),
        "own decisions show at once"
    );
    tokio::time::timeout(
        Duration::from_secs(3),
        seen.wait_for(|controls| controls.is_retired("agent", "m7")),
    )
    .await
    .expect("others learn of it within seconds")
    .unwrap();
    assert!(
        !there.retire(&retired, &rolled_back).await.unwrap(),
        "it was off already"
    );
    let switch = Switch {
        workload: "chat".into(),
        mechanic: "m3".into(),
        is_on: false,
        at: 6,
        by: "ada".into(),
    };
    there.set_switch(&switch).await.unwrap();
    there
        .set_switch(&Switch {
            is_on: true,
            ..switch.clone()
        })
        .await
        .unwrap();
    assert_eq!(there.controls().borrow().switch("chat", "m3"), Some(true));
    there.clear_switch("chat", "m3").await.unwrap();
    assert_eq!(there.controls().borrow().switch("chat", "m3"), None);
    here.warn(&event(StackEventKind::Warning, 7)).await.unwrap();
    assert!(there.resume("agent", "m7", "ada", 8).await.unwrap());
    assert!(!there.resume("agent", "m7", "ada", 9).await.unwrap());
    assert!(there.controls().borrow().retired.is_empty());
    let mut back = here.controls();
    tokio::time::timeout(
        Duration::from_secs(3),
        back.wait_for(|controls| !controls.is_retired("agent", "m7")),
    )
    .await
    .expect("others learn of it within seconds")
    .unwrap();
    let events = here.stack_events(Some("agent"), 0).await.unwrap();
    let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
    assert_eq!(
        kinds,
        [
            StackEventKind::Resumed,
            StackEventKind::Warning,
            StackEventKind::RolledBack
        ]
    );
    assert_eq!(events[2], rolled_back);
    assert_eq!(events[0].by.as_deref(), Some("ada"));
    assert_eq!(here.stack_events(None, 8).await.unwrap().len(), 1);
    assert!(here.stack_events(Some("chat"), 0).await.unwrap().is_empty());
}

async fn scores_are_kept_by_stack_and_day(url: &str, folder: &std::path::Path) {
    let ledger = open(url, &folder.join("spool")).await;
    let score = |number: i64| Score {
        id: format!("score {number}"),
        at: MONDAY + number * DAY_MS / 4,
        request: Some("r".into()),
        workload: "agent".into(),
        stack: if number % 2 == 0 {
            "m7".into()
        } else {
            "m3".into()
        },
        scorer: "deterministic".into(),
        score: number as f64 / 10.0,
    };
    for number in (0..8).chain(0..8) {
        ledger.record_score(score(number));
    }
    ledger.flush().await;
    settled(&ledger).await;
    let found = ledger.scores("agent", "m7", MONDAY, 3).await.unwrap();
    assert_eq!(found, [score(6), score(4), score(2)]);
    assert!(ledger.scores("agent", "m1", 0, 9).await.unwrap().is_empty());
    let days = ledger.day_scores("agent", MONDAY).await.unwrap();
    let days: Vec<_> = days
        .iter()
        .map(|day| {
            (
                day.day.as_str(),
                day.stack.as_str(),
                day.samples,
                (day.mean * 100.0).round(),
            )
        })
        .collect();
    assert_eq!(
        days,
        [
            ("2026-11-16", "m3", 2, 20.0),
            ("2026-11-16", "m7", 2, 10.0),
            ("2026-11-17", "m3", 2, 60.0),
            ("2026-11-17", "m7", 2, 50.0),
        ]
    );
}

fn wall_clock() -> i64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// The same request at another time.
fn at_time(row: Row, at: i64) -> Row {
    let id = format!("{} {}", id_time(at), row.id);
    Row { id, at, ..row }
}

async fn old_rows_go_and_sums_stay(url: &str, folder: &std::path::Path) {
    let ledger = open(url, &folder.join("spool")).await;
    for number in 0..1_500 {
        ledger.record(at_time(row(number), wall_clock() - 100 * DAY_MS));
    }
    ledger.record(at_time(row(9_999), wall_clock()));
    ledger.flush().await;
    settled(&ledger).await;
    let before = ledger
        .totals(&Filter::default(), GroupBy::Workload)
        .await
        .unwrap();
    ledger.close().await;
    let mut options = options(url, &folder.join("spool"));
    options.keep_days = 1;
    let ledger = Ledger::open(options).await.unwrap();
    let mut left = usize::MAX;
    for _ in 0..200 {
        left = ledger
            .rows(&Filter::default(), None, 10_000)
            .await
            .unwrap()
            .len();
        if left == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(left, 1);
    assert_eq!(
        ledger
            .totals(&Filter::default(), GroupBy::Workload)
            .await
            .unwrap(),
        before
    );
}

async fn untouched_requests_leave_sums_where_no_rows_are_wanted(
    url: &str,
    folder: &std::path::Path,
) {
    let mut options = options(url, &folder.join("spool"));
    options.pass_through = PassThrough::Sums;
    let ledger = Ledger::open(options).await.unwrap();
    let rows: Vec<Row> = (0..900).map(row).collect();
    rows.iter().for_each(|row| ledger.record(row.clone()));
    ledger.flush().await;
    settled(&ledger).await;
    assert_eq!((ledger.stats().written, ledger.stats().lost), (900, 0));
    let touched = |row: &&Row| {
        !row.stack.is_empty() || !row.struck_stack.is_empty() || row.failed_open.is_some()
    };
    let kept = ledger.rows(&Filter::default(), None, 1_000).await.unwrap();
    let wanted = rows.iter().filter(touched).count();
    assert!((1..900).contains(&wanted) && kept.iter().all(|row| touched(&row)));
    assert_eq!(kept.len(), wanted);
    for by in [GroupBy::All, GroupBy::Model, GroupBy::Key, GroupBy::Day] {
        let found = ledger.totals(&Filter::default(), by).await.unwrap();
        let found: Vec<_> = found.iter().map(rounded).collect();
        let wanted = plain_sums(&rows, &Filter::default(), by);
        assert_eq!(found, wanted.values().map(rounded).collect::<Vec<_>>());
    }
}

async fn held_out_sessions_are_compared(url: &str, folder: &std::path::Path) {
    let ledger = open(url, &folder.join("spool")).await;
    for session in 0..40_u64 {
        for request in 0..5_u64 {
            let mut row = row(session * 5 + request);
            row.workload = "agent".into();
            row.session = Some(format!("s{session}"));
            row.held_out = session % 2 == 0;
            let noise = (session % 5) as f64 / 100.0;
            row.receipt.billed_input_usd = Some(if row.held_out {
                1.0 + noise
            } else {
                0.8 + noise
            });
            ledger.record(row);
        }
    }
    ledger.flush().await;
    settled(&ledger).await;
    let found = ledger.holdout("agent", 0).await.unwrap();
    assert_eq!((found.held_sessions, found.pruned_sessions), (20, 20));
    assert!(
        (found.held_mean_usd - 1.02).abs() < 1e-9 && (found.pruned_mean_usd - 0.82).abs() < 1e-9,
        "{found:?}"
    );
    assert!(
        found.low < found.saving
            && found.saving < found.high
            && found.low > 0.17
            && found.high < 0.22,
        "{found:?}"
    );
    assert_eq!(
        ledger
            .holdout("agent", i64::MAX)
            .await
            .unwrap()
            .held_sessions,
        0
    );
}

async fn rows_that_a_database_cannot_hold_harm_nobody(url: &str, folder: &std::path::Path) {
    let (ledger, _) = filled(url, folder, 10).await;
    let long = "x".repeat(100_000);
    let strange = Row {
        id: "a\0b".into(),
        model: Some(format!("{long}\0")),
        workload: long.clone(),
        stack: long.clone(),
        failed_open: Some(long.clone()),
        bytes_before: u64::MAX,
        plan: Some(long.repeat(10)),
        ..row(77)
    };
    ledger.record(strange);
    ledger.record(row(78));
    ledger.flush().await;
    settled(&ledger).await;
    assert!(ledger.row(&row(78).id).await.unwrap().is_some());
    let kept = ledger.row("a\u{fffd}b").await.unwrap().unwrap();
    assert!(kept.plan.unwrap().contains("too large"));
    assert_eq!(ledger.stats().lost, 0);
}
