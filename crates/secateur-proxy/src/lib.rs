//! The drop-in proxy: change the base URL, and requests are pruned per workload on their way.
//!
//! ```text
//! accept ─► own paths ─► route ─► access ─► chain (detect, M7/M3, M8, M1) ─► upstream ─► response, tapped
//! ```
//!
//! **Invariants:** response bytes are never altered or buffered. A request whose workload has no
//! mechanic on is not buffered either. Whatever goes wrong in the chain, the original body goes out.

mod access;
pub mod audit;
pub mod canary;
mod capture;
pub mod cli;
pub mod config;
mod conversations;
mod credential_owner;
mod demo;
mod encoding;
mod endpoint;
mod error_shape;
mod exchange;
pub mod folders;
mod handle;
mod headers;
mod identity;
mod idle;
mod ledger_sink;
mod limits;
mod mechanic;
mod misaddressed;
mod model_names;
mod names;
mod normal_path;
mod own_endpoint;
pub mod own_names;
mod pages;
mod patience;
mod pipeline;
mod recall;
pub mod reconcile;
mod request_body;
mod response_body;
mod route;
mod server;
mod summary;
mod surface;
mod untouched;
mod upstream;
mod usage;

pub use access::hash_key;
pub use config::{Config, ConfigError};
pub use ledger_sink::LedgerSink;
pub use limits::TimeBudget;
pub use mechanic::{ModelRoutes, OutputSchema, SchemaError};
pub use pages::{MakePages, PageBody, Pages, PagesParts, is_page_path};
pub use pipeline::{CoreEngine, Engine};
pub use server::{CutOff, Proxy, ProxyParts, ReloadError, ServeError};
pub use summary::{SummaryBudget, SummaryOutcome};
pub use surface::{Captured, Field, Log, Metrics};
pub use untouched::{Untouched, UntouchedCount, UntouchedRequests};
pub use usage::Usage;
