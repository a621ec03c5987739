//! The configuration: one TOML file, resolved once into values that need no further looking up.
//!
//! **Invariant:** a [`Config`] that exists is valid. Whatever can be wrong is found while it is read.

mod canary;
mod describe;
mod error;
mod file;
pub mod folders;
mod name_patterns;
mod policy_text;
mod resolve;
mod storage;
mod summary_budget;
mod template;
mod upstreams;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use http::Uri;
use rustls::pki_types::CertificateDer;
use secateur_canary::{Configured, ScorerOptions, WatchedWorkload};
use secateur_core::policy::Policy;

pub use error::ConfigError;
pub use file::{LogFormat, Provider};
pub use name_patterns::NamePatterns;
pub use storage::{CaptureConfig, CaptureKey, LedgerConfig, MIN_TOKEN_CHARS, PortalConfig};
pub use summary_budget::SummaryBudget;
pub use template::{BUILT_IN, TEMPLATE};
pub use upstreams::Upstreams;

use crate::limits::{Pace, TimeBudget};
use crate::mechanic::{ModelRoutes, OutputSchema};

/// The name of a configuration file that nobody named.
pub const CONFIG_NAME: &str = "secateur.toml";

/// The workload of requests that name none. No mechanic is on unless the file says so.
pub const DEFAULT_WORKLOAD: &str = "default";

/// A text that is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Wraps a text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that sends it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To connect to an upstream.
    pub connect: Duration,
    /// From the request's end to the response's head.
    pub response_head: Duration,
    /// Between two chunks of a response.
    pub response_idle: Duration,
    /// From a new connection to the end of its first request's head.
    pub request_head: Duration,
    /// For the heads of later requests, and between two chunks of a body.
    pub request_idle: Duration,
    /// For a client that takes nothing of its response.
    pub response_write: Duration,
    /// The slowest rate of a client that sends or takes a body, once the times above are used up by waiting.
    pub min_bytes_per_s: u64,
    /// For streams that are under way when the proxy is asked to stop.
    pub shutdown: Duration,
}

impl Timeouts {
    fn pace(&self, idle: Duration) -> Pace {
        Pace {
            idle,
            min_bytes_per_s: self.min_bytes_per_s,
        }
    }

    /// The slowest that a request's body may arrive.
    pub(crate) fn body_pace(&self) -> Pace {
        self.pace(self.request_idle)
    }

    /// The same for the proxy's own endpoints, whose bodies are as small as a head.
    pub(crate) fn own_body_pace(&self) -> Pace {
        self.pace(self.request_head.min(self.request_idle))
    }

    /// The slowest that a client may take its response.
    pub(crate) fn write_pace(&self) -> Pace {
        self.pace(self.response_write)
    }
}

/// A named client configuration.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Its name.
    pub name: Arc<str>,
    /// The provider of all its requests; `None` finds it by path and headers.
    pub provider: Option<Provider>,
    /// Where its requests go.
    pub upstreams: Upstreams,
    /// M7 and M3; `None` when the file gives it no policy.
    pub policy: Option<Arc<Policy>>,
    /// M1.
    pub routes: Option<Arc<ModelRoutes>>,
    /// M8.
    pub schema: Option<Arc<OutputSchema>>,
    /// How long the mechanics may take.
    pub budget: TimeBudget,
    /// Whether the original is sent when the provider rejects a mutated body.
    pub retry_original: bool,
    /// What watches over the quality of the answers.
    pub canary: Arc<WatchedWorkload>,
    /// What is kept of its cuts; `None`: nothing.
    pub capture: Option<CaptureConfig>,
    /// What may be spent on summaries that a model makes.
    pub summary: SummaryBudget,
}

impl Workload {
    /// Whether any mechanic is on, so that bodies must be looked at.
    #[must_use]
    pub fn has_mechanics(&self) -> bool {
        self.policy.is_some() || self.routes.is_some() || self.schema.is_some()
    }

    /// The mechanics that are on.
    pub(crate) fn configured(&self) -> Configured<'_> {
        Configured {
            policy: self.policy.as_deref(),
            has_routes: self.routes.is_some(),
            has_schema: self.schema.is_some(),
        }
    }
}

/// A virtual client key.
#[derive(Clone, Debug)]
pub struct ClientKey {
    /// What it is called in logs and the audit.
    pub name: Arc<str>,
    /// SHA-256 of the key.
    pub sha256: [u8; 32],
    /// The workload that its requests belong to.
    pub workload: Arc<Workload>,
    /// What is sent to each provider in place of the key.
    pub credentials: BTreeMap<Provider, Secret>,
    /// The models that it may ask; `None`: all.
    pub models: Option<NamePatterns>,
    /// Paths that it may call besides the endpoints of models.
    pub paths: NamePatterns,
    /// Requests in a minute; 0 is no limit.
    pub requests_per_minute: u32,
}

/// Where summaries that a model made are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryStore {
    /// A folder, so that they outlive the proxy; `None` keeps them in memory alone.
    pub folder: Option<std::path::PathBuf>,
    /// The most bytes of them, in memory and on disk each.
    pub max_bytes: usize,
}

/// Where traces go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Otlp {
    /// The collector's base URL; `/v1/traces` is appended.
    pub endpoint: Uri,
    /// Headers to send, their values taken from the environment.
    pub headers: Vec<(String, Secret)>,
}

/// The configuration of a running proxy, which a changed file replaces.
pub type LiveConfig = Arc<ArcSwap<Config>>;

/// See the module.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the proxy listens.
    pub listen: SocketAddr,
    /// How log lines look; `None`: for people on a terminal, else JSON.
    pub log: Option<LogFormat>,
    /// The largest request body in bytes.
    pub max_body_bytes: usize,
    /// The most bytes of bodies that are held in memory at a time, of all requests together.
    pub max_buffered_bytes: usize,
    /// The most connections at a time.
    pub max_connections: usize,
    /// The most connections of one client address at a time.
    pub max_connections_per_address: usize,
    /// How long things may take.
    pub timeouts: Timeouts,
    /// All workloads by name, [`DEFAULT_WORKLOAD`] among them.
    pub workloads: BTreeMap<String, Arc<Workload>>,
    /// Client keys; none: every client may come in.
    pub keys: Vec<ClientKey>,
    /// Traces; `None`: no traces.
    pub otlp: Option<Otlp>,
    /// Where rows go; `None`: no ledger is kept.
    pub ledger: Option<LedgerConfig>,
    /// How the portal is reached; `None`: there is none.
    pub portal: Option<PortalConfig>,
    /// Certificates that upstreams may be signed by, besides the system's roots.
    pub extra_roots: Vec<CertificateDer<'static>>,
    /// Hosts of upstreams that are offered HTTP/2; all others get HTTP/1.1.
    pub http2_hosts: Vec<String>,
    /// Where summaries are kept.
    pub summaries: SummaryStore,
    /// Other files that were read: policies and schemas.
    pub files: Vec<std::path::PathBuf>,
    default: Arc<Workload>,
    names_workloads: bool,
}

impl Config {
    /// Reads a configuration. `name` is what errors call the file, relative paths in it start at
    /// `folder`, and `env` gives the environment's variables.
    ///
    /// # Errors
    /// Whatever is wrong first, with its line.
    pub fn read(
        name: &str,
        text: &str,
        folder: &std::path::Path,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        resolve::resolve(name, text, folder, env)
    }

    /// Reads where the ledger is, also where none is kept now. Of the variables that the configuration names only the
    /// ledger's must be set.
    ///
    /// # Errors
    /// Like [`Config::read`], but for what only a proxy needs.
    pub fn read_ledger_url(
        name: &str,
        text: &str,
        folder: &std::path::Path,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Secret, ConfigError> {
        resolve::resolve_ledger_url(name, text, folder, env)
    }

    /// The workload of requests that name none.
    #[must_use]
    pub fn default_workload(&self) -> &Arc<Workload> {
        &self.default
    }

    /// Whether the file has any workload.
    #[must_use]
    pub fn names_workloads(&self) -> bool {
        self.names_workloads
    }

    /// The names of the workloads that change requests, sorted.
    pub fn changing_workloads(&self) -> impl Iterator<Item = &str> {
        let all = self.workloads.values();
        all.filter(|workload| workload.has_mechanics())
            .map(|workload| &*workload.name)
    }

    /// Every address that requests go to: providers, judges, the collector of traces.
    pub(crate) fn addresses(&self) -> Vec<Uri> {
        let of_workload = |workload: &Arc<Workload>| {
            let upstreams: Vec<Uri> = workload
                .upstreams
                .all()
                .map(|(_, url)| url.clone())
                .collect();
            let judge = match &workload.canary.options.scorer {
                ScorerOptions::Http { url, .. } => Some(url.clone()),
                ScorerOptions::Deterministic | ScorerOptions::Command(_) => None,
            };
            upstreams.into_iter().chain(judge)
        };
        let traces = self.otlp.iter().map(|otlp| otlp.endpoint.clone());
        let workloads = self.workloads.values().flat_map(of_workload);
        workloads.chain(traces).collect()
    }

    /// Whether the address is one that only this machine reaches.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.listen.ip().is_loopback()
    }
}
