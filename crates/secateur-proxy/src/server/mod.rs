//! The server side: accepts connections, stops gracefully, takes new configurations over.

mod accept;
mod connection;
mod endpoint;
mod reload;
mod respond;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use secateur_canary::{Canary, CanaryParts, CanaryStore, MemoryStore, Reporter};
use secateur_ledger::Ledger;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::accept::{Stop, accept};
pub use self::reload::ReloadError;
use self::reload::{keep_until_restart, taken_away};
use crate::access::RateLimits;
use crate::audit::UntouchedRequests;
use crate::audit::{AuditSink, NoSink};
use crate::canary::CanaryCalls;
use crate::capture::Capture;
use crate::config::{Config, LiveConfig};
use crate::conversations::Conversations;
use crate::limits::{ByteBudget, Connections, Slots};
use crate::pages::Pages;
use crate::pipeline::{CoreEngine, Engine};
use crate::shared::Shared;
use crate::summary::{Summarizer, SummaryCache};
use crate::surface::ModelNames;
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
    /// Counts requests that pass untouched because of their address.
    pub untouched: Arc<UntouchedRequests>,
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
            untouched: Arc::default(),
        }
    }
}

/// A running proxy.
#[derive(Debug)]
pub struct Proxy {
    addr: SocketAddr,
    open: bool,
    shared: Arc<Shared>,
    stop: watch::Sender<Stop>,
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
            untouched,
        } = parts;
        let config = live.load_full();
        check_access(&config, open)?;
        let listener = TcpListener::bind(config.listen)
            .await
            .map_err(|error| ServeError::Listen(config.listen, error))?;
        let addr = listener
            .local_addr()
            .map_err(|error| ServeError::Listen(config.listen, error))?;
        let client = UpstreamClient::new(
            config.timeouts.connect,
            &config.extra_roots,
            &config.http2_hosts,
        )
        .map_err(ServeError::Roots)?;
        let store = &config.summaries;
        let summaries = SummaryCache::new(store.max_bytes, store.folder.clone());
        if let Err(error) = summaries.prepare() {
            let reason = ("reason", error.to_string().into());
            log.line("error", "summaries_in_memory_alone", &[reason]);
        }
        let traces = config
            .otlp
            .clone()
            .map(|otlp| Traces::start(otlp, client.clone()));
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let connections =
            Connections::new(config.max_connections, config.max_connections_per_address);
        let surfaces = Arc::new(Surfaces {
            log,
            metrics: Metrics::default(),
            traces,
            sink,
            model_names: ModelNames::default(),
            untouched,
        });
        let shared = Arc::new(Shared {
            canary: Arc::new(Canary::new(CanaryParts {
                store: canary,
                upstream: Arc::new(CanaryCalls(client.clone())),
                reporter: Arc::clone(&surfaces) as Arc<dyn Reporter>,
                response_timeout: config.timeouts.response_head,
            })),
            conversations: Conversations::default(),
            config: live,
            capture: ledger
                .clone()
                .map(|ledger| Arc::new(Capture::new(ledger, Arc::clone(&surfaces)))),
            ledger,
            client,
            surfaces,
            engine,
            slots: Slots::new(cores * 2),
            byte_budget: ByteBudget::new(config.max_buffered_bytes),
            summarizer: Arc::new(Summarizer::new(summaries)),
            limits: RateLimits::default(),
            pages,
            no_pages,
            is_draining: AtomicBool::new(false),
            is_cutting_off: AtomicBool::new(false),
        });
        let watching = shared.ledger.clone().map(|ledger| {
            let log = shared.surfaces.log.clone();
            tokio::spawn(watch_ledger(ledger, log))
        });
        let (stop, stopped) = watch::channel(Stop::No);
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

    /// Requests that are being processed.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.shared
            .surfaces
            .metrics
            .in_flight()
            .max(0)
            .unsigned_abs()
    }

    /// The page of metrics, as `/metrics` serves it.
    #[must_use]
    pub fn metrics_page(&self) -> String {
        let shared = &self.shared;
        let buffered_bytes = shared.byte_budget.used();
        shared.surfaces.page(buffered_bytes, shared.ledger.as_ref())
    }

    /// Takes a new configuration over for all requests to come, and names the settings that stay as they were
    /// until a restart.
    ///
    /// # Errors
    /// The new configuration takes a protection away or would open the proxy to the world; the old one stays.
    pub fn reload(&self, mut config: Config) -> Result<Vec<&'static str>, ReloadError> {
        let before = self.shared.config.load_full();
        let gone = taken_away(&before, &config);
        let ignored = keep_until_restart(&before, &mut config);
        let checked = match gone.is_empty() {
            true => check_access(&config, self.open).map_err(ReloadError::Open),
            false => Err(ReloadError::TakesAway(gone)),
        };
        if let Err(error) = checked {
            self.refused_reload();
            return Err(error);
        }
        let addresses = config.addresses();
        let budget = &self.shared.byte_budget;
        budget.set_limit(config.max_buffered_bytes);
        self.shared.config.store(Arc::new(config));
        self.shared.client.keep_only(addresses);
        self.shared.surfaces.metrics.reloaded("taken");
        Ok(ignored)
    }

    /// Notes that a new configuration was not valid; the old one stays.
    pub fn refused_reload(&self) {
        self.shared.surfaces.metrics.reloaded("refused");
    }

    /// Ends a [`Proxy::shutdown`] that takes too long.
    #[must_use]
    pub fn cut_off(&self) -> CutOff {
        CutOff(self.stop.clone())
    }

    /// Stops accepting, lets what is under way finish within the configured time, and cuts the rest off. When this
    /// returns, all requests are recorded.
    pub async fn shutdown(self) {
        self.shared.is_draining.store(true, Ordering::Relaxed);
        // The accept loop is gone only if the runtime is.
        let _ = self.stop.send(Stop::WhenDone);
        let _ = self.accepting.await;
        if let Some(watching) = self.watching {
            watching.abort();
        }
        self.shared.surfaces.log.flush();
    }
}

/// Cuts off what is under way.
#[derive(Clone, Debug)]
pub struct CutOff(watch::Sender<Stop>);

impl CutOff {
    /// What is under way when the proxy shuts down is not waited for any longer.
    pub fn now(&self) {
        // The accept loop is gone: there is nothing to cut off.
        let _ = self.0.send(Stop::Now);
    }
}

fn check_access(config: &Config, open: bool) -> Result<(), ServeError> {
    if config.is_loopback() || open || !config.keys.is_empty() {
        return Ok(());
    }
    Err(ServeError::Open(config.listen))
}
