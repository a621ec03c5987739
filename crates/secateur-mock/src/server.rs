//! The server: one port, one task per connection, everything that came in kept for tests.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame as BodyFrame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::answer::Recordings;
use crate::cache::PrefixCache;
use crate::conduct::Conduct;
use crate::request::{Api, Received};
use crate::{rules, wire};

/// A response that a test prescribes.
#[derive(Clone, Debug)]
pub struct Scripted {
    /// Status.
    pub status: u16,
    /// Headers.
    pub headers: Vec<(&'static str, String)>,
    /// Body.
    pub body: Bytes,
}

type Script = Arc<dyn Fn(&Received) -> Option<Scripted> + Send + Sync>;

/// How a mock is set up.
#[derive(Clone, Default)]
pub struct MockOptions {
    /// Keep every request, for [`Mock::received`]. Default false.
    pub keep_requests: bool,
    /// Prescribes responses; `None` from it lets the mock answer. Default none.
    pub script: Option<Script>,
    /// How the mock behaves where a request does not say. Default well.
    pub conduct: Conduct,
}

impl std::fmt::Debug for MockOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MockOptions")
            .field("keep_requests", &self.keep_requests)
            .field("conduct", &self.conduct)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct State {
    received: Vec<Received>,
    recordings: Recordings,
    cache: PrefixCache,
}

#[derive(Debug)]
struct Shared {
    options: MockOptions,
    state: Mutex<State>,
    requests: AtomicUsize,
    rejected: AtomicUsize,
    open_streams: AtomicUsize,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running provider. Stops when dropped.
#[derive(Debug)]
pub struct Mock {
    addr: SocketAddr,
    shared: Arc<Shared>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Mock {
    /// Starts on a free loopback port.
    ///
    /// # Errors
    /// No port could be bound.
    pub async fn start(options: MockOptions) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let addr = listener.local_addr()?;
        let shared = Arc::new(Shared {
            options,
            state: Mutex::default(),
            requests: AtomicUsize::new(0),
            rejected: AtomicUsize::new(0),
            open_streams: AtomicUsize::new(0),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self {
            addr,
            shared,
            accepting,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Its base URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// How many requests came in.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::Relaxed)
    }

    /// How many of them broke a rule.
    #[must_use]
    pub fn rejected(&self) -> usize {
        self.shared.rejected.load(Ordering::Relaxed)
    }

    /// How many responses are being sent right now.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        self.shared.open_streams.load(Ordering::Relaxed)
    }

    /// Takes the requests that were kept so far.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        std::mem::take(&mut self.shared.state().received)
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        // Small writes must not wait for each other.
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(move |request| respond(request, Arc::clone(&shared)));
            let server = auto::Builder::new(TokioExecutor::new());
            // A client that goes away is not this server's concern.
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn respond(
    request: Request<Incoming>,
    shared: Arc<Shared>,
) -> Result<Response<Chunks>, Infallible> {
    shared.requests.fetch_add(1, Ordering::Relaxed);
    let (head, body) = request.into_parts();
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => {
            return Ok(plain(
                StatusCode::BAD_REQUEST,
                &json!({"error": "the body broke off"}),
                &shared,
            ));
        }
    };
    let received = Received {
        method: head.method,
        uri: head.uri,
        headers: head.headers,
        body,
    };
    if shared.options.keep_requests {
        shared.state().received.push(received.clone());
    }
    let conduct = match received
        .headers
        .get("x-mock-conduct")
        .map(HeaderValue::to_str)
    {
        Some(Ok(value)) => Conduct::parse(value),
        _ => shared.options.conduct,
    };
    tokio::time::sleep(conduct.delay).await;
    let script = shared.options.script.as_ref();
    if let Some(scripted) = script.and_then(|script| script(&received)) {
        let mut response = Response::builder().status(scripted.status);
        for (name, value) in scripted.headers {
            response = response.header(name, value);
        }
        let body = Chunks::start(scripted.body, conduct, &shared);
        return Ok(response.body(body).unwrap_or_default());
    }
    if conduct.redirect {
        let mut response = plain(StatusCode::TEMPORARY_REDIRECT, &json!({}), &shared);
        response.headers_mut().insert(
            header::LOCATION,
            HeaderValue::from_static("http://elsewhere.invalid/v1"),
        );
        return Ok(response);
    }
    if let Ok(status) = StatusCode::from_u16(conduct.status) {
        let error = wire::error(
            received.error_api(),
            status.as_u16(),
            "as the request asked",
        );
        return Ok(plain(status, &error, &shared));
    }
    Ok(match received.api() {
        Some((api, only_counts)) => model(api, only_counts, &received, conduct, &shared),
        None => elsewhere(&received, &shared),
    })
}

/// The endpoints that answer with a model's words.
fn model(
    api: Api,
    only_counts: bool,
    received: &Received,
    conduct: Conduct,
    shared: &Arc<Shared>,
) -> Response<Chunks> {
    let reject = |status: StatusCode, message: &str| {
        shared.rejected.fetch_add(1, Ordering::Relaxed);
        plain(status, &wire::error(api, status.as_u16(), message), shared)
    };
    if received.headers.contains_key(header::CONTENT_ENCODING) {
        return reject(StatusCode::BAD_REQUEST, "the body must not be compressed");
    }
    let body: Value = match serde_json::from_slice(&received.body) {
        Ok(body) => body,
        Err(error) => {
            return reject(
                StatusCode::BAD_REQUEST,
                &format!("we could not parse the JSON body of your request: {error}"),
            );
        }
    };
    if api == Api::Messages
        && !only_counts
        && body["max_tokens"].as_u64().is_none_or(|tokens| tokens == 0)
    {
        return reject(StatusCode::BAD_REQUEST, "max_tokens: field required");
    }
    if let Err(message) = rules::check(api, &body) {
        return reject(StatusCode::BAD_REQUEST, &message);
    }
    let model = body["model"]
        .as_str()
        .or(received.model_in_path())
        .unwrap_or("unknown")
        .to_owned();
    let (answer, mut usage) = {
        let mut state = shared.state();
        let answer = state.recordings.answer(api, &body, conduct.think);
        let usage = state.cache.count(api, &model, &body);
        (answer, usage)
    };
    if only_counts {
        let key = if api == Api::Gemini {
            "totalTokens"
        } else {
            "input_tokens"
        };
        return plain(StatusCode::OK, &json!({key: usage.input_tokens}), shared);
    }
    usage.output_tokens = wire::output_tokens(&answer);
    let frame = wire::Frame {
        model: &model,
        usage,
        stream_usage: body.pointer("/stream_options/include_usage") == Some(&Value::Bool(true)),
    };
    let path = received.uri.path();
    let query = received.uri.query().unwrap_or_default();
    let (kind, text) = match api {
        Api::Gemini if path.ends_with(":streamGenerateContent") && query.contains("alt=sse") => {
            ("text/event-stream", wire::events(api, &answer, &frame))
        }
        Api::Gemini if path.ends_with(":streamGenerateContent") => (
            "application/json; charset=UTF-8",
            wire::gemini_array(&answer, &frame),
        ),
        Api::Gemini => (
            "application/json; charset=UTF-8",
            wire::json(api, &answer, &frame).to_string(),
        ),
        _ if body["stream"] == true => (
            "text/event-stream; charset=utf-8",
            wire::events(api, &answer, &frame),
        ),
        _ => (
            "application/json",
            wire::json(api, &answer, &frame).to_string(),
        ),
    };
    with_type(StatusCode::OK, kind, Bytes::from(text), conduct, shared)
}

/// Lists of models, files, and nothing else.
fn elsewhere(received: &Received, shared: &Arc<Shared>) -> Response<Chunks> {
    let path = received.uri.path();
    let models = ["gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro"];
    let value = match (received.method.as_str(), path) {
        ("GET", "/v1beta/models") => {
            let models: Vec<Value> = models
                .iter()
                .map(|name| json!({"name": format!("models/{name}")}))
                .collect();
            json!({"models": models})
        }
        ("GET", "/v1/models") => {
            let models: Vec<Value> = models
                .iter()
                .map(|id| json!({"id": id, "object": "model", "type": "model", "display_name": id,
                    "created": 1_760_000_000, "created_at": "2025-10-09T00:00:00Z", "owned_by": "mock"}))
                .collect();
            json!({"object": "list", "data": models, "has_more": false, "first_id": models[0]["id"], "last_id": models[2]["id"]})
        }
        ("POST", "/v1/files") => {
            json!({"id": "file_mock", "object": "file", "bytes": received.body.len(),
            "created_at": 1_760_000_000, "filename": "upload", "purpose": "user_data", "status": "processed"})
        }
        ("GET", "/v1/files") => json!({"object": "list", "data": [], "has_more": false}),
        _ => {
            let error = wire::error(received.error_api(), 404, &format!("nothing at {path}"));
            return plain(StatusCode::NOT_FOUND, &error, shared);
        }
    };
    plain(StatusCode::OK, &value, shared)
}

fn plain(status: StatusCode, value: &Value, shared: &Arc<Shared>) -> Response<Chunks> {
    with_type(
        status,
        "application/json",
        Bytes::from(value.to_string()),
        Conduct::default(),
        shared,
    )
}

fn with_type(
    status: StatusCode,
    kind: &'static str,
    body: Bytes,
    conduct: Conduct,
    shared: &Arc<Shared>,
) -> Response<Chunks> {
    let mut response = Response::new(Chunks::start(body, conduct, shared));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert("x-request-id", HeaderValue::from_static("req_mock"));
    response
}

/// A body that is sent in chunks, at its own pace, and may break off.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    whole: Option<Bytes>,
    paced: Option<mpsc::Receiver<Result<Bytes, std::io::Error>>>,
    open: Option<Arc<Shared>>,
}

impl Chunks {
    fn start(body: Bytes, conduct: Conduct, shared: &Arc<Shared>) -> Self {
        shared.open_streams.fetch_add(1, Ordering::Relaxed);
        let open = Some(Arc::clone(shared));
        if conduct.chunk_bytes == 0 && conduct.gap.is_zero() && conduct.reset_after.is_none() {
            return Self {
                whole: Some(body),
                paced: None,
                open,
            };
        }
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(async move {
            let size = if conduct.chunk_bytes == 0 {
                64
            } else {
                conduct.chunk_bytes
            };
            let mut sent = 0;
            for chunk in body.chunks(size) {
                if conduct.reset_after.is_some_and(|limit| sent >= limit) {
                    let _ = sender
                        .send(Err(std::io::Error::other("reset on request")))
                        .await;
                    return;
                }
                sent += chunk.len();
                if sender
                    .send(Ok(Bytes::copy_from_slice(chunk)))
                    .await
                    .is_err()
                {
                    return;
                }
                tokio::time::sleep(conduct.gap).await;
            }
        });
        Self {
            whole: None,
            paced: Some(receiver),
            open,
        }
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        if let Some(shared) = &self.open {
            shared.open_streams.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Body for Chunks {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyFrame<Bytes>, std::io::Error>>> {
        if let Some(body) = self.whole.take() {
            return Poll::Ready((!body.is_empty()).then_some(Ok(BodyFrame::data(body))));
        }
        match &mut self.paced {
            Some(receiver) => receiver
                .poll_recv(context)
                .map(|next| next.map(|next| next.map(BodyFrame::data))),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.paced.is_none() && self.whole.as_ref().is_none_or(Bytes::is_empty)
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match (&self.whole, &self.paced) {
            (Some(body), _) => hyper::body::SizeHint::with_exact(body.len() as u64),
            (None, None) => hyper::body::SizeHint::with_exact(0),
            _ => hyper::body::SizeHint::default(),
        }
    }
}
