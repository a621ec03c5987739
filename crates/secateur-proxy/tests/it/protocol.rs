//! What upstreams and clients may not say: two lengths, another protocol, names and counts that cannot be.

use std::sync::Arc;

use bytes::Bytes;
use secateur_core::Dialect;
use secateur_mock::{MockOptions, Received, Scripted};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::limits::{eventually, raw};
use crate::stage::{PRUNES, Stage, chat, conversation};

const CHAT: &str = "/v1/chat/completions";

/// An upstream that answers each connection with these bytes and closes it.
async fn answers_raw(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = vec![0; 65536];
                let _ = socket.read(&mut request).await;
                let _ = socket.write_all(bytes).await;
            });
        }
    });
    url
}

/// A body of one length under the header of another looked complete, and a switch of protocols was passed on.
#[tokio::test]
async fn a_response_that_contradicts_itself_is_not_passed_on() {
    for bytes in [
        &b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\n\r\n"[..],
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 50\r\n\r\nb\r\nhello world\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\nb\r\nhello world\r\n0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    ] {
        let url = answers_raw(bytes).await;
        let stage = Stage::new(&format!("{PRUNES}upstream.openai = \"{url}\"\n")).await;
        for turns in [3, 21] {
            let body = conversation(Dialect::OpenaiChat, turns, false);
            let answer = stage.post("/w/p/v1/chat/completions", &[], body).await;
            assert_eq!(
                (answer.status.as_u16(), answer.json()["error"]["code"].as_str()),
                (502, Some("upstream-protocol")),
                "{}",
                String::from_utf8_lossy(bytes)
            );
        }
    }
}

#[tokio::test]
async fn an_upstream_cannot_speak_for_the_proxy() {
    let url = answers_raw(
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-secateur-request-id: forged\r\nx-tessera-context-pruned: turns_removed=9\r\nset-cookie: secateur-portal=x\r\nset-cookie: own=1\r\n\r\n{}",
    )
    .await;
    let stage = Stage::new(&format!("[workload.p]\nupstream.openai = \"{url}\"\n")).await;
    let answer = stage.post("/w/p/v1/chat/completions", &[], chat()).await;
    assert_eq!(answer.status, 200);
    let id = &answer.headers["x-secateur-request-id"];
    assert_ne!(id, "forged");
    assert!(!answer.headers.contains_key("x-tessera-context-pruned"));
    let cookies: Vec<_> = answer.headers.get_all("set-cookie").iter().collect();
    assert_eq!(cookies, ["own=1"]);
}

#[tokio::test]
async fn requests_without_one_host_and_websockets_are_refused_at_once() {
    let stage = Stage::new("").await;
    let body = "content-length: 2\r\n\r\n{}";
    for path in ["/v1/messages", "/healthz", "/portal/login"] {
        for hosts in ["", "host: a\r\nhost: b\r\n", "host: a\r\nhost: a\r\n"] {
            let request = format!("POST {path} HTTP/1.1\r\n{hosts}{body}");
            let answer = raw(&stage, &request).await;
            assert!(answer.starts_with("HTTP/1.1 400"), "{request}: {answer}");
        }
    }
    let upgrade = "GET /v1/responses HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let answer = raw(&stage, upgrade).await;
    assert!(answer.starts_with("HTTP/1.1 426"), "{answer}");
    assert!(answer.contains("no-websocket"), "{answer}");
    assert_eq!(stage.mock.requests(), 0);
    let names: Vec<_> = stage.events.wait(10).await;
    let ends = |name: &str| names.iter().filter(|e| e.ended.name() == name).count();
    assert_eq!((ends("bad-host"), ends("no-websocket")), (9, 1));
}

/// All three were "could not be reached".
#[tokio::test]
async fn the_error_and_the_log_say_why_an_upstream_is_not_there() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dead = closed.local_addr().unwrap();
    drop(closed);
    let plain = answers_raw(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
    let plain = plain.replace("http:", "https:");
    let more = format!(
        "[workload.refused]\nupstream.openai = \"http://{dead}\"\n[workload.dns]\nupstream.openai = \"http://no-such-host.invalid\"\n[workload.tls]\nupstream.openai = \"{plain}\"\n"
    );
    let stage = Stage::new(&more).await;
    let plain_host = plain.trim_start_matches("https://").to_owned();
    for (workload, host) in [
        ("refused", dead.to_string()),
        ("dns", "no-such-host.invalid".to_owned()),
        ("tls", plain_host),
    ] {
        let path = format!("/w/{workload}{CHAT}");
        let answer = stage.post(&path, &[], chat()).await;
        let error = &answer.json()["error"];
        assert_eq!(answer.status, 502);
        assert_eq!(error["code"], format!("upstream-{workload}"), "{error}");
        let words = error["message"].as_str().unwrap();
        assert!(words.contains(&host), "{words}");
        let line = || {
            let text = stage.log.text();
            let mut lines = text.lines();
            let is_it = |line: &&str| {
                line.contains("upstream_failed") && line.contains(&format!("upstream-{workload}"))
            };
            lines.find(is_it).map(str::to_owned)
        };
        eventually("no log line", || line().is_some()).await;
        let line = line().unwrap();
        assert!(line.contains(&host), "{line}");
    }
}

/// A model's name of 5 MB was a log line of 5 MB, and a row.
#[tokio::test]
async fn names_are_cut_where_they_enter() {
    let stage = Stage::new(PRUNES).await;
    let long = "m".repeat(300_000);
    let body = conversation(Dialect::OpenaiChat, 21, false).replace("gpt-5", &long);
    stage.post("/w/p/v1/chat/completions", &[], body).await;
    let event = stage.events.last(1).await;
    let report = event.report.as_ref().unwrap();
    assert_eq!(event.model.as_ref().map(String::len), Some(256));
    assert_eq!(report.model.as_ref().map(String::len), Some(256));
    let path = format!("/v1beta/models/{}:generateContent", "g".repeat(3_000));
    let body = conversation(Dialect::GeminiGenerateContent, 3, false);
    stage.post(&path, &[], body).await;
    let event = stage.events.last(2).await;
    assert_eq!(event.model.as_ref().map(String::len), Some(256));
    let long_line = |line: &str| line.len() > 4_000;
    assert!(!stage.log.text().lines().any(long_line));
}

#[tokio::test]
async fn absurd_counts_of_an_upstream_are_marked_and_cost_nothing() {
    let script = |_: &Received| {
        Some(Scripted {
            status: 200,
            headers: vec![("content-type", "application/json".to_owned())],
            body: Bytes::from_static(
                br#"{"model":"gpt-5","usage":{"prompt_tokens":18446744073709551615,"completion_tokens":18446744073709551615}}"#,
            ),
        })
    };
    let options = MockOptions {
        script: Some(Arc::new(script)),
        ..MockOptions::default()
    };
    let stage = Stage::with("", options, |_| {}).await;
    stage.post(CHAT, &[], chat()).await;
    let event = stage.events.last(1).await;
    assert!(event.usage.as_ref().unwrap().is_implausible);
    assert_eq!(event.receipt.billed_usd, None);
    let page = stage.proxy.metrics().page();
    assert!(
        page.contains("secateur_implausible_usage_total{workload=\"default\"} 1"),
        "{page}"
    );
    assert!(!page.contains("secateur_cost_usd_total{"), "{page}");
}
