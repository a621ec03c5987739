//! The Secateur engine: bytes and a policy in, bytes and a report out.
//!
//! ```text
//!  bytes ─read─► View ─plan─► Plan ─settle─► Settled ─seal─► Sealed ─lower─► Splices ─apply─► bytes ─verify─► Outcome
//!        read/        strategy/     plan/             output/        output/                  output/
//!                     when: cadence/, whether it pays: cost/
//! ```
//!
//! [`prune`] never fails: on any doubt the original bytes go out, and the report says why.
//!
//! ```
//! use secateur_core::{Policy, Request, prune};
//!
//! let policy = Policy::preset("steady").unwrap();
//! let body = br#"{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"Hi"}]}"#;
//! let outcome = prune(body, &Request::default(), &policy);
//! assert_eq!(&*outcome.body, body, "there is nothing to cut");
//! ```
//!
//! No I/O, clock or environment: the same body and policy give the same bytes on every machine.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod arrival;
mod cadence;
pub mod cost;
mod engine;
mod options;
mod output;
mod plan;
pub mod policy;
mod read;
pub mod receipt;
pub mod report;
mod request;
pub mod strategy;
mod text;
mod tools;

pub use cost::models;
pub use engine::{Outcome, prune};
pub use output::{check, recall};
pub use plan::{mechanic, summary};
pub use policy::Policy;
pub use read::dialect::Dialect;
pub use report::{EngineError as Error, Report};
pub use request::{Candidates, Request};
pub use secateur_json::Limits;

/// The wire formats: their names and rules, detection by shape, and reading.
pub mod dialect {
    pub use crate::read::dialect::{Dialect, Facts, Rules};
    pub use crate::read::error::ReadError;
    pub use crate::read::wire::{detect, read};
}

/// What the other crates of this project use. It changes without notice.
#[doc(hidden)]
pub mod internal {
    pub use secateur_condense::grouped as thousands;
    pub use secateur_json as json;

    pub use crate::cadence::rounds;
    pub use crate::engine::{Applied, Planned, apply, plan};
    pub use crate::plan::edit;
    pub use crate::read::view;
}
