//! The server side: accepts connections, stops gracefully, takes new configurations over.

use std::convert::Infallible;
use std::future::ready;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use secateur_ledger::Ledger;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;

use crate::access::RateLimits;
use crate::audit::{AuditSink, NoSink};
use crate::canary::{Canary, CanaryStore, MemoryStore, claims_score, respond_to_score};
use crate::capture::Capture;
use crate::config::{Config, LiveConfig};
use crate::conversations::Conversations;
use crate::handle::{Held, Shared, handle, own_path};
use crate::pages::{Pages, is_navigation, is_page_path, pages_are_off, refuse_navigation};
use crate::patience::Patience;
use crate::pipeline::{CoreEngine, Engine};
use crate::recall::{claims as claims_recall, respond as respond_to_recall};
use crate::response_body::ClientBody;
use crate::summary::{Summarizer, SummaryCache};
use crate::surface::{Log, Metrics, Surfaces, Traces, watch_ledger};
use crate::upstream::UpstreamClient;

/// Why the proxy did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Anybody could use it.
    #[error(
        "{0} is reachable from other machines and no client keys are configured: add a [[key]], listen on 127.0.0.1, or say --open"
    )]
    Open(SocketAddr),
    /// The address is taken or not this machine's.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// No TLS.
    #[error("the system's root certificates cannot be read: {0}")]
    Roots(std::io::Error),
    /// The folder of summaries.
    #[error("the folder of summaries cannot be used: {0}")]
    Summaries(std::io::Error),
}

/// What a proxy is made of.
#[derive(Debug)]
pub struct ProxyParts {
    /// The configuration.
    pub config: LiveConfig,
    /// Whether anybody may use it although it is reachable from other machines. Default false.
    pub open: bool,
    /// Where log lines go. Default nowhere.
    pub log: Log,
    /// Takes the audit events. Default nobody.
    pub sink: Arc<dyn AuditSink>,
    /// The engine. Default the real one.
    pub engine: Arc<dyn Engine>,
    /// Pages on the same port. Default none.
    pub pages: Option<Arc<dyn Pages>>,
    /// Why there are none, for whoever asks for them.
    pub no_pages: String,
    /// Where the canary keeps scores and finds what is switched. Default in memory.
    pub canary: Arc<dyn CanaryStore>,
    /// Where cut text is kept and found again. Default nowhere.
    pub ledger: Option<Ledger>,
}

impl ProxyParts {
    /// The parts with their defaults.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config: Arc::new(ArcSwap::from_pointee(config)),
            open: false,
            log: Log::off(),
            sink: Arc::new(NoSink),
            engine: Arc::new(CoreEngine),
            pages: None,
            no_pages: "this proxy has none".to_owned(),
            canary: Arc::new(MemoryStore::default()),
            ledger: None,
        }
    }
}

/// A running proxy.
#[derive(Debug)]
pub struct Proxy {
    addr: SocketAddr,
    open: bool,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    accepting: JoinHandle<()>,
    /// Of the ledger.
    watching: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy.
    ///
    /// # Errors
    /// The address is not free, or it is open to the world without keys.
    pub async fn start(parts: ProxyParts) -> Result<Self, ServeError> {
        let ProxyParts {
            config: live,
            open,
            log,
            sink,
            engine,
            pages,
            no_pages,
            canary,
            ledger,
        } = parts;
        let config = live.load_full();
        check_access(&config, open)?;
        let listener = TcpListener::bind(config.listen)
            .await
            .map_err(|error| ServeError::Listen(config.listen, error))?;
        let addr = listener
            .local_addr()
            .map_err(|error| ServeError::Listen(config.listen, error))?;
        let client = UpstreamClient::new(config.timeouts.connect, &config.extra_roots)
            .map_err(ServeError::Roots)?;
        let store = &config.summaries;
        let summaries = SummaryCache::new(store.max_bytes, store.folder.clone());
        let summaries = summaries.map_err(ServeError::Summaries)?;
        let traces = config
            .otlp
            .clone()
            .map(|otlp| Traces::start(otlp, client.clone()));
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let connections = Arc::new(Semaphore::new(config.max_connections));
        let surfaces = Arc::new(Surfaces {
            log,
            metrics: Metrics::default(),
            traces,
            sink,
        });
        let answers_within = config.timeouts.response_head;
        let shared = Arc::new(Shared {
            canary: Arc::new(Canary::new(
                canary,
                client.clone(),
                Arc::clone(&surfaces),
                answers_within,
            )),
            conversations: Conversations::default(),
            config: live,
            capture: ledger
                .clone()
                .map(|ledger| Arc::new(Capture::new(ledger, Arc::clone(&surfaces)))),
            ledger,
            client,
            surfaces,
            engine,
            slots: Arc::new(Semaphore::new(cores * 2)),
            summarizer: Arc::new(Summarizer::new(summaries)),
            limits: RateLimits::default(),
            pages,
            no_pages,
            is_draining: AtomicBool::new(false),
        });
        let watching = shared.ledger.clone().map(|ledger| {
            let log = shared.surfaces.log.clone();
            tokio::spawn(watch_ledger(ledger, log))
        });
        let (stop, stopped) = watch::channel(false);
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared), connections, stopped));
        Ok(Self {
            addr,
            open,
            shared,
            stop,
            accepting,
            watching,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The configuration at the moment.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        self.shared.config.load_full()
    }

    /// Its base URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Its metrics.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.shared.surfaces.metrics
    }

    /// Takes a new configuration over for all requests to come. The address, the number of
    /// connections, the log's format, the traces, the root certificates and the store of summaries
    /// stay as they were.
    ///
    /// # Errors
    /// The new configuration would open the proxy to the world; the old one stays.
    pub fn reload(&self, config: Config) -> Result<(), ServeError> {
        let mut config = config;
        let before = self.shared.config.load_full();
        config.listen = before.listen;
        config.otlp.clone_from(&before.otlp);
        if let Err(error) = check_access(&config, self.open) {
            self.shared.surfaces.metrics.reloaded("refused");
            return Err(error);
        }
        let addresses = config.addresses();
        self.shared.config.store(Arc::new(config));
        self.shared.client.keep_only(addresses);
        self.shared.surfaces.metrics.reloaded("taken");
        Ok(())
    }

    /// Notes that a new configuration was not valid; the old one stays.
    pub fn refused_reload(&self) {
        self.shared.surfaces.metrics.reloaded("refused");
    }

    /// Stops accepting, lets what is under way finish within the configured time, and ends.
    pub async fn shutdown(self) {
        self.shared.is_draining.store(true, Ordering::Relaxed);
        // The accept loop is gone only if the runtime is.
        let _ = self.stop.send(true);
        let _ = self.accepting.await;
        if let Some(watching) = self.watching {
            watching.abort();
        }
        self.shared.surfaces.log.flush();
    }
}

fn check_access(config: &Config, open: bool) -> Result<(), ServeError> {
    if config.is_loopback() || open || !config.keys.is_empty() {
        return Ok(());
    }
    Err(ServeError::Open(config.listen))
}

async fn accept(
    listener: TcpListener,
    shared: Arc<Shared>,
    connections: Arc<Semaphore>,
    mut stopped: watch::Receiver<bool>,
) {
    let graceful = GracefulShutdown::new();
    loop {
        let slot = tokio::select! {
            slot = Arc::clone(&connections).acquire_owned() => slot,
            _ = stopped.changed() => break,
        };
        let Ok(slot) = slot else { break };
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(_) => {
                    // Out of file descriptors, most likely: wait for some to come back.
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            },
            _ = stopped.changed() => break,
        };
        serve_connection(stream, slot, &shared, &graceful);
    }
    drop(listener);
    let grace = shared.config.load().timeouts.shutdown;
    // What is not done by then is cut off when the runtime ends.
    let _ = tokio::time::timeout(grace, graceful.shutdown()).await;
}

fn serve_connection(
    stream: TcpStream,
    slot: OwnedSemaphorePermit,
    shared: &Arc<Shared>,
    graceful: &GracefulShutdown,
) {
    // Events must not wait for each other.
    let _ = stream.set_nodelay(true);
    let peer = stream.peer_addr().ok();
    let watcher = graceful.watcher();
    let head_timeout = shared.config.load().timeouts.request_idle;
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        let _slot = slot;
        let open = OpenConnection::new(Arc::clone(&shared));
        let (shared, patience) = (Held::new(shared), Patience::default());
        let timer = patience.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            respond(shared.clone(), peer, request, patience.clone())
        });
        let mut server = auto::Builder::new(TokioExecutor::new());
        server
            .http1()
            .timer(timer)
            .header_read_timeout(head_timeout)
            .max_buf_size(256 << 10)
            .auto_date_header(false);
        server
            .http2()
            .timer(TokioTimer::new())
            .adaptive_window(true)
            .max_concurrent_streams(256)
            .keep_alive_interval(Duration::from_secs(60))
            .auto_date_header(false);
        let connection = server
            .serve_connection(TokioIo::new(stream), service)
            .into_owned();
        // A client that breaks off ends its own connection and nothing else.
        let _ = watcher.watch(connection).await;
        drop(open);
    });
}

struct OpenConnection(Arc<Shared>);

impl OpenConnection {
    fn new(shared: Arc<Shared>) -> Self {
        shared.surfaces.metrics.connections(1);
        Self(shared)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.surfaces.metrics.connections(-1);
    }
}

/// A response that is there or comes later. Always boxed: the server moves it about, and every request
/// would make room for the largest of its kinds.
type Reply = Pin<Box<dyn Future<Output = Result<Response<ClientBody>, Infallible>> + Send>>;

fn respond(
    shared: Held,
    peer: Option<SocketAddr>,
    mut request: Request<Incoming>,
    patience: Patience,
) -> Reply {
    if let Some(response) = own_path(&shared, &request) {
        return Box::pin(ready(Ok(response)));
    }
    if let Some(pages) = shared
        .pages
        .as_ref()
        .filter(|pages| pages.claims(request.uri().path()))
    {
        // Pages tell by it who tries their token too often.
        if let Some(peer) = peer {
            request.extensions_mut().insert(peer);
        }
        let pages = Arc::clone(pages);
        return Box::pin(async move { Ok(pages.respond(request).await.map(ClientBody::full)) });
    }
    if shared.pages.is_none() && is_page_path(request.uri().path()) {
        return Box::pin(ready(Ok(pages_are_off(&shared.no_pages))));
    }
    if shared.pages.is_some() && is_navigation(request.headers()) {
        return Box::pin(ready(Ok(refuse_navigation())));
    }
    if claims_score(&request) {
        return Box::pin(async move { Ok(respond_to_score(&shared, request).await) });
    }
    if claims_recall(&request) {
        return Box::pin(async move { Ok(respond_to_recall(&shared, request).await) });
    }
    let handled = handle(shared, request, patience);
    Box::pin(async move { Ok(handled.await) })
}
