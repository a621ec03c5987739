//! What a request leaves behind, and what it must not.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use secateur_core::Dialect;
use secateur_mock::{Mock, MockOptions};
use secateur_proxy::config::LogFormat;
use secateur_proxy::{Captured, Log, hash_key};

use crate::stage::{PRUNES, Stage, conversation, path};

#[tokio::test]
async fn health_readiness_and_metrics_answer() {
    let stage = Stage::new(PRUNES).await;
    assert_eq!(stage.get("/healthz").await.body, "ok\n");
    assert_eq!(stage.get("/readyz").await.body, "ready\n");
    stage
        .post(
            "/w/p/v1/chat/completions",
            &[],
            conversation(Dialect::OpenaiChat, 21, false),
        )
        .await;
    stage
        .post(
            "/w/p/v1/chat/completions",
            &[],
            conversation(Dialect::OpenaiChat, 3, false),
        )
        .await;
    stage.events.wait(2).await;
    let page = stage.get("/metrics").await;
    assert!(
        page.headers["content-type"]
            .to_str()
            .unwrap()
            .starts_with("application/openmetrics-text; version=1.0.0")
    );
    let page = String::from_utf8(page.body.to_vec()).unwrap();
    for line in [
        "secateur_requests_total{workload=\"p\",key=\"\",dialect=\"openai-chat\",status=\"200\",ended=\"complete\"} 2",
        "secateur_mechanics_applied_total{workload=\"p\",mechanic=\"m7\"} 1",
        "secateur_skips_total{workload=\"p\",mechanic=\"m7\",reason=\"not-eligible\"} 1",
        "secateur_priced_requests_total{workload=\"p\"} 2",
        "secateur_in_flight_requests 0",
        "secateur_added_latency_seconds_count{workload=\"p\"} 2",
    ] {
        assert!(page.lines().any(|found| found == line), "{line}\n{page}");
    }
    assert!(
        page.contains("secateur_chars_saved_total{workload=\"p\"} ")
            && page.contains("secateur_tokens_saved_total{")
    );
    assert_eq!(
        stage.mock.requests(),
        2,
        "the proxy's own paths stay with the proxy"
    );
}

#[tokio::test]
async fn a_pruned_request_logs_the_line_of_the_seed() {
    let stage = Stage::new(PRUNES).await;
    stage
        .post(
            "/w/p/v1/messages",
            &[],
            conversation(Dialect::AnthropicMessages, 21, true),
        )
        .await;
    stage.events.wait(1).await;
    let log = stage.log.clone();
    stage.proxy.shutdown().await;
    let lines: Vec<serde_json::Value> = log
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let pruned = lines
        .iter()
        .find(|line| line["event"] == "context_pruner_applied")
        .unwrap();
    for (key, value) in [
        ("turns_removed", 12),
        ("rag_kept", 0),
        ("rag_dropped", 0),
        ("messages_before", 21),
        ("messages_after", 9),
    ] {
        assert_eq!(pruned[key], value, "{key}: {pruned}");
    }
    let request = lines
        .iter()
        .find(|line| line["event"] == "request")
        .unwrap();
    assert_eq!(
        request["steps"],
        "m7:applied,m3:not-opted-in,m8:not-opted-in,m1:not-opted-in"
    );
    assert_eq!(request["stack"], "m7");
}

#[tokio::test]
async fn a_workload_that_there_is_not_passes_through_and_is_told() {
    let stage = Stage::new(PRUNES).await;
    let body = || conversation(Dialect::OpenaiChat, 21, false);
    let answer = stage.post("/w/pp/v1/chat/completions", &[], body()).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["x-secateur-workload"], "default");
    let named = [("x-secateur-workload", "planted name")];
    stage.post("/v1/chat/completions", &named, body()).await;
    let known = stage.post("/w/p/v1/chat/completions", &[], body()).await;
    assert!(!known.headers.contains_key("x-secateur-workload"));
    stage.events.wait(3).await;
    let page = stage.get("/metrics").await;
    let page = String::from_utf8(page.body.to_vec()).unwrap();
    assert!(
        page.contains("secateur_unknown_workloads_total{workload=\"default\"} 2\n"),
        "{page}"
    );
    let log = stage.log.clone();
    stage.proxy.shutdown().await;
    let log = log.text();
    assert_eq!(log.matches("\"unknown_workload\"").count(), 2, "{log}");
    assert!(log.contains("\"named\":\"pp\""), "{log}");
    // What is not written like a name may be anything, and stays out.
    assert!(
        log.contains("\"named\":\"\"") && !log.contains("planted name"),
        "{log}"
    );
}

/// A base URL without a workload pruned nothing, and nothing said so.
#[tokio::test]
async fn the_bare_base_url_passes_through_and_is_told() {
    let path = "/v1/chat/completions";
    let body = || conversation(Dialect::OpenaiChat, 21, false);
    let stage = Stage::new(PRUNES).await;
    for _ in 0..2 {
        let answer = stage.post(path, &[], body()).await;
        assert_eq!(answer.headers["x-secateur-untouched"], "no-workload");
        assert_eq!(answer.headers["x-secateur-workload"], "default");
    }
    stage.get("/v1/models").await;
    let named = [("x-secateur-workload", "default")];
    let answer = stage.post(path, &named, body()).await;
    assert!(!answer.headers.contains_key("x-secateur-untouched"));
    stage.events.wait(4).await;
    let page = stage.get("/metrics").await;
    let page = String::from_utf8(page.body.to_vec()).unwrap();
    let line = "secateur_no_workload_total{workload=\"default\"} 2\n";
    assert!(page.contains(line), "{page}");
    let log = stage.log.clone();
    stage.proxy.shutdown().await;
    let log = log.text();
    assert_eq!(log.matches("\"event\":\"no_workload\"").count(), 1, "{log}");
    assert!(log.contains("\"workloads\":\"p\""), "{log}");
    assert_eq!(
        log.matches("\"untouched\":\"no-workload\"").count(),
        2,
        "{log}"
    );
    // Where nothing is on anywhere, passing through is what was asked for.
    let stage = Stage::new("[workload.q]\n").await;
    let answer = stage.post(path, &[], body()).await;
    assert!(!answer.headers.contains_key("x-secateur-untouched"));
}

#[tokio::test]
async fn our_own_commands_can_ask_what_a_proxy_does() {
    let stage = Stage::new(PRUNES).await;
    let status = stage.get("/secateur/status").await.json();
    assert_eq!(status["secateur"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["needs_key"], false);
    let workloads = status["workloads"].as_array().unwrap();
    let of = |name: &str| workloads.iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(
        (&of("p")["changes"], &of("default")["changes"]),
        (&true.into(), &false.into())
    );
    assert_eq!(
        of("p")["upstream"]["openai"],
        format!("{}/", stage.mock.url())
    );
    let foreign = [("host", "evil.example")];
    let answer = stage
        .send(Method::GET, "/secateur/status", &foreign, "")
        .await;
    assert_eq!(answer.status(), 401);
}

#[tokio::test]
async fn ranked_chunks_are_counted_in_the_header_and_the_line() {
    let more = format!("{PRUNES}[workload.p.policy.low-rank-chunks]\nmax_keep = 3\n");
    let stage = Stage::new(&more).await;
    let documents: String = [
        "roses", "tulips", "engines", "harbours", "violins", "glaciers",
    ]
    .iter()
    .map(|topic| format!("<document>All there is to say about {topic} in a garden.</document>\\n"))
    .collect();
    let asks =
        format!("<documents>\\n{documents}</documents>\\nHow do I care for roses and tulips?");
    let body = conversation(Dialect::OpenaiChat, 21, false).replace("question 20", &asks);
    let answer = stage.post("/w/p/v1/chat/completions", &[], body).await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.headers["x-tessera-context-pruned"],
        "turns_removed=12,rag_kept=3"
    );
    stage.events.wait(1).await;
    let log = stage.log.clone();
    stage.proxy.shutdown().await;
    let text = log.text();
    let line = text
        .lines()
        .find(|line| line.contains("context_pruner_applied"))
        .unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(
        (&line["rag_kept"], &line["rag_dropped"]),
        (&3.into(), &3.into())
    );
}

#[tokio::test]
async fn a_compressed_request_logs_its_line() {
    let more = "[workload.c]\nbudget_ms = 20000\n[workload.c.policy.m3]\ncompress_user_turns_enabled = true\n";
    let stage = Stage::new(more).await;
    let body = conversation(Dialect::OpenaiChat, 9, false)
        .replace("question", &format!("question{}.", " ".repeat(80)));
    let answer = stage
        .post("/w/c/v1/chat/completions", &[], body.clone())
        .await;
    assert_eq!(answer.headers["x-secateur-stack"], "m3");
    assert!(stage.mock.received()[0].body.len() < body.len());
    stage.events.wait(1).await;
    let log = stage.log.clone();
    stage.proxy.shutdown().await;
    let text = log.text();
    let line = text
        .lines()
        .find(|line| line.contains("compress_applied"))
        .unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let count = |key: &str| line[key].as_u64().unwrap();
    assert_eq!(
        count("chars_before") - count("chars_after"),
        count("chars_saved")
    );
    assert!(line["pct_saved"].as_f64().unwrap() > 10.0);
    assert_eq!(
        (&line["compress_system"], &line["compress_user_turns"]),
        (&false.into(), &true.into())
    );
}

const PROMPT: &str = "planted-prompt-5c1e";
const CREDENTIALS: [&str; 6] = [
    "sk-planted-bearer",
    "sk-planted-x",
    "planted-goog",
    "planted-query",
    "planted-real",
    "planted-otlp",
];

/// Every surface, with secrets planted in every place where a client or an operator puts one.
#[tokio::test]
async fn secrets_and_prompts_appear_on_no_surface() {
    let collector = Mock::start(MockOptions {
        keep_requests: true,
        ..MockOptions::default()
    })
    .await
    .unwrap();
    let more = format!(
        "{PRUNES}[otlp]\nendpoint = \"{}\"\nheader_env = {{ authorization = \"VALUE_planted-otlp\" }}\n[[key]]\nname = \"k\"\nsha256 = \"{}\"\nworkload = \"p\"\ncredential_env = {{ openai = \"VALUE_planted-real\" }}\n",
        collector.url(),
        hash_key("sk-planted-bearer"),
    );
    let pretty = Captured::default();
    let config_text = more.clone();
    let stage = Stage::new(&more).await;
    let second_log = pretty.clone();
    let other = Stage::with(&config_text, MockOptions::default(), move |parts| {
        parts.log = Log::to(LogFormat::Pretty, second_log);
        parts.engine = Arc::new(PanicsWithTheBody);
    })
    .await;
    let secret_turns = |dialect| {
        conversation(dialect, 21, false)
            .replace("question 4", PROMPT)
            .replace("question 0", PROMPT)
    };
    for stage in [&stage, &other] {
        for dialect in Dialect::ALL {
            for headers in [
                &[("authorization", "Bearer sk-planted-bearer")][..],
                &[
                    ("x-api-key", "sk-planted-x"),
                    ("authorization", "Bearer sk-planted-bearer"),
                ],
                &[("x-goog-api-key", "planted-goog")],
                &[],
            ] {
                let path = path(dialect, false);
                let mark = if path.contains('?') { '&' } else { '?' };
                stage
                    .post(
                        &format!("/w/p{path}{mark}key=planted-query"),
                        headers,
                        secret_turns(dialect),
                    )
                    .await;
            }
        }
        stage
            .post(
                "/w/p/v1/chat/completions",
                &[("authorization", "Bearer sk-planted-bearer")],
                format!("{{\"messages\": {PROMPT}"),
            )
            .await;
    }
    let events = stage.events.wait(17).await;
    let mut surfaces = vec![
        ("audit", format!("{events:?}")),
        ("audit", format!("{:?}", other.events.wait(17).await)),
        (
            "metrics",
            String::from_utf8(stage.get("/metrics").await.body.to_vec()).unwrap(),
        ),
    ];
    let mut exported = Vec::new();
    for _ in 0..300 {
        exported.extend(collector.received());
        if exported
            .iter()
            .map(|batch| {
                String::from_utf8_lossy(&batch.body)
                    .matches("secateur.request\"")
                    .count()
            })
            .sum::<usize>()
            >= 30
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!exported.is_empty());
    for batch in &exported {
        assert_eq!(
            (batch.uri.path(), &batch.headers["authorization"]),
            (
                "/v1/traces",
                &"planted-otlp".parse::<http::HeaderValue>().unwrap()
            )
        );
        surfaces.push(("traces", String::from_utf8_lossy(&batch.body).into_owned()));
    }
    let log = stage.log.clone();
    stage.proxy.shutdown().await;
    other.proxy.shutdown().await;
    assert!(log.text().contains("context_pruner_applied"));
    assert!(
        pretty.text().contains("reason=panicked"),
        "{}",
        pretty.text()
    );
    surfaces.extend([("json log", log.text()), ("pretty log", pretty.text())]);
    for (name, text) in surfaces {
        for secret in CREDENTIALS.iter().chain(&[PROMPT]) {
            assert!(!text.contains(secret), "{secret} in {name}: {text}");
        }
    }
}

#[derive(Debug)]
struct PanicsWithTheBody;

impl secateur_proxy::Engine for PanicsWithTheBody {
    fn prune<'a>(
        &self,
        body: &'a [u8],
        _: &secateur_core::Request<'_>,
        _: &secateur_core::policy::Policy,
    ) -> secateur_core::Outcome<'a> {
        panic!("{}", String::from_utf8_lossy(body))
    }
}
