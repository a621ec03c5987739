//! One suite, run on both databases: the same questions get the same answers.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests"
)]

mod burst;
mod suite;

use std::collections::BTreeMap;
use std::time::Duration;

use secateur_ledger::{
    After, CaptureLimits, CapturedCut, Filter, GroupBy, Ledger, LedgerError, Recalled, Retired,
    Row, Score, StackEvent, StackEventKind, Switch, Totals,
};
use suite::{MONDAY, open, row};

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
    a_row_recorded_twice_counts_once,
    decisions_reach_everyone,
    scores_are_kept_by_stack_and_day,
    captured_text_is_found_until_its_limits_take_it,
    comparisons_and_ended_sessions_are_kept,
    old_rows_go_and_sums_stay,
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
    let bare = Row {
        id: "bare".into(),
        ..Row::default()
    };
    ledger.record(bare.clone());
    ledger.flush().await;
    settled(&ledger).await;
    assert_eq!(ledger.row("bare").await.unwrap(), Some(bare));
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

/// The filter in plain words.
fn fits(filter: &Filter, row: &Row) -> bool {
    let is = |wanted: &Option<String>, found: &str| {
        wanted.as_deref().is_none_or(|wanted| wanted == found)
    };
    is(&filter.workload, &row.workload)
        && is(&filter.stack, &row.stack)
        && is(&filter.model, row.model.as_deref().unwrap_or_default())
        && is(&filter.session, row.session.as_deref().unwrap_or_default())
        && (!filter.only_trouble
            || row.status >= 400
            || row.status == 0
            || row.failed_open.is_some()
            || !row.struck_stack.is_empty())
        && (!filter.only_changed || !row.stack.is_empty())
        && filter.since.is_none_or(|since| row.at >= since)
        && filter.until.is_none_or(|until| row.at < until)
}

/// Every mix of filters.
fn filters() -> Vec<Filter> {
    let mut all = Vec::new();
    for mix in 0..256_u32 {
        let has = |bit: u32| mix & (1 << bit) != 0;
        all.push(Filter {
            workload: has(0).then(|| "agent".into()),
            stack: has(1).then(|| if has(7) { String::new() } else { "m7".into() }),
            model: has(2).then(|| "claude-a".into()),
            session: has(3).then(|| "session 30".into()),
            only_trouble: has(4),
            only_changed: has(5),
            since: has(6).then_some(MONDAY + 7 * 3_600_000),
            until: has(7).then_some(MONDAY + DAY_MS + 5 * 3_600_000),
        });
    }
    all
}

async fn pages_and_filters_agree_with_a_plain_walk(url: &str, folder: &std::path::Path) {
    let (ledger, rows) = filled(url, folder, 3_000).await;
    // Two rows of the same moment: the id decides.
    let twin = Row {
        id: "ffff".into(),
        at: rows[2_999].at,
        ..rows[2_999].clone()
    };
    ledger.record(twin.clone());
    ledger.flush().await;
    settled(&ledger).await;
    has_these_pages(&ledger, rows.into_iter().chain([twin]).collect()).await;
}

/// Whatever the filter. The rows need not be in order.
async fn has_these_pages(ledger: &Ledger, rows: Vec<Row>) {
    let mut newest_first: Vec<Row> = rows
        .into_iter()
        .map(|row| Row { plan: None, ..row })
        .collect();
    newest_first.sort_by(|one, other| (other.at, &other.id).cmp(&(one.at, &one.id)));
    for filter in filters() {
        let wanted: Vec<&Row> = newest_first
            .iter()
            .filter(|row| fits(&filter, row))
            .collect();
        let mut found: Vec<Row> = Vec::new();
        let mut after = None;
        for _ in 0..4 {
            let page = ledger.rows(&filter, after.as_ref(), 7).await.unwrap();
            after = page.last().map(|row| After {
                at: row.at,
                id: row.id.clone(),
            });
            let is_last = page.len() < 7;
            found.extend(page);
            if is_last {
                break;
            }
        }
        let wanted = &wanted[..wanted.len().min(28)];
        assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{filter:?}");
    }
}

fn plain_sums(rows: &[Row], filter: &Filter, by: GroupBy) -> BTreeMap<String, Totals> {
    let mut groups: BTreeMap<String, Totals> = BTreeMap::new();
    for row in rows.iter().filter(|row| fits(filter, row)) {
        let group = match by {
            GroupBy::All => String::new(),
            GroupBy::Workload => row.workload.clone(),
            GroupBy::Stack => row.stack.clone(),
            GroupBy::Model => row.model.clone().unwrap_or_default(),
            GroupBy::Day => secateur_ledger::day_of(row.at),
        };
        let sum = groups.entry(group.clone()).or_insert_with(|| Totals {
            group,
            ..Totals::default()
        });
        sum.requests += 1;
        sum.changed += u64::from(!row.stack.is_empty());
        sum.failed_open += u64::from(row.failed_open.is_some());
        sum.struck += u64::from(!row.struck_stack.is_empty());
        sum.errors += u64::from(row.status >= 400 || row.status == 0);
        sum.chars_before += row.chars_before.unwrap_or(0);
        sum.chars_after += row.chars_after.unwrap_or(0);
        sum.compress_chars_before += row.compress.map_or(0, |compress| compress.chars_before);
        sum.compress_chars_after += row.compress.map_or(0, |compress| compress.chars_after);
        sum.input_tokens += row.usage.input.unwrap_or(0);
        sum.cache_read_tokens += row.usage.cache_read.unwrap_or(0);
        sum.cache_write_tokens += row.usage.cache_write.unwrap_or(0);
        sum.output_tokens += row.usage.output.unwrap_or(0);
        sum.tokens_saved += row.receipt.tokens_saved.unwrap_or(0);
        sum.saved_usd += row.receipt.saved_usd.unwrap_or(0.0);
        let (without, with) = (
            row.receipt.predicted_usd_without,
            row.receipt.predicted_usd_with,
        );
        if let (Some(without), Some(with), Some(billed)) =
            (without, with, row.receipt.actual_input_usd)
        {
            sum.predicted_usd_without += without;
            sum.predicted_usd_with += with;
            sum.reconciled_usd += billed;
        }
        sum.actual_usd += row.receipt.actual_usd.unwrap_or(0.0);
        sum.net_negative += u64::from(row.receipt.saved_usd.unwrap_or(0.0) < 0.0);
        if let (Some(predicted), Some(billed)) =
            (row.receipt.predicted_tokens_after, row.usage.input)
        {
            sum.predicted_tokens += predicted;
            sum.predicted_cache_read_tokens += row.receipt.predicted_cache_read.unwrap_or(0);
            sum.predicted_cache_write_tokens += row.receipt.predicted_cache_write.unwrap_or(0);
            sum.billed_tokens += billed;
            sum.billed_cache_read_tokens += row.usage.cache_read.unwrap_or(0);
            sum.billed_cache_write_tokens += row.usage.cache_write.unwrap_or(0);
        }
        sum.added_us += row.added_us;
    }
    groups
}

/// Sums of money may differ in the last digits: they were added in another order.
fn rounded(totals: &Totals) -> Totals {
    let round = |usd: f64| (usd * 1e9).round() / 1e9;
    Totals {
        saved_usd: round(totals.saved_usd),
        predicted_usd_without: round(totals.predicted_usd_without),
        predicted_usd_with: round(totals.predicted_usd_with),
        reconciled_usd: round(totals.reconciled_usd),
        actual_usd: round(totals.actual_usd),
        ..totals.clone()
    }
}

async fn sums_agree_with_a_plain_walk(url: &str, folder: &std::path::Path) {
    let (ledger, rows) = filled(url, folder, 4_000).await;
    let edges = [
        (None, None),
        (Some(MONDAY), Some(MONDAY + 2 * DAY_MS)),
        (Some(MONDAY + 1), Some(MONDAY + 2 * DAY_MS + 1)),
        (Some(MONDAY + 5_000_000), Some(MONDAY + 6_000_000)),
        (Some(MONDAY + DAY_MS - 60_000), None),
    ];
    has_these_sums(&ledger, &rows, &edges).await;
}

/// Whatever the filter, from one edge to the other.
async fn has_these_sums(ledger: &Ledger, rows: &[Row], edges: &[(Option<i64>, Option<i64>)]) {
    for filter in filters().into_iter().step_by(3) {
        for &(since, until) in edges {
            let filter = Filter {
                since,
                until,
                ..filter.clone()
            };
            for by in [
                GroupBy::All,
                GroupBy::Workload,
                GroupBy::Stack,
                GroupBy::Model,
                GroupBy::Day,
            ] {
                let found = ledger.totals(&filter, by).await.unwrap();
                let wanted = plain_sums(rows, &filter, by);
                let found: Vec<Totals> = found.iter().map(rounded).collect();
                let wanted: Vec<Totals> = wanted.values().map(rounded).collect();
                assert_eq!(found, wanted, "{filter:?} {by:?}");
            }
        }
    }
}

async fn bursts_of_rows_are_found_like_others(url: &str, folder: &std::path::Path) {
    let ledger = open(url, &folder.join("spool")).await;
    let rows: Vec<Row> = (0..6_000).map(burst::row).collect();
    // Requests end in another order than they begin: what comes together is of many times.
    for part in 0..5 {
        let of_part = rows.iter().filter(|row| row.at % 5 == part);
        of_part.for_each(|row| ledger.record(row.clone()));
        ledger.flush().await;
        settled(&ledger).await;
    }
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
    has_these_pages(&ledger, rows.clone()).await;
    if let Some(path) = url.strip_prefix("sqlite:") {
        plain_sql_finds_them(path, &rows);
    }
}

/// What anybody sees who opens the file: every row, though most lie in bundles.
fn plain_sql_finds_them(path: &str, rows: &[Row]) {
    let file = rusqlite::Connection::open(path).unwrap();
    let count = |sql: &str| file.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert!(count("SELECT SUM(json_array_length(entries)) FROM audit_bundle") > 4_000);
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
    let changed = rows.iter().filter(|row| !row.stack.is_empty()).count();
    assert_eq!(
        count("SELECT COUNT(*) FROM optimize_savings"),
        i64::try_from(changed).unwrap()
    );
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

async fn captured_text_is_found_until_its_limits_take_it(url: &str, folder: &std::path::Path) {
    let ledger = open(url, &folder.join("spool")).await;
    let limits = CaptureLimits {
        max_bytes: 1_000,
        max_age: Duration::from_secs(3600),
    };
    ledger.set_capture_limits("agent", limits);
    let cut = |number: i64, bytes: usize| CapturedCut {
        id: format!("cut-{number}"),
        request: "request".into(),
        session: None,
        workload: "agent".into(),
        at: wall_clock() - 60_000 + number,
        text: "secret é ".chars().cycle().take(bytes).collect(),
        after: None,
    };
    ledger
        .capture(vec![cut(2, 300), cut(1, 300), cut(2, 300)])
        .await
        .unwrap();
    ledger.capture(vec![cut(2, 300)]).await.unwrap();
    let Recalled::Text { text, request, .. } = ledger.recall("agent", "cut-1").await.unwrap()
    else {
        panic!()
    };
    assert_eq!((text, request.as_str()), (cut(1, 300).text, "request"));
    assert_eq!(ledger.captured_of("request").await.unwrap().len(), 2);
    assert_eq!(
        ledger.recall("chat", "cut-1").await.unwrap(),
        Recalled::Unknown
    );
    let replaced = CapturedCut {
        after: Some("[cut]".into()),
        workload: "rag".into(),
        ..cut(1, 300)
    };
    ledger.capture(vec![replaced]).await.unwrap();
    let found = ledger.recall("rag", "cut-1").await.unwrap();
    assert!(
        matches!(&found, Recalled::Text { after: Some(after), .. } if after == "[cut]"),
        "{found:?}"
    );
    let found = ledger.captured_of("request").await.unwrap();
    let after = |cut: &CapturedCut| (cut.workload == "rag").then(|| cut.after.clone());
    let after: Vec<_> = found.iter().filter_map(after).collect();
    assert_eq!((found.len(), after), (3, vec![Some("[cut]".into())]));
    // The third does not fit beside the first two: the oldest goes.
    ledger.capture(vec![cut(3, 400)]).await.unwrap();
    assert!(matches!(
        ledger.recall("agent", "cut-1").await.unwrap(),
        Recalled::Expired { .. }
    ));
    assert!(matches!(
        ledger.recall("agent", "cut-2").await.unwrap(),
        Recalled::Text { .. }
    ));
    let old = CapturedCut {
        at: wall_clock() - 3_700_000,
        ..cut(4, 10)
    };
    ledger.capture(vec![old]).await.unwrap();
    assert!(matches!(
        ledger.recall("agent", "cut-4").await.unwrap(),
        Recalled::Expired { .. }
    ));
    // A text that comes again lives again.
    ledger.capture(vec![cut(4, 10)]).await.unwrap();
    assert!(matches!(
        ledger.recall("agent", "cut-4").await.unwrap(),
        Recalled::Text { .. }
    ));
    let other_key = Ledger::open_for_reading(url, Some([8; 32])).await.unwrap();
    assert!(matches!(
        other_key.recall("agent", "cut-2").await,
        Err(LedgerError::WrongCaptureKey { .. })
    ));
    let no_key = Ledger::open_for_reading(url, None).await.unwrap();
    assert!(matches!(
        no_key.recall("agent", "cut-2").await,
        Err(LedgerError::NoCaptureKey)
    ));
}

async fn comparisons_and_ended_sessions_are_kept(url: &str, folder: &std::path::Path) {
    let ledger = open(url, &folder.join("spool")).await;
    for number in 0..6 {
        let call = secateur_ledger::ShadowCall {
            id: format!("call-{number}"),
            at: MONDAY + number * DAY_MS / 2,
            workload: ["agent", "chat"][usize::from(number == 3)].into(),
            stack: "m7".into(),
            usd: 0.5,
        };
        // Told twice, it is still one.
        ledger.record_shadow(call.clone());
        ledger.record_shadow(call);
    }
    ledger.flush().await;
    settled(&ledger).await;
    let costs = |workload: Option<&'static str>, since| {
        let ledger = ledger.clone();
        async move {
            let found = ledger.shadow_costs(workload, since).await.unwrap();
            found
                .into_iter()
                .map(|cost| (cost.day, cost.workload, cost.calls, cost.usd))
                .collect::<Vec<_>>()
        }
    };
    let line = |day: &str, workload: &str, calls: u64| {
        (
            day.to_owned(),
            workload.to_owned(),
            calls,
            calls as f64 / 2.0,
        )
    };
    assert_eq!(
        costs(None, 0).await,
        [
            line("2026-11-16", "agent", 2),
            line("2026-11-17", "agent", 1),
            line("2026-11-17", "chat", 1),
            line("2026-11-18", "agent", 2),
        ]
    );
    assert_eq!(
        costs(Some("agent"), MONDAY + DAY_MS).await,
        [
            line("2026-11-17", "agent", 1),
            line("2026-11-18", "agent", 2)
        ]
    );
    ledger
        .end_session("one", wall_clock() + 60_000)
        .await
        .unwrap();
    ledger
        .end_session("late", wall_clock() - 60_000)
        .await
        .unwrap();
    let again = open(url, &folder.join("spool")).await;
    assert!(again.is_session_ended("one").await.unwrap());
    assert!(!again.is_session_ended("other").await.unwrap());
    // Those whose time is over are forgotten when the next one ends.
    again
        .end_session("two", wall_clock() + 60_000)
        .await
        .unwrap();
    assert!(!ledger.is_session_ended("late").await.unwrap());
    assert!(ledger.is_session_ended("one").await.unwrap());
}

async fn old_rows_go_and_sums_stay(url: &str, folder: &std::path::Path) {
    let ledger = open(url, &folder.join("spool")).await;
    for number in 0..1_500 {
        let at = wall_clock() - 100 * DAY_MS;
        ledger.record(Row { at, ..row(number) });
    }
    ledger.record(Row {
        at: wall_clock(),
        ..row(9_999)
    });
    ledger.flush().await;
    settled(&ledger).await;
    let before = ledger
        .totals(&Filter::default(), GroupBy::Workload)
        .await
        .unwrap();
    ledger.close().await;
    let mut options = suite::options(url, &folder.join("spool"));
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

async fn held_out_sessions_are_compared(url: &str, folder: &std::path::Path) {
    let ledger = open(url, &folder.join("spool")).await;
    for session in 0..40_u64 {
        for request in 0..5_u64 {
            let mut row = row(session * 5 + request);
            row.workload = "agent".into();
            row.session = Some(format!("s{session}"));
            row.held_out = session % 2 == 0;
            let noise = (session % 5) as f64 / 100.0;
            row.receipt.actual_input_usd = Some(if row.held_out {
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
