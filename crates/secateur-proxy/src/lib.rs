//! The drop-in proxy: change the base URL, and requests are pruned per workload on their way.
//!
//! ```text
//! accept ─► endpoint ─► arrive ─► decide (M7/M3, M8, M1) ─► send ─► hear ─► finish
//! ```
//!
//! **Invariants:** response bytes are never altered or buffered. A request whose workload has no
//! mechanic on is not buffered either. Whatever goes wrong in the chain, the original body goes out.

#![deny(missing_docs)]

mod access;
pub mod audit;
mod canary;
mod capture;
pub mod config;
mod conversations;
mod exchange;
mod handle;
mod limits;
mod mechanic;
mod own;
pub mod own_names;
mod pages;
mod pipeline;
mod refusal;
mod response_body;
mod route;
mod server;
mod shared;
mod summary;
mod surface;
mod upstream;
mod usage;
mod wire;

pub use access::hash_key;
pub use audit::{SummaryOutcome, Untouched, UntouchedCount, UntouchedRequests};
pub use config::{Config, ConfigError, SummaryBudget};
pub use limits::TimeBudget;
pub use mechanic::{ModelRoutes, OutputSchema, SchemaError};
pub use own::recall;
pub use pages::{PageBody, Pages, PagesParts, is_page_path};
pub use pipeline::{CoreEngine, Engine};
pub use server::{CutOff, Proxy, ProxyParts, ReloadError, ServeError};
pub use surface::{Captured, Field, LedgerSink, Log};
pub use upstream::{Caller, upstream_uri};
pub use usage::Usage;
