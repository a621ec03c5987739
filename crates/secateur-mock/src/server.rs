//! The server: one port, one task per connection, everything that came in kept for tests.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;

use crate::answer::Recordings;
use crate::cache::{PromptCache, Usage};
use crate::conduct::Conduct;
use crate::request::Received;
use crate::respond::respond;
use crate::script::{Progress, Script};

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

type Prescribe = Arc<dyn Fn(&Received) -> Option<Scripted> + Send + Sync>;

/// What became of one request.
#[derive(Debug)]
pub struct Exchange<'x> {
    /// The request.
    pub received: &'x Received,
    /// Status of the response.
    pub status: u16,
    /// Which rule it broke.
    pub rejection: Option<&'x str>,
    /// Its tokens, and what its input costs in tokens at the price of plain input; only for
    /// requests that a model answered.
    pub usage: Option<(Usage, f64)>,
    /// How far the scripted session is.
    pub progress: Option<Progress>,
}

impl<'x> Exchange<'x> {
    /// A request that no rule was broken by and no model answered.
    pub(crate) fn passed(received: &'x Received, status: StatusCode) -> Self {
        Self {
            received,
            status: status.as_u16(),
            rejection: None,
            usage: None,
            progress: None,
        }
    }
}

type Observe = Arc<dyn Fn(&Exchange<'_>) + Send + Sync>;

/// How a mock is set up.
#[derive(Clone, Default)]
pub struct MockOptions {
    /// Keep every request, for [`Mock::received`]. Default false.
    pub keep_requests: bool,
    /// Prescribes responses; `None` from it lets the mock answer. Default none.
    pub script: Option<Prescribe>,
    /// Leads a coding agent through a session. Default none: answers are composed.
    pub session: Option<Script>,
    /// Is called for every request, before its response. Default none.
    pub observe: Option<Observe>,
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
pub(crate) struct State {
    pub(crate) received: Vec<Received>,
    pub(crate) recordings: Recordings,
    pub(crate) cache: PromptCache,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: MockOptions,
    state: Mutex<State>,
    pub(crate) requests: AtomicUsize,
    pub(crate) rejected: AtomicUsize,
    pub(crate) open_streams: AtomicUsize,
}

impl Shared {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn observe(&self, exchange: &Exchange<'_>) {
        if let Some(observe) = &self.options.observe {
            observe(exchange);
        }
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
