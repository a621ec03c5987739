//! The mock over HTTP: what agents ask for besides a model's answers, and what observers are told.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail the test that calls them"
)]

use std::path::Path;
use std::sync::{Arc, Mutex};

use secateur_mock::{Mock, MockOptions, Progress, Script};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Status, rejection, tokens read from the cache, progress.
type Observed = (u16, Option<String>, Option<usize>, Option<Progress>);

async fn observed_mock(session: Option<Script>) -> (Mock, Arc<Mutex<Vec<Observed>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let mock = Mock::start(MockOptions {
        session,
        observe: Some(Arc::new(move |exchange| {
            log.lock().unwrap().push((
                exchange.status,
                exchange.rejection.map(str::to_owned),
                exchange.usage.map(|(usage, _)| usage.cache_read_tokens),
                exchange.progress,
            ));
        })),
        ..MockOptions::default()
    })
    .await
    .unwrap();
    (mock, seen)
}

/// Sends one request and returns the response as it is on the wire.
async fn send(mock: &Mock, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(mock.addr()).await.unwrap();
    let length = body.len();
    let request = format!(
        "{head} HTTP/1.1\r\nhost: mock\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}

fn marked(markers: usize) -> String {
    let block = |at: usize| {
        let text = format!("block {at} ").repeat(1000);
        let mut block = json!({"type":"text","text":text});
        if at < markers {
            block["cache_control"] = json!({"type":"ephemeral"});
        }
        block
    };
    let blocks: Vec<Value> = (0..6).map(block).collect();
    json!({"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":blocks}]})
        .to_string()
}

#[tokio::test]
async fn agents_find_what_they_ask_for_besides_answers() {
    let (mock, _) = observed_mock(None).await;
    assert!(send(&mock, "HEAD /", "").await.starts_with("HTTP/1.1 200"));
    let models = send(&mock, "GET /v1/models", "").await;
    assert!(
        models.contains(r#""models":[]"#),
        "codex reads this list: {models}"
    );
    let mut stream = TcpStream::connect(mock.addr()).await.unwrap();
    let upgrade = "GET /v1/responses HTTP/1.1\r\nhost: mock\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
    stream.write_all(upgrade.as_bytes()).await.unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 426");
}

#[tokio::test]
async fn a_fifth_marker_is_rejected_and_counting_tokens_warms_no_cache() {
    let (mock, seen) = observed_mock(None).await;
    assert!(
        send(&mock, "POST /v1/messages", &marked(5))
            .await
            .starts_with("HTTP/1.1 400")
    );
    let count = send(&mock, "POST /v1/messages/count_tokens", &marked(2)).await;
    assert!(count.contains("input_tokens"), "{count}");
    for _ in 0..2 {
        send(&mock, "POST /v1/messages", &marked(2)).await;
    }
    let seen = seen.lock().unwrap();
    assert!(
        seen[0].0 == 400 && seen[0].1.as_ref().unwrap().contains("maximum of 4"),
        "{seen:?}"
    );
    assert_eq!(seen[1].2, None, "counting is not billed");
    assert_eq!(seen[2].2, Some(0), "the first request reads nothing");
    assert!(seen[3].2.unwrap() > 1000, "{seen:?}");
    assert_eq!(mock.rejected(), 1);
}

#[tokio::test]
async fn scripted_calls_are_streamed_with_signed_thinking() {
    let script = json!({"turns":[{"prompt":"go","steps":[[{"read":"a.rs"},{"shell":"ls"}]]}]});
    let script = Script::read(&script.to_string(), Path::new("/p")).unwrap();
    let (mock, seen) = observed_mock(Some(script)).await;
    let body = json!({"model":"claude-opus-4-6","max_tokens":9,"stream":true,"thinking":{"type":"adaptive"},
        "tools":[{"name":"Read"},{"name":"Bash"}],"messages":[{"role":"user","content":"go"}]});
    let events = send(&mock, "POST /v1/messages", &body.to_string()).await;
    assert_eq!(
        events.matches(r#""type":"tool_use""#).count(),
        2,
        "{events}"
    );
    for part in [
        "thinking_delta",
        "signature_delta",
        "text_delta",
        r#""stop_reason":"tool_use""#,
    ] {
        assert!(events.contains(part), "no {part} in {events}");
    }
    let expected = Progress {
        turn: 0,
        calls: 0,
        is_finished: false,
    };
    assert_eq!(seen.lock().unwrap()[0].3, Some(expected));
}
