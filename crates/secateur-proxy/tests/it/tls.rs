//! Upstreams behind TLS: a root of one's own, HTTP/2 where it is asked for, and no trust without a reason.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use secateur_core::Dialect;
use secateur_mock::MockOptions;
use secateur_proxy::Config;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Barrier, Notify};
use tokio_rustls::TlsAcceptor;

use crate::stage::{PRUNES, Stage, conversation, request, whole};

/// A server behind TLS that notes the version of each request and gives its body back.
struct Behind {
    addr: SocketAddr,
    versions: Arc<Mutex<Vec<Version>>>,
    connections: Arc<AtomicUsize>,
    ca_file: PathBuf,
}

/// How a server answers.
#[derive(Clone, Default)]
struct Answers {
    versions: Arc<Mutex<Vec<Version>>>,
    /// Streams at a time on one HTTP/2 connection.
    max_streams: Option<u32>,
    /// No request is answered before so many have arrived.
    together: Option<Arc<Barrier>>,
    /// Ends all connections without a word.
    close: Arc<Notify>,
}

impl Behind {
    async fn start(name: &str, alpn: &[&[u8]]) -> Self {
        Self::start_with(name, alpn, Answers::default()).await
    }

    async fn start_with(name: &str, alpn: &[&[u8]], answers: Answers) -> Self {
        let ca_key = KeyPair::generate().unwrap();
        let mut ca = CertificateParams::new(Vec::new()).unwrap();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca_cert = ca.self_signed(&ca_key).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let issuer = Issuer::new(ca, ca_key);
        let cert = leaf.signed_by(&key, &issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![cert.der().clone()],
                PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            )
            .unwrap();
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let versions = Arc::clone(&answers.versions);
        let connections = Arc::<AtomicUsize>::default();
        tokio::spawn(accept(
            listener,
            acceptor,
            answers,
            Arc::clone(&connections),
        ));
        let ca_file =
            std::env::temp_dir().join(format!("secateur-{name}-{}.pem", std::process::id()));
        std::fs::write(&ca_file, ca_cert.pem()).unwrap();
        Self {
            addr,
            versions,
            connections,
            ca_file,
        }
    }

    fn workload(&self) -> String {
        format!(
            "{PRUNES}upstream.openai = \"https://localhost:{}\"\n",
            self.addr.port()
        )
    }

    /// A stage whose `p` workload goes here, with the root trusted, over HTTP/1.1 or HTTP/2.
    async fn stage(&self, is_http2: bool) -> Stage {
        let http2_hosts = match is_http2 {
            true => "upstream.http2_hosts = [\"localhost\"]\n",
            false => "",
        };
        let ca_file = self.ca_file.display();
        self.stage_with(&format!("upstream.ca_file = \"{ca_file}\"\n{http2_hosts}"))
            .await
    }

    async fn stage_with(&self, upstream: &str) -> Stage {
        let text = format!("listen = \"127.0.0.1:0\"\n{upstream}{}", self.workload());
        let config = Config::read("test", &text, Path::new("."), &|_| None).unwrap();
        Stage::with("", MockOptions::default(), |parts| {
            parts.config.store(std::sync::Arc::new(config));
        })
        .await
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    fn versions(&self) -> Vec<Version> {
        self.versions.lock().unwrap().clone()
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.ca_file);
    }
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    answers: Answers,
    connections: Arc<AtomicUsize>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        connections.fetch_add(1, Ordering::SeqCst);
        let tls = acceptor.clone();
        let answers = answers.clone();
        tokio::spawn(async move {
            let Ok(stream) = tls.accept(stream).await else {
                return;
            };
            let mut server = auto::Builder::new(TokioExecutor::new());
            server.http2().max_concurrent_streams(answers.max_streams);
            let close = Arc::clone(&answers.close);
            let service = service_fn(move |request| echo(request, answers.clone()));
            let served = server.serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                _ = served => {}
                () = close.notified() => {}
            }
        });
    }
}

async fn echo(
    request: Request<Incoming>,
    answers: Answers,
) -> Result<Response<Full<Bytes>>, Infallible> {
    answers.versions.lock().unwrap().push(request.version());
    let body = request.into_body().collect().await.unwrap().to_bytes();
    if let Some(together) = &answers.together {
        together.wait().await;
    }
    Ok(Response::new(Full::new(body)))
}

const CHAT: &str = "/w/p/v1/chat/completions";

#[tokio::test]
async fn an_upstream_with_a_root_of_ones_own_is_reached_over_the_protocol_that_is_asked_for() {
    for (is_http2, version) in [(false, Version::HTTP_11), (true, Version::HTTP_2)] {
        let behind = Behind::start(&format!("own-{is_http2}"), &[b"h2", b"http/1.1"]).await;
        let stage = behind.stage(is_http2).await;
        let body = conversation(Dialect::OpenaiChat, 21, false);
        for _ in 0..3 {
            let answer = stage.post(CHAT, &[], body.clone()).await;
            assert_eq!(answer.status, 200);
            assert_eq!(answer.headers["x-secateur-stack"], "m7");
            assert!(answer.body.len() < body.len());
        }
        // A large body that is only passed on, through the flow control of HTTP/2.
        let large = vec![b'x'; 3 << 20];
        let answer = stage.post("/w/p/v1/files", &[], large.clone()).await;
        assert_eq!(answer.body, large);
        assert_eq!(behind.versions(), [version; 4]);
    }
}

/// A request that finds its connection closed goes over a new one, with all of its body, which comes slowly.
#[tokio::test]
async fn a_connection_behind_tls_that_was_closed_while_idle_is_replaced() {
    const PIECES: usize = 5;
    for (is_http2, alpn) in [(false, &b"http/1.1"[..]), (true, b"h2")] {
        let (name, answers) = (format!("closed-{is_http2}"), Answers::default());
        let close = Arc::clone(&answers.close);
        let behind = Behind::start_with(&name, &[alpn], answers).await;
        let stage = behind.stage(is_http2).await;
        for _ in 0..2 {
            let mut client = TcpStream::connect(stage.proxy.addr()).await.unwrap();
            let talk = async {
                let size = PIECES * 1000;
                let head = format!(
                    "POST /w/p/v1/files HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {size}\r\n\r\n"
                );
                client.write_all(head.as_bytes()).await.unwrap();
                for _ in 0..PIECES {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    client.write_all(&[b'x'; 1000]).await.unwrap();
                }
                let mut answer = String::new();
                client.read_to_string(&mut answer).await.unwrap();
                assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                assert!(answer.ends_with(&"x".repeat(size)), "{answer}");
            };
            tokio::time::timeout(Duration::from_secs(20), talk)
                .await
                .expect("the request goes over a new connection");
            close.notify_waiters();
            // The proxy hears of it.
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        assert_eq!(behind.connections(), 2);
    }
}

#[tokio::test]
async fn requests_share_one_http2_connection() {
    let behind = Behind::start("shared", &[b"h2"]).await;
    let stage = Arc::new(behind.stage(true).await);
    let body = conversation(Dialect::OpenaiChat, 3, false);
    let ask = || {
        let (stage, body) = (Arc::clone(&stage), body.clone());
        async move { stage.post(CHAT, &[], body).await.body }
    };
    assert_eq!(ask().await, body);
    let together: Vec<_> = (0..20).map(|_| tokio::spawn(ask())).collect();
    for asked in together {
        assert_eq!(asked.await.unwrap(), body);
    }
    assert_eq!(behind.connections(), 1);
}

/// No request is answered before all have arrived: one that waited for a free stream would wait for ever.
#[tokio::test]
async fn more_requests_than_the_peer_allows_streams_open_further_http2_connections() {
    const TOGETHER: usize = 6;
    let answers = Answers {
        max_streams: Some(2),
        together: Some(Arc::new(Barrier::new(TOGETHER))),
        ..Answers::default()
    };
    let behind = Behind::start_with("limit", &[b"h2"], answers).await;
    let stage = Arc::new(behind.stage(true).await);
    let body = conversation(Dialect::OpenaiChat, 3, false);
    for _ in 0..3 {
        let ask = |_| {
            let (stage, body) = (Arc::clone(&stage), body.clone());
            tokio::spawn(async move { stage.post(CHAT, &[], body).await.body })
        };
        let asked: Vec<_> = (0..TOGETHER).map(ask).collect();
        for asked in asked {
            let answered = tokio::time::timeout(Duration::from_secs(20), asked).await;
            assert_eq!(answered.expect("no request waits").unwrap(), body);
        }
    }
    assert_eq!(behind.versions(), [Version::HTTP_2; 3 * TOGETHER]);
    assert!(behind.connections() >= TOGETHER / 2);
}

#[tokio::test]
async fn an_upstream_without_http2_is_reached_over_http1() {
    let behind = Behind::start("h1", &[b"http/1.1"]).await;
    let stage = behind.stage(true).await;
    let body = conversation(Dialect::OpenaiChat, 3, false);
    for _ in 0..3 {
        assert_eq!(stage.post(CHAT, &[], body.clone()).await.body, body);
    }
    assert_eq!(behind.versions(), [Version::HTTP_11; 3]);
    assert_eq!(behind.connections(), 2, "one was offered HTTP/2 in vain");
}

#[tokio::test]
async fn http2_at_the_client_and_http2_at_the_upstream_fit_together() {
    let behind = Behind::start("h2-both", &[b"h2"]).await;
    let stage = behind.stage(true).await;
    let client = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build_http();
    let body = conversation(Dialect::OpenaiChat, 3, false);
    let url = stage.proxy.url();
    let sent = request(&client, &url, Method::POST, CHAT, &[], body.clone());
    let response = sent.await.unwrap();
    assert_eq!(response.version(), Version::HTTP_2);
    assert_eq!(whole(response).await.body, body);
    assert_eq!(behind.versions(), [Version::HTTP_2]);
}

#[tokio::test]
async fn an_upstream_that_nobody_vouches_for_is_not_trusted() {
    let behind = Behind::start("unknown", &[b"h2", b"http/1.1"]).await;
    for upstream in ["", "upstream.http2_hosts = [\"localhost\"]\n"] {
        let stage = behind.stage_with(upstream).await;
        let body = conversation(Dialect::OpenaiChat, 3, false);
        let answer = stage.post(CHAT, &[], body).await;
        assert_eq!(
            (
                answer.status.as_u16(),
                answer.json()["error"]["code"].as_str()
            ),
            (502, Some("upstream-tls"))
        );
    }
    assert!(behind.versions().is_empty());
}
