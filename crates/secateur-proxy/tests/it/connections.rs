//! Connections to an upstream: used again, replaced when they ended, and never in each other's way.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep};

use crate::stage::{Stage, chat, config, whole};

const CHAT: &str = "/w/w/v1/chat/completions";

/// What an upstream writes, piece by piece.
type Answer = &'static [&'static [u8]];

const WITH_A_LENGTH: Answer = &[b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", b"{}"];
const IN_CHUNKS: Answer = &[
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n",
    b"3\r\ndef\r\n",
    b"0\r\n\r\n",
];
const WITHOUT_A_BODY: Answer = &[b"HTTP/1.1 204 No Content\r\n\r\n"];
const UNTIL_IT_CLOSES: Answer = &[b"HTTP/1.1 200 OK\r\n\r\nto the ", b"end"];

/// An upstream that gives these answers on each of its connections in turn, and then closes it without a word.
struct Upstream {
    url: String,
    connections: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
}

impl Upstream {
    async fn start(answers: &'static [Answer]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicUsize::new(0));
        let accepted = Arc::clone(&connections);
        let open = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&open);
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::SeqCst);
                counted.fetch_add(1, Ordering::SeqCst);
                let counted = Arc::clone(&counted);
                tokio::spawn(async move {
                    answer_all(&mut socket, answers).await;
                    counted.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self {
            url,
            connections,
            open,
        }
    }

    async fn stage(&self) -> Stage {
        Stage::new(&format!(
            "[workload.w]\nupstream.openai = \"{}\"\n",
            self.url
        ))
        .await
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Connections that neither side has closed.
    fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    async fn wait_until_open(&self, count: usize) {
        for _ in 0..500 {
            if self.open() == count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{} are open", self.open());
    }
}

async fn answer_all(socket: &mut TcpStream, answers: &[Answer]) -> Option<()> {
    for answer in answers {
        read_request(socket).await?;
        for piece in *answer {
            socket.write_all(piece).await.ok()?;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    Some(())
}

/// Reads a head and as many bytes as it says. `None`: there was no more.
async fn read_request(socket: &mut TcpStream) -> Option<()> {
    let mut read = Vec::new();
    loop {
        let head = read.windows(4).position(|end| end == b"\r\n\r\n");
        if let Some(head) = head {
            let text = String::from_utf8_lossy(&read[..head]).to_lowercase();
            let length = text.split("content-length: ").nth(1);
            let length = length.map_or("0", |rest| rest.split("\r\n").next().unwrap());
            if read.len() >= head + 4 + length.parse::<usize>().unwrap() {
                return Some(());
            }
        }
        match socket.read_buf(&mut read).await {
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

#[tokio::test]
async fn one_after_another_goes_over_the_same_connection() {
    const ANSWERS: &[Answer] = &[
        WITH_A_LENGTH,
        IN_CHUNKS,
        WITHOUT_A_BODY,
        IN_CHUNKS,
        WITH_A_LENGTH,
        WITHOUT_A_BODY,
    ];
    let upstream = Upstream::start(ANSWERS).await;
    let stage = upstream.stage().await;
    for answer in ANSWERS {
        let got = stage.post(CHAT, &[], chat()).await;
        let expected: &[u8] = match *answer {
            IN_CHUNKS => b"abcdef",
            WITH_A_LENGTH => b"{}",
            _ => b"",
        };
        assert_eq!(got.body, expected);
        assert_eq!(
            got.status.as_u16(),
            if expected.is_empty() { 204 } else { 200 }
        );
    }
    assert_eq!(upstream.connections(), 1);
}

#[tokio::test]
async fn at_the_same_time_everyone_has_a_connection_and_later_they_are_used_again() {
    const ANSWERS: &[Answer] = &[IN_CHUNKS; 40];
    let upstream = Upstream::start(ANSWERS).await;
    let stage = Arc::new(upstream.stage().await);
    for _ in 0..3 {
        let ask = |_| {
            let stage = Arc::clone(&stage);
            tokio::spawn(async move { stage.post(CHAT, &[], chat()).await.body })
        };
        for asked in (0..8).map(ask).collect::<Vec<_>>() {
            assert_eq!(asked.await.unwrap(), b"abcdef"[..]);
        }
    }
    let connections = upstream.connections();
    assert!((2..=8).contains(&connections), "{connections}");
}

#[tokio::test]
async fn a_connection_that_ended_while_it_waited_is_replaced() {
    for (answers, body) in [
        (&[WITH_A_LENGTH] as &[Answer], &b"{}"[..]),
        (&[IN_CHUNKS, IN_CHUNKS], b"abcdef"),
        (&[UNTIL_IT_CLOSES], b"to the end"),
    ] {
        let upstream = Upstream::start(answers).await;
        let stage = upstream.stage().await;
        for _ in 0..6 {
            let got = stage.post(CHAT, &[], chat()).await;
            assert_eq!((got.status.as_u16(), &*got.body), (200, body));
            // It closes now, and this side hears of it.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(upstream.connections(), 6 / answers.len());
    }
}

/// A body whose pieces come one after the other.
struct Slow {
    pieces: usize,
    pause: Pin<Box<Sleep>>,
}

const PIECE: &[u8] = b"a piece of a body, ";
const PAUSE: Duration = Duration::from_millis(20);

impl Body for Slow {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.pieces == 0 {
            return Poll::Ready(None);
        }
        ready!(self.pause.as_mut().poll(context));
        self.pieces -= 1;
        self.pause.as_mut().reset(Instant::now() + PAUSE);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(PIECE)))))
    }
}

/// Whoever brings the pieces has another task than whoever asks for them where the client speaks HTTP/2.
#[tokio::test]
async fn a_body_that_comes_slowly_arrives_over_both_protocols() {
    let stage = Stage::new("").await;
    for is_http2 in [false, true] {
        let client = Client::builder(TokioExecutor::new())
            .http2_only(is_http2)
            .build_http();
        let body = Slow {
            pieces: 8,
            pause: Box::pin(tokio::time::sleep(PAUSE)),
        };
        let url = format!("{}/v1/files", stage.proxy.url());
        let sent = client.request(http::Request::post(url).body(body).unwrap());
        let answered = tokio::time::timeout(Duration::from_secs(20), sent).await;
        let response = answered.expect("nobody waits for a wake").unwrap();
        whole(response).await;
        let events = stage.events.wait(1 + usize::from(is_http2)).await;
        let event = events.last().unwrap();
        assert_eq!(event.bytes_before, 8 * PIECE.len() as u64);
        assert_eq!(event.bytes_after, event.bytes_before);
    }
}

/// The client reads nothing before it has sent everything, and the upstream answers before it has everything.
#[tokio::test]
async fn an_upstream_that_answers_early_does_not_stop_the_client_from_sending() {
    const SIZE: usize = 24 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        let (mut from, mut to) = socket.into_split();
        let mut first = [0; 1];
        from.read_exact(&mut first).await.unwrap();
        tokio::spawn(async move {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {SIZE}\r\n\r\n");
            to.write_all(head.as_bytes()).await.unwrap();
            to.write_all(&vec![b'y'; SIZE]).await.unwrap();
            // Not closed before the client has it all.
            tokio::time::sleep(Duration::from_secs(30)).await;
        });
        tokio::io::copy(&mut from, &mut tokio::io::sink()).await
    });
    let stage = Stage::new(&format!("[workload.w]\nupstream.openai = \"{url}\"\n")).await;
    let mut client = TcpStream::connect(stage.proxy.addr()).await.unwrap();
    let head = format!("POST /w/w/v1/files HTTP/1.1\r\nhost: x\r\ncontent-length: {SIZE}\r\n\r\n");
    let talk = async {
        client.write_all(head.as_bytes()).await.unwrap();
        for _ in 0..SIZE >> 20 {
            client.write_all(&vec![b'x'; 1 << 20]).await.unwrap();
        }
        let mut read = vec![0; 1 << 20];
        let mut total = 0;
        while total < SIZE {
            let size = client.read(&mut read).await.unwrap();
            assert!(size > 0, "it ended after {total} bytes");
            total += size;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), talk)
        .await
        .expect("neither side waits for the other");
}

/// Once an upstream was replaced in the configuration, no connection to it is left behind.
#[tokio::test]
async fn a_new_configuration_closes_what_waits_for_an_upstream_that_it_does_not_name() {
    const SLOWLY: Answer = &{
        let mut pieces: [&[u8]; 102] = [b"1\r\na\r\n"; 102];
        pieces[0] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        pieces[101] = b"0\r\n\r\n";
        pieces
    };
    let [old, new, kept] = [
        Upstream::start(&[SLOWLY, SLOWLY, SLOWLY]).await,
        Upstream::start(&[WITH_A_LENGTH, WITH_A_LENGTH]).await,
        Upstream::start(&[WITH_A_LENGTH, WITH_A_LENGTH]).await,
    ];
    let leads_to = |url: &str| {
        let kept = &kept.url;
        format!(
            "[workload.w]\nupstream.openai = \"{url}\"\n[workload.k]\nupstream.openai = \"{kept}\"\n"
        )
    };
    let stage = Stage::new(&leads_to(&old.url)).await;
    stage.post("/w/k/v1/chat/completions", &[], chat()).await;
    let ask = || stage.send(http::Method::POST, CHAT, &[], chat());
    let (one, other) = (ask().await, ask().await);
    assert_eq!(whole(one).await.body, [b'a'; 100][..]);
    assert_eq!(whole(other).await.body, [b'a'; 100][..]);
    // Both connections wait now, and one of them is taken.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let under_way = ask().await;
    assert_eq!((old.connections(), old.open()), (2, 2));

    stage
        .proxy
        .reload(config(&stage.mock.url(), &leads_to(&new.url)))
        .unwrap();
    old.wait_until_open(1).await;
    assert_eq!(whole(under_way).await.body, [b'a'; 100][..]);
    // The last one is not kept for another request either.
    old.wait_until_open(0).await;
    assert_eq!(stage.post(CHAT, &[], chat()).await.body, b"{}"[..]);
    stage.post("/w/k/v1/chat/completions", &[], chat()).await;
    let connections = [&old, &new, &kept].map(Upstream::connections);
    assert_eq!(connections, [2, 1, 1], "what is still named is used again");
}
