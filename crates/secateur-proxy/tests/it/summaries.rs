//! `summary = "model"`: made once by the upstream, kept by content, done without when it is not there.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use secateur_core::Dialect;
use secateur_mock::{Api, MockOptions, Received, Scripted};
use secateur_proxy::SummaryOutcome;

use crate::stage::{Stage, conversation, path};

/// A workload that summarizes, with more keys for its summaries and its strategy.
fn summarizes(summary: &str, strategy: &str) -> String {
    format!(
        "[workload.s]\nbudget_ms = 20000\n[workload.s.summary]\n{summary}\n\
         [workload.s.policy.m7]\nenabled = true\nmin_messages = 0\nstrategies = [\"summarized-turns\"]\n\
         [workload.s.policy.summarized-turns]\nmax_turns = 4\nsummary = \"model\"\n\
         summary_model = \"small-model\"\n{strategy}\n"
    )
}

const PATIENT: &str = "wait_ms = 20000";
const TURNS: usize = 31;

/// A conversation that no other dialect has: a summary is kept by content, whatever the dialect.
fn history(dialect: Dialect, turns: usize, stream: bool) -> String {
    conversation(dialect, turns, stream)
        .replace("question", &format!("question {stream} {dialect}"))
}

async fn send(stage: &Stage, dialect: Dialect, stream: bool, body: &str) -> Vec<Received> {
    send_with(stage, dialect, stream, body, "").await
}

async fn send_with(
    stage: &Stage,
    dialect: Dialect,
    stream: bool,
    body: &str,
    conduct: &str,
) -> Vec<Received> {
    let headers = [
        ("authorization", "Bearer sk-of-the-client"),
        ("x-mock-conduct", conduct),
    ];
    let path = format!("/w/s{}", path(dialect, stream));
    let answer = stage.post(&path, &headers, body.to_owned()).await;
    assert_eq!(
        answer.status,
        200,
        "{dialect}: {}",
        String::from_utf8_lossy(&answer.body)
    );
    stage.mock.received()
}

fn is_summary_call(received: &Received) -> bool {
    received.uri.path().contains("small-model")
        || String::from_utf8_lossy(&received.body).contains("\"small-model\"")
}

fn text(body: &Bytes) -> String {
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test]
async fn the_same_history_gets_the_same_bytes_in_every_dialect() {
    let stage = Stage::new(&summarizes(PATIENT, "")).await;
    let mut events = 0;
    for dialect in Dialect::ALL {
        for stream in [false, true] {
            let body = history(dialect, TURNS, stream);
            let first = send(&stage, dialect, stream, &body).await;
            assert_eq!(first.len(), 2, "{dialect}: a call and the request");
            let (call, sent) = (&first[0], &first[1]);
            assert!(is_summary_call(call) && !is_summary_call(sent));
            assert_eq!(call.headers["authorization"], "Bearer sk-of-the-client");
            assert!(call.api().is_some_and(|(_, counts)| !counts));
            assert!(!call.uri.path().contains("stream") && call.uri.query().is_none());
            let asked = text(&call.body);
            assert!(asked.contains("User: question") && asked.contains("café / answer 3"));
            assert!(
                !asked.contains("answer 21"),
                "{dialect}: what stays is not told"
            );
            let sent_text = text(&sent.body);
            assert!(
                sent_text.contains("[Previous context: 20 turns summarized]\\nUnderstood: "),
                "{dialect}: {sent_text}"
            );
            assert!(sent_text.contains("unknown_field\":1.50"));
            let again = send(&stage, dialect, stream, &body).await;
            assert_eq!(again.len(), 1, "{dialect}: no second call");
            assert_eq!(again[0].body, sent.body, "{dialect}: other bytes");
            // A later request of the conversation begins with the same bytes.
            let longer = history(dialect, TURNS + 2, stream);
            let later = send(&stage, dialect, stream, &longer).await;
            let shared = sent_text.find("answer 29").unwrap();
            assert_eq!(later.len(), 1);
            assert_eq!(later[0].body[..shared], sent.body[..shared], "{dialect}");
            events += 3;
        }
    }
    assert_eq!(stage.mock.rejected(), 0);
    let events = stage.events.wait(events).await;
    assert_eq!(events[0].summary, Some(SummaryOutcome::Made));
    assert_eq!(events[1].summary, None);
    let page = stage.proxy.metrics_page();
    for line in [
        "secateur_summary_calls_total{workload=\"s\",result=\"made\"} 8",
        "secateur_summaries_total{workload=\"s\",outcome=\"made\"} 8",
        "secateur_summary_tokens_total{workload=\"s\",kind=\"input\"}",
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
}

fn fails_at_summaries(status: u16, body: &'static str) -> MockOptions {
    let script = move |received: &Received| {
        is_summary_call(received).then(|| Scripted {
            status,
            headers: vec![("content-type", "application/json".into())],
            body: Bytes::from_static(body.as_bytes()),
        })
    };
    MockOptions {
        script: Some(Arc::new(script)),
        ..MockOptions::default()
    }
}

#[tokio::test]
async fn without_a_summary_the_digest_stands_for_good() {
    for (status, answer) in [
        (500, "{}"),
        (429, "{}"),
        (200, "not json"),
        (200, "{\"choices\":[]}"),
    ] {
        let options = fails_at_summaries(status, answer);
        let stage = Stage::with(&summarizes(PATIENT, ""), options, |_| {}).await;
        for (at, dialect) in Dialect::ALL.into_iter().enumerate() {
            let body = history(dialect, TURNS, false);
            let first = send(&stage, dialect, false, &body).await;
            assert_eq!(first.len(), 2, "{dialect} {status}");
            let sent = text(&first[1].body);
            assert!(sent.contains("20 turns summarized]\""), "{dialect}: {sent}");
            let again = send(&stage, dialect, false, &body).await;
            assert_eq!(again.len(), 1, "{dialect}: it is not asked again");
            assert_eq!(again[0].body, first[1].body, "{dialect}");
            let event = stage.events.last(at * 2 + 1).await;
            assert_eq!(event.summary, Some(SummaryOutcome::Failed));
            assert_eq!(event.failed_open, None);
        }
        assert_eq!(stage.mock.rejected(), 0);
    }
}

#[tokio::test]
async fn a_slow_summary_costs_the_wait_and_nothing_else() {
    let stage = Stage::new(&summarizes("wait_ms = 50", "")).await;
    for (at, dialect) in Dialect::ALL.into_iter().enumerate() {
        let body = history(dialect, TURNS, false);
        let first = send_with(&stage, dialect, false, &body, "delay=400").await;
        let sent = first.iter().find(|one| !is_summary_call(one)).unwrap();
        assert!(text(&sent.body).contains("20 turns summarized]\""));
        let event = stage.events.last(at * 2 + 1).await;
        assert_eq!(event.summary, Some(SummaryOutcome::Late), "{dialect}");
        assert!(
            event.added < Duration::from_millis(350),
            "{:?}",
            event.added
        );
        // The summary came in the meantime. The history keeps its bytes all the same.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let again = send(&stage, dialect, false, &body).await;
        assert_eq!(again.len(), 1);
        assert_eq!(again[0].body, sent.body, "{dialect}");
    }
}

#[tokio::test]
async fn a_summary_can_be_made_beside_the_requests() {
    let more = summarizes("wait_ms = 0", "summary_on_miss = \"earlier\"");
    let stage = Stage::new(&more).await;
    for dialect in Dialect::ALL {
        let body = history(dialect, TURNS, false);
        let first = send(&stage, dialect, false, &body).await;
        let sent = first.iter().find(|one| !is_summary_call(one)).unwrap();
        assert_eq!(sent.body, body.as_bytes(), "{dialect}: not cut yet");
        let mut summarized = None;
        for _ in 0..200 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let next = send(&stage, dialect, false, &body).await;
            let sent = next.iter().find(|one| !is_summary_call(one)).unwrap();
            if text(&sent.body).contains("summarized]\\nUnderstood") {
                summarized = Some(sent.body.clone());
                break;
            }
        }
        let summarized = summarized.unwrap_or_else(|| panic!("{dialect}: never summarized"));
        let again = send(&stage, dialect, false, &body).await;
        assert_eq!(again.last().unwrap().body, summarized);
    }
}

#[tokio::test]
async fn a_used_up_budget_makes_no_calls() {
    let more = summarizes("wait_ms = 20000\ncalls_per_minute = 1", "");
    let stage = Stage::new(&more).await;
    for (at, dialect) in Dialect::ALL.into_iter().enumerate() {
        let body = history(dialect, TURNS, false);
        let received = send(&stage, dialect, false, &body).await;
        let event = stage.events.last(at + 1).await;
        if at == 0 {
            assert_eq!(
                (received.len(), event.summary),
                (2, Some(SummaryOutcome::Made))
            );
        } else {
            assert_eq!(
                (received.len(), event.summary),
                (1, Some(SummaryOutcome::OverBudget))
            );
            assert!(text(&received[0].body).contains("20 turns summarized]\""));
        }
    }
    let page = stage.proxy.metrics_page();
    assert!(
        page.contains("secateur_summaries_total{workload=\"s\",outcome=\"over-budget\"} 3"),
        "{page}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_want_the_same_summary_share_one_call() {
    let stage = Arc::new(Stage::new(&summarizes(PATIENT, "")).await);
    let body = conversation(Dialect::AnthropicMessages, TURNS, false);
    let mut lanes = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (stage, body) = (Arc::clone(&stage), body.clone());
        lanes.spawn(async move {
            let headers = [("x-mock-conduct", "delay=100")];
            stage.post("/w/s/v1/messages", &headers, body).await.status
        });
    }
    while let Some(status) = lanes.join_next().await {
        assert_eq!(status.unwrap(), 200);
    }
    let received = stage.mock.received();
    let (calls, sent): (Vec<_>, Vec<_>) = received.iter().partition(|one| is_summary_call(one));
    assert_eq!((calls.len(), sent.len()), (1, 8));
    assert!(sent.iter().all(|one| one.body == sent[0].body));
    assert_eq!(calls[0].api(), Some((Api::Messages, false)));
}

#[tokio::test]
async fn a_restart_gives_the_same_bytes_from_the_folder() {
    let folder = std::env::temp_dir().join(format!("secateur-restart-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let more = format!(
        "{}[summaries]\nfolder = \"{}\"\n",
        summarizes(PATIENT, ""),
        folder.display()
    );
    let body = conversation(Dialect::OpenaiChat, TURNS, false);
    let before = Stage::new(&more).await;
    let first = send(&before, Dialect::OpenaiChat, false, &body).await;
    assert_eq!(first.len(), 2);
    before.proxy.shutdown().await;
    // The new upstream would write another summary.
    let options = fails_at_summaries(500, "{}");
    let after = Stage::with(&more, options, |_| {}).await;
    let again = send(&after, Dialect::OpenaiChat, false, &body).await;
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].body, first[1].body);
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn neither_the_call_nor_its_failure_shows_a_prompt_or_a_credential() {
    for options in [MockOptions::default(), fails_at_summaries(500, "{}")] {
        let stage = Stage::with(&summarizes(PATIENT, ""), options, |_| {}).await;
        let body = conversation(Dialect::OpenaiChat, TURNS, false)
            .replace("question 3", "planted-prompt-text");
        send(&stage, Dialect::OpenaiChat, false, &body).await;
        let event = stage.events.last(1).await;
        let shown = format!(
            "{}{event:?}{}",
            stage.log.text(),
            stage.proxy.metrics_page()
        );
        assert!(shown.contains("summary_call"), "{shown}");
        for secret in ["planted-prompt-text", "sk-of-the-client", "Understood"] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
    }
}
