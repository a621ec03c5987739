//! What stands over the configuration: rollbacks, switches, held-out sessions, posted scores.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use secateur_canary::{CanaryStore, Later, MemoryStore, PastRequest, StoreError};
use secateur_core::Dialect;
use secateur_ledger::{
    Controls, Ledger, LedgerOptions, Retired, Score, StackEvent, StackEventKind, Switch,
};
use secateur_mock::{MockOptions, Received, Scripted};
use secateur_proxy::audit::AuditEvent;
use secateur_proxy::{LedgerSink, Proxy, ProxyParts, hash_key};
use serde_json::json;

use crate::canary::{CHAT, forgets, is_original, scores, stage_with, watched};
use crate::stage::{PRUNES, Stage, config, conversation};

fn reason(event: &AuditEvent, mechanic: &str) -> String {
    let step = event
        .steps
        .iter()
        .find(|step| step.mechanic.name() == mechanic);
    let skipped = step.and_then(|step| step.skipped.as_deref());
    skipped.unwrap_or("applied").to_owned()
}

fn chat(stream: bool) -> String {
    conversation(Dialect::OpenaiChat, 21, stream)
}

#[tokio::test]
async fn a_stack_whose_answers_degrade_is_rolled_back_and_comes_back_by_a_person() {
    for stream in [false, true] {
        let (stage, store) =
            stage_with(&watched("sample_pct = 100\nmax_concurrent = 64"), forgets()).await;
        // A replica with the same store.
        let mut parts = ProxyParts::new(config(&stage.mock.url(), PRUNES));
        parts.canary = Arc::clone(&store) as Arc<dyn CanaryStore>;
        let replica = Proxy::start(parts).await.unwrap();
        for n in 1..=30 {
            let answer = stage.post(CHAT, &[], chat(stream)).await;
            assert_eq!(answer.headers["x-secateur-stack"], "m7", "request {n}");
            scores(&store, n).await;
        }
        let rolled_back = || store.controls().borrow().is_retired("p", "m7");
        let started = Instant::now();
        while !rolled_back() {
            assert!(started.elapsed() < Duration::from_secs(5));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let event = store.events().remove(0);
        assert_eq!(
            (event.kind, event.samples),
            (StackEventKind::RolledBack, Some(30))
        );
        assert!(event.mean < Some(0.6) && event.reason.contains("under the floor 0.950"));
        // Here and on the replica the next request goes out as it came.
        let answer = stage.post(CHAT, &[], chat(stream)).await;
        assert_eq!(answer.headers["x-secateur-stack"], "none");
        let seen = stage.events.last(31).await;
        assert_eq!(
            (reason(&seen, "m7").as_str(), seen.bytes_after),
            ("retired", seen.bytes_before)
        );
        let before = stage.mock.requests();
        let replica_url = replica.url();
        let on_replica = crate::stage::request(
            &stage.client,
            &replica_url,
            http::Method::POST,
            CHAT,
            &[],
            chat(stream),
        );
        let answer = on_replica.await.unwrap();
        assert_eq!(answer.headers()["x-secateur-stack"], "none");
        assert_eq!(stage.mock.requests(), before + 1);
        let page = stage.proxy.metrics_page();
        assert!(page.contains("secateur_stack_rollbacks_total{workload=\"p\",stack=\"m7\"} 1"));
        let log = stage.log.text();
        assert_eq!(log.matches("stack_rolled_back").count(), 1, "{log}");
        // A person takes the risk; the old scores are not held against it.
        assert!(store.resume("p", "m7", "ada", now()));
        tokio::time::sleep(Duration::from_millis(5)).await;
        let answer = stage.post(CHAT, &[], chat(stream)).await;
        assert_eq!(answer.headers["x-secateur-stack"], "m7");
        scores(&store, 31).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!rolled_back());
        replica.shutdown().await;
    }
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.unwrap().as_millis()).unwrap()
}

/// How long decisions may take to reach a replica.
const EVERYWHERE: Duration = Duration::from_secs(5);

#[tokio::test]
async fn replicas_on_one_sqlite_share_a_rollback_and_a_resume_within_five_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("ledger.db").display());
    replicas_share_a_rollback_and_a_resume(&url, folder.path()).await;
}

#[tokio::test]
async fn replicas_on_one_postgres_share_a_rollback_and_a_resume_within_five_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let url = secateur_ledger::testing::Postgres::shared().new_database();
    replicas_share_a_rollback_and_a_resume(&url, folder.path()).await;
}

async fn replicas_share_a_rollback_and_a_resume(url: &str, folder: &Path) {
    let mut ledgers = Vec::new();
    for name in ["a", "b"] {
        let options = LedgerOptions::new(url, folder.join(name));
        ledgers.push(Ledger::open(options).await.unwrap());
    }
    let keys = watched("sample_pct = 100\nmin_samples = 10\nmax_concurrent = 64");
    let ledger = ledgers[0].clone();
    let stage = Stage::with(&keys, forgets(), move |parts| {
        parts.canary = Arc::new(ledger);
    })
    .await;
    let mut parts = ProxyParts::new(config(&stage.mock.url(), PRUNES));
    parts.canary = Arc::new(ledgers[1].clone());
    let replica = Proxy::start(parts).await.unwrap();
    let is_off = || ledgers[0].controls().borrow().is_retired("p", "m7");
    for _ in 0..60 {
        stage.post(CHAT, &[], chat(false)).await;
        tokio::time::sleep(Duration::from_millis(30)).await;
        if is_off() {
            break;
        }
    }
    assert!(is_off(), "not rolled back");
    let took = until_stack(&stage, &replica.url(), "none").await;
    println!("the rollback reached the replica after {took:?}");
    let events = ledgers[1].stack_events(Some("p"), 0).await.unwrap();
    assert_eq!(events.len(), 1, "{events:?}");
    // A person resumes it on the replica; where it was rolled back it comes back too.
    assert!(ledgers[1].resume("p", "m7", "ada", now()).await.unwrap());
    let took = until_stack(&stage, &stage.proxy.url(), "m7").await;
    println!("the resume came back after {took:?}");
    until_stack(&stage, &replica.url(), "m7").await;
    replica.shutdown().await;
    for ledger in ledgers {
        ledger.close().await;
    }
}

/// Sends requests until they go out with this stack; how long that took.
async fn until_stack(stage: &Stage, url: &str, stack: &str) -> Duration {
    let started = Instant::now();
    loop {
        let (client, post) = (&stage.client, http::Method::POST);
        let sent = crate::stage::request(client, url, post, CHAT, &[], chat(false));
        if sent.await.unwrap().headers()["x-secateur-stack"] == stack {
            return started.elapsed();
        }
        assert!(started.elapsed() < EVERYWHERE, "still not {stack}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_person_switches_a_mechanic_and_the_next_request_obeys() {
    let (stage, store) = stage_with(PRUNES, MockOptions::default()).await;
    let switch = |workload: &str, is_on| Switch {
        workload: workload.into(),
        mechanic: "m7".into(),
        is_on,
        at: 0,
        by: "ada".into(),
    };
    assert_eq!(
        stage.post(CHAT, &[], chat(false)).await.headers["x-secateur-stack"],
        "m7"
    );
    store.set_switch(&switch("p", false));
    assert_eq!(
        stage.post(CHAT, &[], chat(false)).await.headers["x-secateur-stack"],
        "none"
    );
    assert_eq!(reason(&stage.events.last(2).await, "m7"), "switched-off");
    assert_eq!(stage.mock.received().pop().unwrap().body, chat(false));
    store.set_switch(&switch("p", true));
    assert_eq!(
        stage.post(CHAT, &[], chat(false)).await.headers["x-secateur-stack"],
        "m7"
    );
    // Where the file says nothing, bodies are looked at from now on.
    let plain = "/v1/chat/completions";
    stage.post(plain, &[], chat(false)).await;
    assert!(stage.events.last(4).await.steps.is_empty());
    store.set_switch(&switch("default", true));
    stage.post(plain, &[], chat(false)).await;
    let event = stage.events.last(5).await;
    assert!(!event.steps.is_empty() && reason(&event, "m3") == "not-opted-in");
}

#[tokio::test]
async fn a_share_of_the_sessions_goes_unchanged() {
    let more = PRUNES.replace("[workload.p]\n", "[workload.p]\nholdout_pct = 50\n");
    let stage = Stage::new(&more).await;
    let mut held = Vec::new();
    for n in 0..24 {
        for _ in 0..2 {
            let id = format!("secret session {n}");
            let answer = stage
                .post(CHAT, &[("x-secateur-session", &id)], chat(false))
                .await;
            assert_eq!(answer.status, 200);
        }
    }
    let events = stage.events.wait(48).await;
    for pair in events.chunks(2) {
        assert_eq!(pair[0].session, pair[1].session);
        assert_eq!(pair[0].held_out, pair[1].held_out);
        held.push(pair[0].held_out);
        let expected = if pair[0].held_out {
            "held-out"
        } else {
            "applied"
        };
        assert_eq!(reason(&pair[0], "m7"), expected);
        assert_eq!(
            pair[0].held_out,
            pair[0].bytes_after == pair[0].bytes_before
        );
        assert!(pair[0].chars_before.is_some() && pair[0].model.is_some());
    }
    let count = held.iter().filter(|held| **held).count();
    assert!((4..=20).contains(&count), "{held:?}");
    assert!(!format!("{events:?}{}", stage.log.text()).contains("secret session"));
    // The header is for the proxy alone.
    let received = stage.mock.received();
    assert!(
        received
            .iter()
            .all(|one| !one.headers.contains_key("x-secateur-session"))
    );
}

#[tokio::test]
async fn bodies_that_the_provider_rejects_switch_their_stack_off() {
    let script = |received: &Received| {
        (!is_original(received)).then(|| Scripted {
            status: 400,
            headers: Vec::new(),
            body: "{}".into(),
        })
    };
    let options = MockOptions {
        script: Some(Arc::new(script)),
        ..MockOptions::default()
    };
    let (stage, store) = stage_with(PRUNES, options).await;
    for _ in 0..10 {
        assert_eq!(stage.post(CHAT, &[], chat(false)).await.status, 200);
    }
    let started = Instant::now();
    while !store.controls().borrow().is_retired("p", "m7") {
        assert!(started.elapsed() < Duration::from_secs(5));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let before = stage.mock.requests();
    assert_eq!(before, 20);
    stage.post(CHAT, &[], chat(false)).await;
    assert_eq!(stage.mock.requests(), before + 1);
    let kinds: Vec<_> = store.events().iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [StackEventKind::Warning, StackEventKind::RolledBack]);
}

#[tokio::test]
async fn clients_post_scores_of_their_own() {
    let (stage, store) = stage_with(PRUNES, MockOptions::default()).await;
    let answer = stage.post(CHAT, &[], chat(false)).await;
    let id = answer.headers["x-secateur-request-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let post = |id: String, score: serde_json::Value| {
        let body = json!({"request_id": id, "score": score}).to_string();
        stage.post("/v1/secateur/scores", &[], body)
    };
    // Sent again, also with another score: the first stands.
    for score in [0.5, 0.5, 0.9] {
        let posted = post(id.clone(), json!(score)).await;
        assert_eq!(
            (posted.status.as_u16(), &posted.json()["stack"]),
            (200, &json!("m7"))
        );
        assert_eq!(posted.json()["score"], 0.5);
    }
    let page = stage.proxy.metrics_page();
    assert!(
        page.contains(
            "secateur_canary_scores_total{workload=\"p\",stack=\"m7\",scorer=\"client\"} 1\n"
        ),
        "{page}"
    );
    let score = scores(&store, 1).await.remove(0);
    assert_eq!(
        (score.score, score.scorer.as_str(), score.request),
        (0.5, "client", Some(id.clone()))
    );
    let unknown = post("0123456789abcdef".into(), json!(1)).await;
    assert_eq!(unknown.status, 404);
    assert_eq!(unknown.json()["error"]["code"], "unknown-request");
    for bad in [json!(1.5), json!("1"), json!(null)] {
        let refused = post(id.clone(), bad).await;
        assert_eq!(
            (refused.status.as_u16(), &refused.json()["error"]["code"]),
            (400, &json!("not-a-score"))
        );
    }
    let wrong = stage.get("/v1/secateur/scores").await;
    assert_eq!(wrong.status, 405);
    assert_eq!(stage.mock.requests(), 1, "scores stay with the proxy");
}

#[tokio::test]
async fn a_burst_of_posted_scores_is_judged_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("ledger.db").display());
    let ledger = Ledger::open(LedgerOptions::new(url, folder.path().join("spool")))
        .await
        .unwrap();
    let canary = ledger.clone();
    let stage = Stage::with(PRUNES, MockOptions::default(), move |parts| {
        parts.canary = Arc::new(canary);
    })
    .await;
    let mut ids = Vec::new();
    for _ in 0..30 {
        let answer = stage.post(CHAT, &[], chat(false)).await;
        let id = answer.headers["x-secateur-request-id"].to_str().unwrap();
        ids.push(id.to_owned());
    }
    for id in ids {
        let body = json!({"request_id": id, "score": 0.6}).to_string();
        let posted = stage.post("/v1/secateur/scores", &[], body).await;
        assert_eq!(posted.status, 200);
    }
    // Nothing comes after the last one that could have it judged again.
    let mut controls = ledger.controls();
    let retired = controls.wait_for(|controls| controls.is_retired("p", "m7"));
    let retired = tokio::time::timeout(Duration::from_secs(10), retired).await;
    assert!(retired.is_ok(), "not rolled back");
}

#[tokio::test]
async fn scores_are_posted_with_a_key_of_the_same_workload() {
    let key = |name: &str, workload: &str| {
        let credentials = "credential_env = { openai = \"VALUE_real\" }";
        let hash = hash_key(name);
        format!(
            "[[key]]\nname = \"{name}\"\nsha256 = \"{hash}\"\nworkload = \"{workload}\"\n{credentials}\n"
        )
    };
    let more = format!(
        "{PRUNES}[workload.q]\n{}{}",
        key("sk-p", "p"),
        key("sk-q", "q")
    );
    let (stage, store) = stage_with(&more, MockOptions::default()).await;
    let with = |key: &str| format!("Bearer {key}");
    let answer = stage
        .post(CHAT, &[("authorization", &with("sk-p"))], chat(false))
        .await;
    let id = answer.headers["x-secateur-request-id"].to_str().unwrap();
    let body = json!({"request_id": id, "score": 1}).to_string();
    for (headers, status) in [
        (vec![], 401),
        (vec![("authorization", with("sk-none"))], 401),
        (vec![("authorization", with("sk-q"))], 404),
        (vec![("authorization", with("sk-p"))], 200),
    ] {
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let posted = stage
            .post("/v1/secateur/scores", &headers, body.clone())
            .await;
        assert_eq!(posted.status.as_u16(), status, "{headers:?}");
    }
    assert_eq!(scores(&store, 1).await[0].score, 1.0);
}

#[tokio::test]
async fn the_first_posted_score_stands_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("ledger.db").display());
    let ledger = Ledger::open(LedgerOptions::new(url, folder.path().join("spool")))
        .await
        .unwrap();
    let started = async || {
        let (canary, sink) = (ledger.clone(), ledger.clone());
        Stage::with(PRUNES, MockOptions::default(), move |parts| {
            parts.canary = Arc::new(canary);
            parts.sink = Arc::new(LedgerSink(sink));
        })
        .await
    };
    let post = async |stage: &Stage, id: &str, score: f64| {
        let body = json!({"request_id": id, "score": score}).to_string();
        let posted = stage.post("/v1/secateur/scores", &[], body).await;
        assert_eq!(posted.status, 200);
        posted.json()["score"].clone()
    };
    let stage = started().await;
    let answer = stage.post(CHAT, &[], chat(false)).await;
    let id = answer.headers["x-secateur-request-id"].to_str().unwrap();
    assert_eq!(post(&stage, id, 0.5).await, 0.5);
    let in_ledger = async || {
        let scores = ledger.scores("p", "m7", 0, 9).await.unwrap();
        let row = ledger.row(id).await.unwrap();
        scores.len() == 1 && row.is_some()
    };
    let began = Instant::now();
    while !in_ledger().await {
        assert!(began.elapsed() < Duration::from_secs(10));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let again = started().await;
    for score in [0.7, 0.9] {
        assert_eq!(post(&again, id, score).await, 0.5);
    }
    let page = again.proxy.metrics_page();
    assert!(!page.contains("secateur_canary_scores_total{"), "{page}");
}

/// A store whose database is away. It takes scores, as a ledger does that spools them.
#[derive(Debug, Default)]
struct Away(MemoryStore);

fn away<T: Send + 'static>() -> Later<'static, T> {
    Box::pin(std::future::ready(Err(StoreError("no database".into()))))
}

impl CanaryStore for Away {
    fn record_score(&self, score: Score) {
        self.0.record_score(score);
    }

    fn scores<'s>(&'s self, _: &'s str, _: &'s str, _: i64, _: u32) -> Later<'s, Vec<Score>> {
        away()
    }

    fn resumed_at<'s>(&'s self, _: &'s str, _: &'s str) -> Later<'s, Option<i64>> {
        away()
    }

    fn retire<'s>(&'s self, _: &'s Retired, _: &'s StackEvent) -> Later<'s, bool> {
        away()
    }

    fn warn<'s>(&'s self, _: &'s StackEvent) -> Later<'s, ()> {
        away()
    }

    fn request<'s>(&'s self, _: &'s str) -> Later<'s, Option<PastRequest>> {
        away()
    }

    fn controls(&self) -> tokio::sync::watch::Receiver<Arc<Controls>> {
        self.0.controls()
    }
}

#[tokio::test]
async fn without_its_store_the_canary_judges_by_what_this_process_saw() {
    let store = Arc::new(Away::default());
    let canary = Arc::clone(&store) as Arc<dyn CanaryStore>;
    let keys = watched("sample_pct = 100\nmax_concurrent = 64");
    let stage = Stage::with(&keys, forgets(), move |parts| parts.canary = canary).await;
    for n in 1..=30 {
        let answer = stage.post(CHAT, &[], chat(false)).await;
        assert_eq!(answer.headers["x-secateur-stack"], "m7", "request {n}");
        scores(&store.0, n).await;
    }
    let started = Instant::now();
    loop {
        let answer = stage.post(CHAT, &[], chat(false)).await;
        if answer.headers["x-secateur-stack"] == "none" {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(5), "still on");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let log = stage.log.text();
    assert_eq!(log.matches("stack_rolled_back").count(), 1, "{log}");
    assert!(log.contains("canary_store_failed"), "{log}");
}
