//! Upstreams that die, clients that dawdle, requests that lie.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::Method;
use http_body_util::BodyExt;
use secateur_core::Dialect;
use secateur_core::policy::Policy;
use secateur_core::{Outcome, Request};
use secateur_mock::MockOptions;
use secateur_proxy::audit::{Ended, FailOpen};
use secateur_proxy::{CoreEngine, Engine};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::stage::{PRUNES, Stage, chat, conversation};

const CHAT: &str = "/v1/chat/completions";

#[tokio::test]
async fn dead_and_silent_upstreams_get_an_answer_in_the_dialects_shape() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dead = closed.local_addr().unwrap();
    drop(closed);
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let more = format!(
        "[timeouts]\nresponse_head_s = 0.3\n[workload.dead]\nupstream.openai = \"http://{dead}\"\n[workload.silent]\nupstream.openai = \"http://{}\"\n",
        silent.local_addr().unwrap()
    );
    let stage = Stage::new(&more).await;
    let answer = stage.post("/w/dead/v1/chat/completions", &[], chat()).await;
    assert_eq!(
        (
            answer.status.as_u16(),
            answer.json()["error"]["code"].as_str()
        ),
        (502, Some("upstream-refused"))
    );
    let answer = stage
        .post("/w/silent/v1/chat/completions", &[], chat())
        .await;
    assert_eq!(
        (
            answer.status.as_u16(),
            answer.json()["error"]["code"].as_str()
        ),
        (504, Some("upstream-timeout"))
    );
    let page = stage.proxy.metrics_page();
    assert!(
        page.contains(
            "secateur_upstream_errors_total{workload=\"dead\",kind=\"upstream-refused\"} 1"
        ),
        "{page}"
    );
}

#[tokio::test]
async fn a_stream_that_breaks_off_breaks_off_at_the_client_too() {
    let stage = Stage::new("").await;
    let body = conversation(Dialect::OpenaiChat, 3, true);
    let response = stage
        .send(
            Method::POST,
            CHAT,
            &[("x-mock-conduct", "chunk=100;reset=500")],
            body,
        )
        .await;
    assert_eq!(response.status(), 200);
    assert!(
        response.into_body().collect().await.is_err(),
        "a broken stream must not look complete"
    );
    assert_eq!(stage.events.wait(1).await[0].ended, Ended::UpstreamBroke);
}

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

#[tokio::test]
async fn upstreams_that_reset_or_talk_nonsense_get_an_answer() {
    for bytes in [
        &b""[..],
        b"HTTP/1.1 200 OK\r\ncontent-le",
        b"SSH-2.0-something\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
    ] {
        let url = answers_raw(bytes).await;
        let stage = Stage::new(&format!("{PRUNES}upstream.openai = \"{url}\"\n")).await;
        // Passed on as it comes, and looked at.
        for turns in [3, 21] {
            let body = conversation(Dialect::OpenaiChat, turns, false);
            let answer = stage.post("/w/p/v1/chat/completions", &[], body).await;
            assert_eq!(
                (
                    answer.status.as_u16(),
                    answer.json()["error"]["code"].as_str()
                ),
                (502, Some("upstream-broke")),
                "{}",
                String::from_utf8_lossy(bytes)
            );
        }
    }
}

#[tokio::test]
async fn a_response_shorter_than_it_says_does_not_look_complete() {
    let url = answers_raw(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"cut\":").await;
    let stage = Stage::new(&format!("[workload.w]\nupstream.openai = \"{url}\"\n")).await;
    let response = stage
        .send(Method::POST, "/w/w/v1/chat/completions", &[], chat())
        .await;
    assert!(response.into_body().collect().await.is_err());
    assert_eq!(stage.events.wait(1).await[0].ended, Ended::UpstreamBroke);
}

#[tokio::test]
async fn a_head_that_does_not_come_to_its_end_is_ended() {
    let stage = Stage::new("[timeouts]\nrequest_idle_s = 0.3\n").await;
    let mut socket = TcpStream::connect(stage.proxy.addr()).await.unwrap();
    let started = Instant::now();
    socket
        .write_all(b"POST /v1/messages HTTP/1.1\r\nhost: x\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    let read = socket.read_to_end(&mut answer);
    tokio::time::timeout(Duration::from_secs(20), read)
        .await
        .expect("the connection is closed")
        .unwrap();
    assert!(started.elapsed() >= Duration::from_millis(290));
    assert_eq!(stage.mock.requests(), 0);
}

#[tokio::test]
async fn a_stream_that_stands_still_is_ended() {
    let stage = Stage::new("[timeouts]\nresponse_idle_s = 0.2\n").await;
    let body = conversation(Dialect::OpenaiChat, 3, true);
    let response = stage
        .send(
            Method::POST,
            CHAT,
            &[("x-mock-conduct", "chunk=100;gap=60000")],
            body,
        )
        .await;
    assert!(response.into_body().collect().await.is_err());
    assert_eq!(stage.events.wait(1).await[0].ended, Ended::UpstreamStalled);
}

#[tokio::test]
async fn a_request_body_that_stands_still_is_ended() {
    let stage = Stage::new(&format!("[timeouts]\nrequest_idle_s = 0.2\n{PRUNES}")).await;
    for path in ["/v1/messages", "/w/p/v1/messages"] {
        let mut socket = TcpStream::connect(stage.proxy.addr()).await.unwrap();
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{{");
        socket.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(
            answer.starts_with("HTTP/1.1 408") && answer.contains("invalid_request_error"),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn a_slow_reader_slows_the_upstream_down_instead_of_filling_memory() {
    let big = bytes::Bytes::from(vec![b'x'; 64 << 20]);
    let script = move |_: &secateur_mock::Received| {
        Some(secateur_mock::Scripted {
            status: 200,
            headers: Vec::new(),
            body: big.clone(),
        })
    };
    let options = MockOptions {
        script: Some(Arc::new(script)),
        ..MockOptions::default()
    };
    let stage = Stage::with("", options, |_| {}).await;
    let before = resident_kib();
    let mut sockets = Vec::new();
    for _ in 0..8 {
        let mut socket = TcpStream::connect(stage.proxy.addr()).await.unwrap();
        socket
            .write_all(b"GET /v1/big HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .unwrap();
        sockets.push(socket);
    }
    tokio::time::sleep(Duration::from_millis(600)).await;
    let grown = resident_kib().saturating_sub(before);
    assert!(
        grown < 64 << 10,
        "{grown} KiB for eight readers that do not read 512 MiB"
    );
}

/// Memory that this process holds, in KiB.
fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

#[tokio::test]
async fn a_thousand_idle_connections_do_not_keep_others_out() {
    let stage = Stage::new("").await;
    let mut idle = Vec::new();
    for _ in 0..1000 {
        idle.push(TcpStream::connect(stage.proxy.addr()).await.unwrap());
    }
    let started = Instant::now();
    assert_eq!(stage.post(CHAT, &[], chat()).await.status, 200);
    assert!(started.elapsed() < Duration::from_secs(5));
    drop(idle);
    for _ in 0..300 {
        if stage
            .proxy
            .metrics_page()
            .contains("secateur_connections 1\n")
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("connections leak: {}", stage.proxy.metrics_page());
}

/// One raw request, and everything that comes back.
async fn raw(stage: &Stage, request: &str) -> String {
    let mut socket = TcpStream::connect(stage.proxy.addr()).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; 65536];
    let read = tokio::time::timeout(Duration::from_secs(5), socket.read(&mut answer)).await;
    let read = read.unwrap_or(Ok(0)).unwrap_or(0);
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

#[tokio::test]
async fn requests_that_lie_about_their_length_are_refused_or_made_unambiguous() {
    let stage = Stage::new("").await;
    let body = chat();
    let post = |headers: &str, body: &str| {
        format!("POST {CHAT} HTTP/1.1\r\nhost: x\r\n{headers}\r\n\r\n{body}")
    };
    for refused in [
        post("content-length: 5\r\ncontent-length: 6", "hello!"),
        post("content-length: 5, 6", "hello!"),
        post("content-length: +5", "hello"),
        post("content-length: -1", ""),
        post("transfer-encoding: gzip", "x"),
        post("content-length : 5", "hello"),
        post("x: a\r\n folded: b\r\ncontent-length: 0", ""),
        "GET / HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n".to_owned(),
    ] {
        let answer = raw(&stage, &refused).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{refused}\n{answer}");
    }
    assert_eq!(
        stage.mock.requests(),
        0,
        "nothing ambiguous reaches the upstream"
    );
    // With both framings the chunks count, and the upstream sees one framing only.
    let both = post(
        "content-length: 4\r\ntransfer-encoding: chunked\r\nconnection: close, x-hidden\r\nx-hidden: 1",
        &format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()),
    );
    let answer = raw(&stage, &both).await;
    if answer.starts_with("HTTP/1.1 200") {
        let received = stage.mock.received().pop().unwrap();
        assert_eq!(received.body, body);
        assert!(
            !(received.headers.contains_key("content-length")
                && received.headers.contains_key("transfer-encoding"))
        );
        assert!(!received.headers.contains_key("x-hidden"));
    } else {
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
    // A request in absolute form goes to the configured upstream all the same.
    raw(
        &stage,
        "GET http://elsewhere.invalid/v1/models HTTP/1.1\r\nhost: elsewhere.invalid\r\n\r\n",
    )
    .await;
    assert_eq!(
        stage.mock.received().pop().unwrap().headers["host"],
        stage.mock.addr().to_string()
    );
    assert!(
        raw(
            &stage,
            "CONNECT elsewhere.invalid:443 HTTP/1.1\r\nhost: x\r\n\r\n"
        )
        .await
        .starts_with("HTTP/1.1 405")
    );
}

#[tokio::test]
async fn redirects_are_the_clients_to_follow() {
    let stage = Stage::new("").await;
    let answer = stage
        .post(CHAT, &[("x-mock-conduct", "redirect=1")], chat())
        .await;
    assert_eq!(
        (
            answer.status.as_u16(),
            answer.headers["location"].to_str().unwrap()
        ),
        (307, "http://elsewhere.invalid/v1")
    );
    assert_eq!(stage.mock.requests(), 1);
}

#[tokio::test]
async fn malformed_bodies_go_to_the_provider_which_says_so() {
    let stage = Stage::new(PRUNES).await;
    for body in [
        "",
        "{",
        "[]",
        "null",
        "\u{feff}{}",
        "{\"messages\":3}",
        "{\"messages\":[{}]}",
    ] {
        let answer = stage
            .post("/w/p/v1/chat/completions", &[], body.to_owned())
            .await;
        assert_eq!(answer.status, 400, "{body}");
        assert_eq!(stage.mock.received()[0].body, body);
    }
    let not_utf8 = stage
        .post("/w/p/v1/chat/completions", &[], vec![b'{', 0xff, 0xfe])
        .await;
    assert_eq!(not_utf8.status, 400);
}

/// Panics on every hundredth body.
#[derive(Debug, Default)]
struct PanicsSometimes(AtomicUsize);

impl Engine for PanicsSometimes {
    fn prune<'a>(&self, body: &'a [u8], request: &Request<'_>, policy: &Policy) -> Outcome<'a> {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        assert!(number % 100 != 99, "injected");
        CoreEngine.prune(body, request, policy)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_requests_with_one_panic_in_a_hundred_all_get_their_answer() {
    const REQUESTS: usize = 10_000;
    std::panic::set_hook(Box::new(|_| {}));
    let mock = MockOptions::default();
    let stage = Stage::with(PRUNES, mock, |parts| {
        parts.engine = Arc::new(PanicsSometimes::default());
        parts.log = secateur_proxy::Log::off();
    })
    .await;
    let stage = Arc::new(stage);
    let before = resident_kib();
    let body = bytes::Bytes::from(conversation(Dialect::OpenaiChat, 21, false));
    let (mut tasks, mut warm) = (tokio::task::JoinSet::new(), 0);
    for lane in 0..16 {
        let (stage, body) = (Arc::clone(&stage), body.clone());
        tasks.spawn(async move {
            for _ in 0..REQUESTS / 16 {
                let answer = stage
                    .post("/w/p/v1/chat/completions", &[], body.clone())
                    .await;
                assert_eq!(answer.status, 200);
                if lane == 0 {
                    // Kept requests would grow without end.
                    drop(stage.mock.received());
                }
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
        warm += 1;
    }
    assert_eq!(
        (warm, stage.mock.requests(), stage.mock.rejected()),
        (16, REQUESTS, 0)
    );
    // What the requests needed is given back: tasks at once, memory up to what the events hold here.
    let tasks = tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks();
    assert!(tasks < 200, "{tasks} tasks are left");
    let events = stage.events.wait(REQUESTS).await;
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < 300 << 10, "{grown} KiB for {REQUESTS} requests");
    let panicked = events
        .iter()
        .filter(|event| event.failed_open == Some(FailOpen::Panicked))
        .count();
    assert_eq!((panicked, stage.proxy.in_flight()), (REQUESTS / 100, 0));
    assert!(events.iter().all(|event| event.ended == Ended::Complete));
    assert_eq!(stage.events.len(), REQUESTS);
}
