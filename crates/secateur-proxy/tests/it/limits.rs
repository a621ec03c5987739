//! Every bound holds: memory, time, connections, and what an upstream may say.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use secateur_core::Dialect;
use secateur_mock::{MockOptions, Received, Scripted};
use secateur_proxy::audit::{Ended, FailOpen};
use secateur_proxy::{PageBody, Pages, is_page_path};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::stage::{PRUNES, Stage, chat, conversation};

const CHAT: &str = "/v1/chat/completions";
/// Longer than any deadline here, shorter than a test may hang.
const PATIENCE: Duration = Duration::from_secs(20);

async fn connect(stage: &Stage) -> TcpStream {
    TcpStream::connect(stage.proxy.addr()).await.unwrap()
}

/// What comes back until the proxy closes the connection, and how long that took.
async fn read_to_the_end(socket: &mut TcpStream) -> (String, Duration) {
    let (started, mut answer) = (Instant::now(), Vec::new());
    let read = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut answer)).await;
    // A reset is an end too.
    let _ = read.expect("the connection is closed");
    (
        String::from_utf8_lossy(&answer).into_owned(),
        started.elapsed(),
    )
}

/// One raw request, and what comes back within a while.
pub(crate) async fn raw(stage: &Stage, request: &str) -> String {
    let mut socket = connect(stage).await;
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; 65536];
    let read = tokio::time::timeout(PATIENCE, socket.read(&mut answer)).await;
    let length = read.expect("there is an answer").unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

pub(crate) async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..500 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what}");
}

/// Forty bodies that came a byte at a time held 1.2 GB for ever.
#[tokio::test]
async fn bodies_beyond_the_byte_budget_are_told_to_come_back() {
    let stage = Stage::new(&format!("max_buffered_mb = 1\n{PRUNES}")).await;
    let part = vec![b' '; 700 << 10];
    let head = format!(
        "POST /w/p/v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
        1 << 20
    );
    let mut held = connect(&stage).await;
    held.write_all(head.as_bytes()).await.unwrap();
    held.write_all(&part).await.unwrap();
    let buffered = || async {
        let page = stage.get("/metrics").await;
        let page = String::from_utf8_lossy(&page.body).into_owned();
        let line = page
            .lines()
            .find(|line| line.starts_with("secateur_buffered_bytes "));
        line.unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .parse::<usize>()
            .unwrap()
    };
    for _ in 0..500 {
        if buffered().await >= part.len() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let answer = stage.post("/w/p/v1/messages", &[], part.clone()).await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.headers["retry-after"], "1");
    assert_eq!(answer.json()["error"]["type"], "overloaded_error");
    // A body that is not buffered needs no room.
    let answer = stage.post(CHAT, &[], chat()).await;
    assert_eq!(answer.status, 200);
    drop(held);
    for _ in 0..500 {
        if buffered().await == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(buffered().await, 0);
    let body = conversation(Dialect::AnthropicMessages, 21, false);
    let answer = stage.post("/w/p/v1/messages", &[], body).await;
    assert_eq!(answer.status, 200);
}

fn gzip(text: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_decoded_body_counts_too() {
    let stage = Stage::new(&format!("max_buffered_mb = 1\n{PRUNES}")).await;
    let packed = gzip(&vec![b' '; 3 << 20]);
    let path = "/w/p/v1/chat/completions";
    let answer = stage
        .post(path, &[("content-encoding", "gzip")], packed)
        .await;
    assert_eq!(
        (
            answer.status.as_u16(),
            answer.json()["error"]["code"].as_str()
        ),
        (503, Some("no-room"))
    );
}

/// The log said `over-budget` and nothing else.
#[tokio::test]
async fn giving_up_is_logged_with_its_time_and_the_bodys_size() {
    let more = "[workload.p]\npreset = \"tessera\"\nbudget_ms = 1\nbudget_ms_per_mb = 0\n";
    let stage = Stage::new(more).await;
    let packed = gzip(&vec![b' '; 20 << 20]);
    let (path, least) = ("/w/p/v1/chat/completions", packed.len() as u64);
    stage
        .post(path, &[("content-encoding", "gzip")], packed)
        .await;
    let event = stage.events.last(1).await;
    assert_eq!(event.failed_open, Some(FailOpen::OverBudget));
    eventually("no log line", || stage.log.text().contains("failed_open")).await;
    let text = stage.log.text();
    let line = text.lines().find(|line| line.contains("failed_open"));
    let line: serde_json::Value = serde_json::from_str(line.unwrap()).unwrap();
    assert_eq!(line["budget_ms"].as_f64(), Some(1.0), "{line}");
    assert!(line["ran_ms"].as_f64().unwrap() >= 1.0, "{line}");
    assert!(line["body_bytes"].as_u64().unwrap() >= least, "{line}");
}

/// A connection that sent nothing, or half of the line that begins HTTP/2, was never closed.
#[tokio::test]
async fn a_connection_without_a_request_is_closed() {
    let stage = Stage::new("[timeouts]\nrequest_head_s = 0.3\n").await;
    for opening in [
        &b""[..],
        b"PRI * HTTP/2.0\r\n\r\nSM",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HT",
    ] {
        let mut socket = connect(&stage).await;
        socket.write_all(opening).await.unwrap();
        let (_, took) = read_to_the_end(&mut socket).await;
        assert!(took >= Duration::from_millis(250), "{took:?}");
    }
    // One that asked for something stays.
    let mut socket = connect(&stage).await;
    for _ in 0..2 {
        socket
            .write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .unwrap();
        let mut answer = [0; 1024];
        let length = socket.read(&mut answer).await.unwrap();
        assert!(answer[..length].starts_with(b"HTTP/1.1 200"));
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
    let page = stage.proxy.metrics_page();
    assert!(
        page.contains("secateur_connections_refused_total{reason=\"no-request\"} 4"),
        "{page}"
    );
}

/// With as many silent sockets as there may be connections, `/healthz` was dead.
#[tokio::test]
async fn health_is_answered_when_every_place_is_taken() {
    let stage = Stage::new("max_connections = 4\nmax_connections_per_address = 4\n").await;
    let mut silent = Vec::new();
    for _ in 0..4 {
        silent.push(connect(&stage).await);
    }
    eventually("four connections", || {
        let page = stage.proxy.metrics_page();
        page.contains("secateur_connections 4\n")
    })
    .await;
    // More silent ones than there are places for health checks.
    for _ in 0..80 {
        silent.push(connect(&stage).await);
    }
    let health = raw(&stage, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    let other = "POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}";
    let refused = raw(&stage, other).await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(
        refused.contains("retry-after: 1") && refused.contains("overloaded_error"),
        "{refused}"
    );
    drop(silent);
    eventually("places come back", || {
        let page = stage.proxy.metrics_page();
        page.contains("secateur_connections 0\n")
    })
    .await;
    assert_eq!(stage.post(CHAT, &[], chat()).await.status, 200);
}

/// A byte now and then kept a body, its connection and its buffer for ever.
#[tokio::test]
async fn a_body_that_crawls_is_ended() {
    let more = format!("[timeouts]\nrequest_idle_s = 0.4\nmin_bytes_per_s = 1000\n{PRUNES}");
    let stage = Stage::new(&more).await;
    for path in ["/v1/messages", "/w/p/v1/messages"] {
        let mut socket = connect(&stage).await;
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n");
        socket.write_all(head.as_bytes()).await.unwrap();
        let (mut reader, mut writer) = socket.split();
        let crawl = async {
            while writer.write_all(b" ").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            std::future::pending::<()>().await;
        };
        let mut answer = [0; 1024];
        let length = tokio::select! {
            () = crawl => unreachable!(),
            read = tokio::time::timeout(PATIENCE, reader.read(&mut answer)) => read,
        };
        let length = length.expect("there is an answer").unwrap();
        let answer = String::from_utf8_lossy(&answer[..length]);
        assert!(answer.starts_with("HTTP/1.1 408"), "{path}: {answer}");
    }
}

/// Bodies that stood still on these paths were waited for without end.
#[tokio::test]
async fn bodies_for_the_proxys_own_endpoints_have_the_same_deadlines() {
    let stage = Stage::new("[timeouts]\nrequest_head_s = 0.3\n").await;
    for path in [
        "/v1/secateur/recall",
        "/v1/secateur/scores",
        "/w/default/v1/secateur/scores",
    ] {
        let mut socket = connect(&stage).await;
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{{");
        socket.write_all(head.as_bytes()).await.unwrap();
        let (answer, _) = read_to_the_end(&mut socket).await;
        assert!(answer.starts_with("HTTP/1.1 408"), "{path}: {answer}");
    }
}

/// Reads a form, as the portal's login does.
#[derive(Debug)]
struct Form;

impl Pages for Form {
    fn claims(&self, path: &str) -> bool {
        is_page_path(path)
    }

    fn respond(
        &self,
        request: Request<PageBody>,
    ) -> Pin<Box<dyn Future<Output = Response<Bytes>> + Send + '_>> {
        Box::pin(async move {
            let form = request.into_body().collect().await;
            let mut response = Response::new(Bytes::new());
            if form.is_err() {
                *response.status_mut() = StatusCode::BAD_REQUEST;
            }
            response
        })
    }
}

#[tokio::test]
async fn a_form_that_stands_still_is_given_up() {
    let more = "[timeouts]\nrequest_head_s = 0.3\n";
    let stage = Stage::with(more, MockOptions::default(), |parts| {
        parts.pages = Some(Arc::new(Form));
    })
    .await;
    for path in ["/portal/login", "/portal/switch"] {
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\n");
        let answer = raw(&stage, &format!("{head}token")).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        let answer = raw(&stage, &format!("{head}to")).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{path}: {answer}");
    }
}

fn large_answer() -> MockOptions {
    let big = Bytes::from(vec![b'x'; 64 << 20]);
    let script = move |_: &Received| {
        Some(Scripted {
            status: 200,
            headers: Vec::new(),
            body: big.clone(),
        })
    };
    MockOptions {
        script: Some(Arc::new(script)),
        ..MockOptions::default()
    }
}

/// Thirty slow readers held thirty calls to the upstream.
#[tokio::test]
async fn a_client_that_takes_nothing_of_its_response_is_cut_off() {
    let more = "[timeouts]\nresponse_write_s = 0.4\n";
    let stage = Stage::with(more, large_answer(), |_| {}).await;
    let mut socket = connect(&stage).await;
    socket
        .write_all(b"GET /v1/big HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    let event = stage.events.last(1).await;
    assert_eq!(event.ended, Ended::ClientGone);
    assert!(event.response_bytes < 64 << 20);
}

/// In HTTP/2 the window of one stream stays closed while the socket is read.
#[tokio::test]
async fn a_stream_that_its_client_does_not_read_is_reset_and_its_neighbours_go_on() {
    let more = "[timeouts]\nresponse_write_s = 0.4\n";
    let stage = Stage::with(more, large_answer(), |_| {}).await;
    let socket = TokioIo::new(connect(&stage).await);
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), socket);
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    let url = stage.proxy.url();
    let get = |path: &str| {
        let request = Request::get(format!("{url}{path}"));
        request.body(Full::<Bytes>::default()).unwrap()
    };
    let stuck = sender.send_request(get("/v1/big")).await.unwrap();
    assert_eq!(stuck.status(), 200);
    let event = stage.events.last(1).await;
    assert_eq!(event.ended, Ended::ClientGone);
    assert!(stuck.into_body().collect().await.is_err());
    let health = sender.send_request(get("/healthz")).await.unwrap();
    assert_eq!(health.status(), 200);
}

#[tokio::test]
async fn streams_that_are_cut_off_at_the_end_are_recorded_before_the_proxy_is_gone() {
    let stage = Stage::new("[timeouts]\nshutdown_s = 0.3\n").await;
    let body = conversation(Dialect::OpenaiChat, 3, true);
    let slow = [("x-mock-conduct", "chunk=100;gap=60000")];
    let mut streams = Vec::new();
    for _ in 0..3 {
        streams.push(stage.send(Method::POST, CHAT, &slow, body.clone()).await);
    }
    let (events, proxy) = (stage.events.clone(), stage.proxy);
    proxy.shutdown().await;
    assert_eq!(events.len(), 3, "recorded before shutdown returns");
    for event in events.wait(3).await {
        assert_eq!((event.ended, event.status), (Ended::CutOff, 200));
    }
}
