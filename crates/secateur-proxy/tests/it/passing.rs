//! With every mechanic off, the proxy is not there.

use std::io::Write;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use secateur_core::Dialect;
use secateur_mock::{Mock, MockOptions};
use secateur_proxy::audit::Ended;

use crate::stage::{PRUNES, Stage, conversation, path, whole};

/// A conversation that is long enough for every provider's cache, and marked where a marker is needed.
fn cacheable(dialect: Dialect, stream: bool) -> String {
    let long = "word ".repeat(4000);
    let body = conversation(dialect, 21, stream).replacen("question 0", &long, 1);
    if dialect == Dialect::AnthropicMessages {
        let marker = r#""cache_control":{"type":"ephemeral"},"unknown_field""#;
        return body.replacen(r#""unknown_field""#, marker, 1);
    }
    body
}

#[tokio::test]
async fn bytes_are_the_same_in_both_directions_in_every_dialect() {
    let stage = Stage::new("").await;
    for dialect in Dialect::ALL {
        for stream in [false, true] {
            let (path, body) = (path(dialect, stream), cacheable(dialect, stream));
            // The second answer finds everything in the simulated cache, as the third does.
            stage.direct(path, &[], body.clone()).await;
            let direct = stage.direct(path, &[], body.clone()).await;
            assert_eq!(
                direct.status,
                200,
                "{}",
                String::from_utf8_lossy(&direct.body)
            );
            let _ = stage.mock.received();
            let answer = stage
                .post(path, &[("authorization", "Bearer sk-client")], body.clone())
                .await;
            assert_eq!(answer.body, direct.body, "{dialect} {stream}");
            assert_eq!(
                answer.headers["content-type"],
                direct.headers["content-type"]
            );
            assert!(answer.headers.contains_key("x-secateur-request-id"));
            let received = stage.mock.received();
            assert_eq!(received[0].body, body.as_bytes(), "{dialect} {stream}");
            assert_eq!(received[0].headers["authorization"], "Bearer sk-client");
            assert_eq!(received[0].headers["host"], stage.mock.addr().to_string());
        }
    }
    let events = stage.events.wait(8).await;
    for event in events {
        let usage = event.usage.unwrap_or_else(|| panic!("{:?}", event.dialect));
        assert!(
            usage.input_tokens.unwrap() > 100 && usage.output_tokens.unwrap() > 5,
            "{usage:?}"
        );
        assert!(usage.cache_read_tokens.unwrap() > 4000, "{usage:?}");
        assert!(event.receipt.billed_usd.unwrap() > 0.0);
        assert_eq!(
            (event.ended, event.stack.len(), event.steps.len()),
            (Ended::Complete, 0, 0)
        );
        assert!(event.bytes_before > 500 && event.bytes_before == event.bytes_after);
    }
}

#[tokio::test]
async fn usage_is_read_from_streams_that_are_cut_anywhere() {
    let stage = Stage::new("").await;
    for (at, dialect) in Dialect::ALL.into_iter().enumerate() {
        let (path, body) = (path(dialect, true), conversation(dialect, 3, true));
        let direct = stage.direct(path, &[], body.clone()).await;
        let answer = stage
            .post(path, &[("x-mock-conduct", "chunk=1")], body)
            .await;
        assert_eq!(answer.body.len(), direct.body.len());
        let event = stage.events.wait(at + 1).await.pop().unwrap();
        assert!(event.is_stream);
        assert!(event.usage.unwrap().output_tokens.unwrap() > 5, "{dialect}");
    }
}

#[tokio::test]
async fn other_paths_pass() {
    let stage = Stage::new("").await;
    let models = stage.get("/v1/models").await;
    assert_eq!(models.json()["data"][0]["id"], "gpt-5");
    assert_eq!(
        stage.get("/v1beta/models").await.json()["models"][0]["name"],
        "models/gpt-5"
    );
    let count = stage
        .post(
            "/v1/messages/count_tokens",
            &[],
            conversation(Dialect::AnthropicMessages, 3, false),
        )
        .await;
    assert!(count.json()["input_tokens"].as_u64().unwrap() > 10);
    let upload = Bytes::from(vec![0xff; 300_000]);
    assert_eq!(
        stage.post("/v1/files", &[], upload).await.json()["bytes"],
        300_000
    );
    let missing = stage
        .post("/v1/nowhere?x=%2F&y", &[("anthropic-version", "1")], "x")
        .await;
    assert_eq!(
        (missing.status.as_u16(), missing.json()["type"].as_str()),
        (404, Some("error"))
    );
    assert_eq!(
        stage.mock.received().last().unwrap().uri,
        "/v1/nowhere?x=%2F&y"
    );
    for method in [Method::DELETE, Method::PUT, Method::PATCH, Method::OPTIONS] {
        assert_eq!(
            stage
                .send(method, "/v1/files/f", &[], Bytes::new())
                .await
                .status(),
            404
        );
    }
    let head = stage
        .send(Method::HEAD, "/v1/models", &[], Bytes::new())
        .await;
    assert_eq!(head.status(), 404);
}

#[tokio::test]
async fn a_workload_is_picked_by_path_or_header_and_has_its_own_upstream() {
    let other = Mock::start(MockOptions::default()).await.unwrap();
    let stage = Stage::new(&format!(
        "[workload.elsewhere]\nupstream.openai = \"{}/v1\"\n",
        other.url()
    ))
    .await;
    let body = conversation(Dialect::OpenaiChat, 3, false);
    stage
        .post("/w/elsewhere/v1/chat/completions", &[], body.clone())
        .await;
    assert_eq!((other.requests(), stage.mock.requests()), (1, 0));
    stage
        .post(
            "/v1/chat/completions",
            &[("x-secateur-workload", "elsewhere")],
            body.clone(),
        )
        .await;
    assert_eq!((other.requests(), stage.mock.requests()), (2, 0));
    let anthropic = conversation(Dialect::AnthropicMessages, 3, false);
    stage.post("/w/elsewhere/v1/messages", &[], anthropic).await;
    stage
        .post("/w/unknown/v1/chat/completions", &[], body)
        .await;
    assert_eq!((other.requests(), stage.mock.requests()), (2, 2));
    let names: Vec<_> = stage
        .events
        .wait(4)
        .await
        .iter()
        .map(|event| event.workload.to_string())
        .collect();
    assert_eq!(names, ["elsewhere", "elsewhere", "elsewhere", "default"]);
}

#[tokio::test]
async fn a_body_over_the_limit_gets_the_dialects_own_error() {
    let stage = Stage::new("max_body_mb = 1\n").await;
    let large = vec![b'x'; (1 << 20) + 1];
    let answer = stage.post("/v1/messages", &[], large.clone()).await;
    assert_eq!(
        (
            answer.status.as_u16(),
            answer.json()["error"]["type"].as_str()
        ),
        (413, Some("request_too_large"))
    );
    let answer = stage.post("/v1/chat/completions", &[], large.clone()).await;
    assert_eq!(
        (
            answer.status.as_u16(),
            answer.json()["error"]["code"].as_str()
        ),
        (413, Some("too-large"))
    );
    let answer = stage
        .post("/v1beta/models/g:generateContent", &[], large)
        .await;
    assert_eq!(
        (
            answer.status.as_u16(),
            answer.json()["error"]["code"].as_u64()
        ),
        (413, Some(413))
    );
    assert_eq!(stage.mock.requests(), 0);
}

#[tokio::test]
async fn a_chunked_body_over_the_limit_is_cut_off_with_an_error() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    for head in ["/v1/messages", "/w/p/v1/messages"] {
        let stage = Stage::new(&format!("max_body_mb = 1\n{PRUNES}")).await;
        let mut socket = tokio::net::TcpStream::connect(stage.proxy.addr())
            .await
            .unwrap();
        let head = format!("POST {head} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
        socket.write_all(head.as_bytes()).await.unwrap();
        let chunk = format!("10000\r\n{}\r\n", "x".repeat(65536));
        for _ in 0..17 {
            if socket.write_all(chunk.as_bytes()).await.is_err() {
                break;
            }
        }
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(
            answer.starts_with("HTTP/1.1 413") && answer.contains("request_too_large"),
            "{answer}"
        );
    }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn compressed_bodies_are_pruned_or_pass_untouched() {
    let stage = Stage::new(PRUNES).await;
    let body = conversation(Dialect::OpenaiChat, 21, false);
    let zstd = ruzstd::encoding::compress_to_vec(
        body.as_bytes(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    for (name, packed) in [("gzip", gzip(body.as_bytes())), ("zstd", zstd)] {
        let headers = [("content-encoding", name)];
        let answer = stage
            .post("/w/p/v1/chat/completions", &headers, packed.clone())
            .await;
        assert_eq!(answer.status, 200, "{name}");
        assert_eq!(answer.headers["x-secateur-stack"], "m7");
        let received = stage.mock.received().pop().unwrap();
        assert!(received.body.len() < body.len() && received.body.starts_with(b"{ \"model\""));
        assert!(!received.headers.contains_key("content-encoding"));
        // Mechanics off: the very bytes, with their header.
        stage
            .post("/v1/chat/completions", &headers, packed.clone())
            .await;
        let received = stage.mock.received().pop().unwrap();
        assert_eq!(
            (&received.body[..], &received.headers["content-encoding"]),
            (&packed[..], &name.parse::<http::HeaderValue>().unwrap())
        );
    }
    // What cannot be decoded goes out as it came.
    for (name, packed) in [
        ("gzip", &b"not gzip"[..]),
        ("br, gzip", b"x"),
        ("snappy", b"x"),
    ] {
        stage
            .post(
                "/w/p/v1/chat/completions",
                &[("content-encoding", name)],
                packed,
            )
            .await;
        let received = stage.mock.received().pop().unwrap();
        assert_eq!(
            (
                &received.body[..],
                received.headers["content-encoding"].to_str().unwrap()
            ),
            (packed, name)
        );
    }
}

#[tokio::test]
async fn compressed_responses_pass_untouched_and_are_read_on_the_side() {
    let packed = gzip(br#"{"model":"gpt-5","usage":{"prompt_tokens":77,"completion_tokens":5}}"#);
    let scripted = packed.clone();
    let script = move |_: &secateur_mock::Received| {
        Some(secateur_mock::Scripted {
            status: 200,
            headers: vec![
                ("content-type", "application/json".into()),
                ("content-encoding", "gzip".into()),
            ],
            body: scripted.clone().into(),
        })
    };
    let options = MockOptions {
        script: Some(std::sync::Arc::new(script)),
        ..MockOptions::default()
    };
    let stage = Stage::with("", options, |_| {}).await;
    let answer = stage
        .post(
            "/v1/chat/completions",
            &[("accept-encoding", "gzip, zstd")],
            "{}",
        )
        .await;
    assert_eq!(answer.body, packed);
    assert_eq!(stage.mock.received()[0].headers["accept-encoding"], "gzip");
    let event = stage.events.wait(1).await.pop().unwrap();
    assert_eq!(event.usage.unwrap().input_tokens, Some(77));
}

#[tokio::test]
async fn events_go_out_as_they_come_in() {
    let stage = Stage::new("").await;
    let body = conversation(Dialect::OpenaiChat, 3, true);
    let started = Instant::now();
    let response = stage
        .send(
            Method::POST,
            "/v1/chat/completions",
            &[("x-mock-conduct", "gap=100;chunk=400")],
            body,
        )
        .await;
    let mut body = response.into_body();
    body.frame().await.unwrap().unwrap();
    let first = started.elapsed();
    body.collect().await.unwrap();
    let all = started.elapsed();
    assert!(
        first * 3 < all,
        "the first event came after {first:?} of {all:?}"
    );
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_the_upstream() {
    let stage = Stage::new("").await;
    let body = conversation(Dialect::OpenaiChat, 3, true);
    let response = stage
        .send(
            Method::POST,
            "/v1/chat/completions",
            &[("x-mock-conduct", "gap=50;chunk=10")],
            body.clone(),
        )
        .await;
    let mut stream = response.into_body();
    stream.frame().await.unwrap().unwrap();
    assert_eq!(stage.mock.open_streams(), 1);
    drop(stream);
    let event = stage.events.wait(1).await.pop().unwrap();
    assert_eq!(event.ended, Ended::ClientGone);
    for _ in 0..200 {
        if stage.mock.open_streams() == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(stage.mock.open_streams(), 0);
    // Also before the head of the response.
    let waiting = stage.send(
        Method::POST,
        "/v1/chat/completions",
        &[("x-mock-conduct", "delay=60000")],
        body,
    );
    assert!(
        tokio::time::timeout(Duration::from_millis(300), waiting)
            .await
            .is_err()
    );
    let event = stage.events.wait(2).await.pop().unwrap();
    assert_eq!(
        (event.ended, event.upstream_status),
        (Ended::ClientGone, None)
    );
}

#[tokio::test]
async fn clients_may_speak_http2() {
    let stage = Stage::new("").await;
    let client = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build_http();
    let body = conversation(Dialect::AnthropicMessages, 3, true);
    let response = crate::stage::request(
        &client,
        &stage.proxy.url(),
        Method::POST,
        "/v1/messages",
        &[],
        body,
    )
    .await
    .unwrap();
    assert_eq!(response.version(), http::Version::HTTP_2);
    let answer = whole(response).await;
    assert!(String::from_utf8_lossy(&answer.body).contains("message_stop"));
    assert_eq!(stage.events.wait(1).await[0].ended, Ended::Complete);
}

#[tokio::test]
async fn streams_under_way_are_finished_before_the_proxy_stops() {
    let stage = Stage::new("").await;
    let body = conversation(Dialect::OpenaiChat, 3, true);
    let response = stage
        .send(
            Method::POST,
            "/v1/chat/completions",
            &[("x-mock-conduct", "gap=30;chunk=200")],
            body,
        )
        .await;
    let addr = stage.proxy.addr();
    let stopping = tokio::spawn(stage.proxy.shutdown());
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!stopping.is_finished());
    let answer = whole(response).await;
    assert!(answer.body.ends_with(b"data: [DONE]\n\n"));
    tokio::time::timeout(Duration::from_secs(5), stopping)
        .await
        .unwrap()
        .unwrap();
    assert!(tokio::net::TcpStream::connect(addr).await.is_err());
}
