//! Text that was cut, what comparisons cost, sessions that were ended.

use std::time::Duration;

use secateur_ledger::{
    CaptureLimits, CapturedCut, Filter, GroupBy, Ledger, LedgerError, Purpose, Recalled,
};

use super::{DAY_MS, settled, wall_clock};
use crate::suite::{MONDAY, open};

pub(crate) async fn captured_text_is_found_until_its_limits_take_it(
    url: &str,
    folder: &std::path::Path,
) {
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

pub(crate) async fn comparisons_and_ended_sessions_are_kept(url: &str, folder: &std::path::Path) {
    let ledger = open(url, &folder.join("spool")).await;
    for number in 0..6 {
        let call = secateur_ledger::Spending {
            id: format!("call-{number}"),
            at: MONDAY + number * DAY_MS / 2,
            workload: ["agent", "chat"][usize::from(number == 3)].into(),
            purpose: Purpose::Shadow,
            request: format!("request-{number}"),
            stack: "m7".into(),
            model: Some("m".into()),
            key: None,
            usd: Some(0.5),
        };
        // Told twice, it is still one.
        ledger.record_spending(call.clone());
        ledger.record_spending(call);
    }
    ledger.flush().await;
    settled(&ledger).await;
    let costs = |workload: Option<&'static str>, since| {
        let ledger = ledger.clone();
        async move {
            let found = ledger.spent_by_day(workload, since).await.unwrap();
            found
                .into_iter()
                .map(|cost| (cost.day, cost.workload, cost.calls, cost.usd))
                .collect::<Vec<_>>()
        }
    };
    // Six calls in three days: all of them, by workload, and from noon of the first day on.
    let spent = |filter: Filter, by| {
        let ledger = ledger.clone();
        async move {
            let totals = ledger.totals(&filter, by).await.unwrap();
            let one = |totals: secateur_ledger::Totals| (totals.group, totals.spent_usd);
            totals.into_iter().map(one).collect::<Vec<_>>()
        }
    };
    let noon = Filter {
        since: Some(MONDAY + DAY_MS / 2),
        ..Filter::default()
    };
    assert_eq!(
        spent(Filter::default(), GroupBy::All).await,
        [(String::new(), 3.0)]
    );
    let by_workload = [("agent".to_owned(), 2.5), ("chat".to_owned(), 0.5)];
    assert_eq!(
        spent(Filter::default(), GroupBy::Workload).await,
        by_workload
    );
    let from_noon: f64 = spent(noon, GroupBy::Day)
        .await
        .iter()
        .map(|day| day.1)
        .sum();
    assert_eq!(from_noon, 2.5);
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
