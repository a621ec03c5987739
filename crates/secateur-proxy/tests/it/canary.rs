//! Shadow calls: what is sent, when, how much of it, and what comes of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use secateur_canary::{MemoryStore, STACK_OF_ORIGINALS};
use secateur_core::Dialect;
use secateur_ledger::Score;
use secateur_mock::{Mock, MockOptions, Received, Scripted};
use serde_json::json;

use crate::stage::{PRUNES, Stage, conversation, path};

pub(crate) const CHAT: &str = "/w/p/v1/chat/completions";

/// A workload that prunes and compares, with these keys.
pub(crate) fn watched(keys: &str) -> String {
    format!("{PRUNES}[workload.p.canary]\n{keys}\n")
}

/// A stage whose canary keeps its things where the test can see them.
pub(crate) async fn stage_with(more: &str, options: MockOptions) -> (Stage, Arc<MemoryStore>) {
    let store = Arc::new(MemoryStore::default());
    let canary = Arc::clone(&store);
    let stage = Stage::with(more, options, move |parts| parts.canary = canary).await;
    (stage, store)
}

/// The scores of M7, once there are so many.
pub(crate) async fn scores(store: &MemoryStore, count: usize) -> Vec<Score> {
    for _ in 0..1000 {
        if store.all_scores("p", "m7").len() >= count {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let scores = store.all_scores("p", "m7");
    assert_eq!(scores.len(), count, "{scores:#?}");
    scores
}

/// What came of the shadow calls with this result.
async fn shadows(stage: &Stage, result: &str, count: usize) {
    let wanted = format!(
        "secateur_shadow_calls_total{{workload=\"p\",stack=\"m7\",result=\"{result}\"}} {count}"
    );
    for _ in 0..1000 {
        if stage
            .proxy
            .metrics_page()
            .lines()
            .any(|line| line == wanted)
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{wanted}\n{}", stage.proxy.metrics_page());
}

/// Whether a request is the original and not the pruned one.
pub(crate) fn is_original(received: &Received) -> bool {
    String::from_utf8_lossy(&received.body).contains("question 6\"")
}

/// Answers badly where the turns in the middle are missing.
pub(crate) fn forgets() -> MockOptions {
    let script = |received: &Received| {
        if is_original(received) {
            return None;
        }
        let words = "I cannot find that in our conversation, could you tell me again please?";
        let is_stream = String::from_utf8_lossy(&received.body).contains("\"stream\":true");
        let (kind, body) = if is_stream {
            let delta = json!({"choices": [{"index": 0, "delta": {"content": words}, "finish_reason": null}]});
            let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
            let text = format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n");
            ("text/event-stream", text)
        } else {
            let message = json!({"role": "assistant", "content": words});
            let text =
                json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
            ("application/json", text.to_string())
        };
        Some(Scripted {
            status: 200,
            headers: vec![("content-type", kind.to_owned())],
            body: body.into(),
        })
    };
    MockOptions {
        script: Some(Arc::new(script)),
        ..MockOptions::default()
    }
}

#[tokio::test]
async fn changed_requests_are_compared_in_every_dialect_streamed_or_not() {
    let (stage, store) = stage_with(
        &watched("sample_pct = 100\nmax_concurrent = 64"),
        MockOptions::default(),
    )
    .await;
    let mut sent = 0;
    for dialect in Dialect::ALL {
        for stream in [false, true] {
            let body = conversation(dialect, 21, stream);
            let headers = [
                ("authorization", "Bearer sk-secret-credential"),
                (
                    "traceparent",
                    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                ),
            ];
            let target = format!("/w/p{}", path(dialect, stream));
            let answer = stage.post(&target, &headers, body.clone()).await;
            assert_eq!(answer.status, 200);
            sent += 1;
            scores(&store, sent).await;
            let received = stage.mock.received();
            assert_eq!(received.len(), 2, "{dialect} {stream}");
            assert!(received[0].body.len() < received[1].body.len());
            // Byte for byte, with the client's own credential, and not under the client's trace.
            assert_eq!(received[1].body, Bytes::from(body));
            assert_eq!(
                received[1].headers["authorization"],
                "Bearer sk-secret-credential"
            );
            assert!(!received[1].headers.contains_key("traceparent"));
            assert_eq!(received[0].uri, received[1].uri);
        }
    }
    assert_eq!(stage.mock.rejected(), 0);
    for score in scores(&store, 8).await {
        assert!(
            (score.score - 1.0).abs() < 1e-9,
            "the same in other words: {score:?}"
        );
        assert_eq!(
            (score.scorer.as_str(), score.workload.as_str()),
            ("deterministic", "p")
        );
    }
    // Shadows are not requests of their own.
    assert_eq!(stage.events.wait(8).await.len(), 8);
    let everything = format!(
        "{}{:?}{:?}",
        stage.log.text(),
        store,
        stage.events.wait(8).await
    );
    assert!(!everything.contains("sk-secret-credential"));
    assert!(!stage.log.text().contains("question"));
}

#[tokio::test]
async fn requests_that_nothing_changed_have_no_shadow() {
    let (stage, store) = stage_with(&watched("sample_pct = 100"), MockOptions::default()).await;
    let chat = |turns| conversation(Dialect::OpenaiChat, turns, false);
    stage.post(CHAT, &[], chat(3)).await;
    stage
        .post(CHAT, &[("x-secateur-bypass", "1")], chat(21))
        .await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(
        (stage.mock.requests(), store.all_scores("p", "m7").len()),
        (2, 0)
    );
}

#[tokio::test]
async fn a_client_waits_no_longer_when_all_its_requests_are_compared() {
    let mut took = Vec::new();
    for pct in [0, 100] {
        let keys = format!("sample_pct = {pct}\nmax_concurrent = 64");
        let (stage, store) = stage_with(&watched(&keys), MockOptions::default()).await;
        let started = Instant::now();
        for _ in 0..10 {
            let body = conversation(Dialect::OpenaiChat, 21, true);
            stage
                .post(CHAT, &[("x-mock-conduct", "delay=150")], body)
                .await;
        }
        took.push(started.elapsed());
        scores(&store, pct / 10).await;
    }
    println!(
        "10 requests without shadows {:?}, with {:?}",
        took[0], took[1]
    );
    // Every request takes 150 ms at the provider; waiting for the shadow would double it.
    assert!(took[1] < took[0].mul_f64(1.5), "{took:?}");
}

#[tokio::test]
async fn calls_in_an_hour_and_calls_at_a_time_are_bounded() {
    let (stage, store) = stage_with(
        &watched("sample_pct = 100\nmax_calls_per_hour = 3"),
        MockOptions::default(),
    )
    .await;
    for n in 0..8 {
        stage
            .post(CHAT, &[], conversation(Dialect::OpenaiChat, 21, false))
            .await;
        shadows(
            &stage,
            if n < 3 { "scored" } else { "calls-per-hour" },
            if n < 3 { n + 1 } else { n - 2 },
        )
        .await;
    }
    assert_eq!(
        (stage.mock.requests(), scores(&store, 3).await.len()),
        (11, 3)
    );

    let (stage, store) = stage_with(
        &watched("sample_pct = 100\nmax_concurrent = 1"),
        MockOptions::default(),
    )
    .await;
    let one = || async {
        let body = conversation(Dialect::OpenaiChat, 21, false);
        stage
            .post(CHAT, &[("x-mock-conduct", "delay=400")], body)
            .await;
    };
    tokio::join!(one(), one(), one(), one());
    shadows(&stage, "busy", 3).await;
    scores(&store, 1).await;
    assert_eq!(stage.mock.requests(), 5);

    let (stage, _) = stage_with(
        &watched("sample_pct = 100\nmax_tokens_per_day = 10"),
        MockOptions::default(),
    )
    .await;
    one_request(&stage).await;
    shadows(&stage, "tokens-per-day", 1).await;
    let (stage, _) = stage_with(
        &watched("sample_pct = 100\nmax_body_mb = 0.01"),
        MockOptions::default(),
    )
    .await;
    let long = conversation(Dialect::OpenaiChat, 401, false);
    stage.post(CHAT, &[], long).await;
    shadows(&stage, "too-large", 1).await;
    assert_eq!(stage.mock.requests(), 1);
}

#[tokio::test]
async fn money_is_bounded_by_the_day_and_told_once() {
    // Each call costs about 250 tokens of input and 20 of output: 0.0005 dollars.
    let (stage, store) = stage_with(
        &watched("sample_pct = 100\nmax_usd_per_day = 0.002"),
        MockOptions::default(),
    )
    .await;
    let scored = || store.all_scores("p", "m7").len();
    let mut sent = 0;
    let count = |result: &str| {
        let name = format!(
            "secateur_shadow_calls_total{{workload=\"p\",stack=\"m7\",result=\"{result}\"}} "
        );
        let page = stage.proxy.metrics_page();
        let found = page.lines().find_map(|line| line.strip_prefix(&name));
        found.map_or(0, |count| count.parse::<usize>().unwrap())
    };
    while count("usd-per-day") < 3 {
        one_request(&stage).await;
        sent += 1;
        for _ in 0..500 {
            if count("scored") + count("usd-per-day") == sent {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(sent < 100, "{}", stage.proxy.metrics_page());
    }
    assert!((2..40).contains(&scored()), "{} of {sent}", scored());
    assert_eq!(count("scored") + 3, sent);
    let log = stage.log.text();
    assert_eq!(log.matches("shadow_budget_spent").count(), 1, "{log}");
    assert!(log.contains("usd-per-day"));
    // What was spent, by the provider's counts, stays within the budget but for the last call's output.
    let page = stage.proxy.metrics_page();
    let line = page.lines().find(|line| {
        line.starts_with("secateur_spent_usd_total{workload=\"p\",purpose=\"shadow\"}")
    });
    let usd: f64 = line
        .and_then(|line| line.rsplit(' ').next())
        .unwrap()
        .parse()
        .unwrap();
    assert!(usd > 0.0005 && usd < 0.003, "{usd}");
}

/// Its id.
async fn one_request(stage: &Stage) -> String {
    let body = conversation(Dialect::OpenaiChat, 21, false);
    let answer = stage.post(CHAT, &[], body).await;
    assert_eq!(answer.status, 200);
    let id = answer.headers["x-secateur-request-id"].to_str();
    id.unwrap().to_owned()
}

#[tokio::test]
async fn an_upstream_that_fails_the_shadow_gives_no_score() {
    let script = |received: &Received| {
        is_original(received).then(|| Scripted {
            status: 529,
            headers: vec![("content-type", "application/json".to_owned())],
            body: r#"{"error":{"type":"overloaded_error"}}"#.into(),
        })
    };
    let options = MockOptions {
        script: Some(Arc::new(script)),
        ..MockOptions::default()
    };
    let (stage, store) = stage_with(&watched("sample_pct = 100"), options).await;
    one_request(&stage).await;
    shadows(&stage, "upstream-error", 1).await;
    assert_eq!(store.all_scores("p", "m7").len(), 0);
}

#[tokio::test]
async fn commands_and_judges_score_what_they_are_given() {
    let judge = |received: &Received| {
        let given: serde_json::Value = serde_json::from_slice(&received.body).unwrap();
        let is_whole = ["pruned", "original"]
            .iter()
            .all(|key| given[key]["text"].is_string())
            && given["stack"] == "m7"
            && received.headers["authorization"] == "JUDGE";
        Some(Scripted {
            status: 200,
            headers: Vec::new(),
            body: json!({"score": if is_whole { 0.25 } else { 0.0 }})
                .to_string()
                .into(),
        })
    };
    let judge = Mock::start(MockOptions {
        script: Some(Arc::new(judge)),
        ..MockOptions::default()
    })
    .await
    .unwrap();
    let url = judge.url();
    for (scorer, name, expected) in [
        (
            format!(
                "{{ url = \"{url}/judge\", header_env = {{ authorization = \"VALUE_JUDGE\" }} }}"
            ),
            "http",
            0.25,
        ),
        (
            "{ command = [\"sh\", \"-c\", \"grep -q original && echo 0.5\"] }".to_owned(),
            "command",
            0.5,
        ),
    ] {
        let keys = format!("sample_pct = 100\nscorer = {scorer}");
        let (stage, store) = stage_with(&watched(&keys), MockOptions::default()).await;
        one_request(&stage).await;
        let score = scores(&store, 1).await.remove(0);
        assert_eq!((score.scorer.as_str(), score.score), (name, expected));
    }
}

#[tokio::test]
async fn a_scorer_that_hangs_or_talks_nonsense_is_counted_and_no_score() {
    for (script, result) in [
        ("sleep 30", "scorer-timed-out"),
        ("echo fine", "scorer-not-a-score"),
    ] {
        let keys = format!(
            "sample_pct = 100\nscorer_timeout_s = 0.3\nscorer = {{ command = [\"sh\", \"-c\", \"{script}\"] }}"
        );
        let (stage, store) = stage_with(&watched(&keys), MockOptions::default()).await;
        one_request(&stage).await;
        shadows(&stage, result, 1).await;
        assert_eq!(store.all_scores("p", "m7").len(), 0);
    }
}

#[tokio::test]
async fn originals_that_differ_from_themselves_lower_the_floor() {
    // Every answer is another one: an original agrees with itself no more than with the pruned.
    let script = |received: &Received| {
        static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let _ = received;
        let n = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let words = ["yes", "no", "maybe"][n % 3];
        Some(Scripted {
            status: 200,
            headers: vec![("content-type", "application/json".to_owned())],
            body: json!({"choices": [{"message": {"content": words}}]})
                .to_string()
                .into(),
        })
    };
    let options = MockOptions {
        script: Some(Arc::new(script)),
        ..MockOptions::default()
    };
    let keys = "sample_pct = 100\ncontrol_pct = 100\nmin_samples = 5\nwindow = 50";
    let (stage, store) = stage_with(&watched(keys), options).await;
    for n in 1..=12 {
        one_request(&stage).await;
        scores(&store, n).await;
    }
    let noise = store.all_scores("p", STACK_OF_ORIGINALS);
    assert!(
        noise.len() >= 11 && noise.iter().all(|score| score.score == 0.0),
        "{noise:?}"
    );
    assert!(store.events().is_empty(), "{:?}", store.events());
}

#[tokio::test]
async fn what_shadow_calls_cost_is_recorded_call_by_call() {
    let keys = "sample_pct = 100\ncontrol_pct = 100\nmax_concurrent = 64";
    let (stage, store) = stage_with(&watched(keys), MockOptions::default()).await;
    let ids = [one_request(&stage).await, one_request(&stage).await];
    scores(&store, 2).await;
    let calls = stage.events.spending();
    let mut found: Vec<&str> = calls.iter().map(|call| &*call.id).collect();
    found.sort_unstable();
    let mut wanted: Vec<String> = ids
        .iter()
        .flat_map(|id| [format!("{id}:control"), format!("{id}:shadow")])
        .collect();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
    for call in &calls {
        assert_eq!((&*call.workload, &*call.stack), ("p", "m7"));
        assert!(
            call.usd.is_some_and(|usd| usd > 0.0 && usd < 0.1),
            "{call:?}"
        );
    }
    let spent: f64 = calls.iter().filter_map(|call| call.usd).sum();
    let page = stage.proxy.metrics_page();
    let counted = page.lines().find_map(|line| {
        line.strip_prefix("secateur_spent_usd_total{workload=\"p\",purpose=\"shadow\"} ")
    });
    let counted: f64 = counted.unwrap().parse().unwrap();
    assert!((counted - spent).abs() < 1e-9, "{counted} {spent}");
}

#[tokio::test]
async fn a_scorer_that_cannot_run_is_told_once_and_costs_no_more_calls() {
    let keys = "sample_pct = 100\nmax_concurrent = 64\nscorer = { command = [\"/nope/judge\"] }";
    let (stage, _) = stage_with(&watched(keys), MockOptions::default()).await;
    for n in 1..=5 {
        one_request(&stage).await;
        shadows(&stage, "scorer-unreachable", n).await;
    }
    for n in 1..=20 {
        one_request(&stage).await;
        shadows(&stage, "scorer-rests", n).await;
    }
    assert_eq!(stage.mock.requests(), 25 + 5, "each rest saves a call");
    assert_eq!(stage.events.spending().len(), 5);
    let log = stage.log.text();
    for event in ["\"scorer_failed\"", "\"scorer_rests\""] {
        assert_eq!(log.matches(event).count(), 1, "{event} {log}");
    }
}
