//! Upstreams behind TLS: a root of one's own, HTTP/2 by ALPN, and no trust without a reason.

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
use tokio_rustls::TlsAcceptor;

use crate::stage::{PRUNES, Stage, conversation, request, whole};

/// A server behind TLS that notes the version of each request and gives its body back.
struct Behind {
    addr: SocketAddr,
    versions: Arc<Mutex<Vec<Version>>>,
    connections: Arc<AtomicUsize>,
    ca_file: PathBuf,
}

impl Behind {
    async fn start(name: &str, alpn: &[&[u8]]) -> Self {
        Self::start_with(name, &[alpn]).await
    }

    /// Each of its connections speaks the next of these, and those to come the last one. All but that one end without
    /// a word soon after they began.
    async fn start_with(name: &str, alpns: &[&[&[u8]]]) -> Self {
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
        let speaking = |alpn: &&[&[u8]]| {
            config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
            TlsAcceptor::from(Arc::new(config.clone()))
        };
        let acceptors: Vec<TlsAcceptor> = alpns.iter().map(speaking).collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let versions: Arc<Mutex<Vec<Version>>> = Arc::default();
        let connections = Arc::<AtomicUsize>::default();
        tokio::spawn(accept(
            listener,
            acceptors,
            Arc::clone(&versions),
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

    /// A stage whose `p` workload goes here, with the root trusted or not.
    async fn stage(&self, trusted: bool) -> Stage {
        let ca_file = match trusted {
            true => format!("upstream.ca_file = \"{}\"\n", self.ca_file.display()),
            false => String::new(),
        };
        let text = format!("listen = \"127.0.0.1:0\"\n{ca_file}{}", self.workload());
        let config = Config::read("test", &text, Path::new("."), &|_| None).unwrap();
        Stage::with("", MockOptions::default(), |parts| {
            parts.config.store(std::sync::Arc::new(config));
        })
        .await
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.ca_file);
    }
}

/// How long a connection lives that is not the last one.
const SHORT: Duration = Duration::from_millis(300);

async fn accept(
    listener: TcpListener,
    acceptors: Vec<TlsAcceptor>,
    versions: Arc<Mutex<Vec<Version>>>,
    connections: Arc<AtomicUsize>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        let number = connections.fetch_add(1, Ordering::SeqCst);
        let is_last = number + 1 >= acceptors.len();
        let tls = acceptors[number.min(acceptors.len() - 1)].clone();
        let versions = Arc::clone(&versions);
        tokio::spawn(async move {
            let Ok(stream) = tls.accept(stream).await else {
                return;
            };
            let service = service_fn(move |request| echo(request, Arc::clone(&versions)));
            let server = auto::Builder::new(TokioExecutor::new());
            let served = server.serve_connection(TokioIo::new(stream), service);
            let life = if is_last { SHORT * 1000 } else { SHORT };
            let _ = tokio::time::timeout(life, served).await;
        });
    }
}

async fn echo(
    request: Request<Incoming>,
    versions: Arc<Mutex<Vec<Version>>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    versions.lock().unwrap().push(request.version());
    let body = request.into_body().collect().await.unwrap().to_bytes();
    Ok(Response::new(Full::new(body)))
}

#[tokio::test]
async fn an_upstream_with_a_root_of_ones_own_is_reached_over_http2() {
    let behind = Behind::start("h2", &[b"h2", b"http/1.1"]).await;
    let stage = behind.stage(true).await;
    let body = conversation(Dialect::OpenaiChat, 21, false);
    for _ in 0..3 {
        let answer = stage
            .post("/w/p/v1/chat/completions", &[], body.clone())
            .await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.headers["x-secateur-stack"], "m7");
        assert!(answer.body.len() < body.len());
    }
    // A large body that is only passed on, through the flow control of HTTP/2.
    let large = vec![b'x'; 3 << 20];
    let answer = stage.post("/w/p/v1/files", &[], large.clone()).await;
    assert_eq!(answer.body, large);
    assert_eq!(*behind.versions.lock().unwrap(), [Version::HTTP_2; 4]);
}

/// A request that found its HTTP/1.1 connection dead goes on over HTTP/2, with all of its body, which comes slowly.
#[tokio::test]
async fn an_upstream_may_learn_http2_while_the_proxy_runs() {
    const PIECES: usize = 5;
    let behind = Behind::start_with("learns", &[&[b"http/1.1"], &[b"h2"]]).await;
    let stage = behind.stage(true).await;
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
            .expect("nobody waits for a wake");
        tokio::time::sleep(SHORT * 2).await;
    }
    let versions = behind.versions.lock().unwrap().clone();
    assert_eq!(versions, [Version::HTTP_11, Version::HTTP_2]);
}

#[tokio::test]
async fn requests_share_one_http2_connection() {
    let behind = Behind::start("shared", &[b"h2"]).await;
    let stage = Arc::new(behind.stage(true).await);
    let body = conversation(Dialect::OpenaiChat, 3, false);
    let ask = || {
        let (stage, body) = (Arc::clone(&stage), body.clone());
        async move { stage.post("/w/p/v1/chat/completions", &[], body).await.body }
    };
    assert_eq!(ask().await, body);
    let together: Vec<_> = (0..20).map(|_| tokio::spawn(ask())).collect();
    for asked in together {
        assert_eq!(asked.await.unwrap(), body);
    }
    assert_eq!(behind.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_upstream_without_http2_is_reached_over_http1() {
    let behind = Behind::start("h1", &[b"http/1.1"]).await;
    let stage = behind.stage(true).await;
    let body = conversation(Dialect::OpenaiChat, 3, false);
    let answer = stage
        .post("/w/p/v1/chat/completions", &[], body.clone())
        .await;
    assert_eq!(answer.body, body);
    assert_eq!(*behind.versions.lock().unwrap(), [Version::HTTP_11]);
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
    let sent = request(
        &client,
        &url,
        Method::POST,
        "/w/p/v1/chat/completions",
        &[],
        body.clone(),
    );
    let response = sent.await.unwrap();
    assert_eq!(response.version(), Version::HTTP_2);
    assert_eq!(whole(response).await.body, body);
    assert_eq!(*behind.versions.lock().unwrap(), [Version::HTTP_2]);
}

#[tokio::test]
async fn an_upstream_that_nobody_vouches_for_is_not_trusted() {
    let behind = Behind::start("unknown", &[b"h2", b"http/1.1"]).await;
    let stage = behind.stage(false).await;
    let body = conversation(Dialect::OpenaiChat, 3, false);
    let answer = stage.post("/w/p/v1/chat/completions", &[], body).await;
    assert_eq!(
        (
            answer.status.as_u16(),
            answer.json()["error"]["code"].as_str()
        ),
        (502, Some("upstream-tls"))
    );
    assert!(behind.versions.lock().unwrap().is_empty());
}
