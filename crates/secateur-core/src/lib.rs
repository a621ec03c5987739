//! The Secateur engine: bytes and a policy in, bytes and a report out.
//!
//! No I/O, clock, environment or randomness: the same body and policy give the same bytes on every
//! machine. See `ARCHITECTURE.md` for the way the data goes.

mod allowance;
pub mod arrival;
mod cache_use;
mod call_args;
pub mod check;
pub mod compose;
pub mod condense;
pub mod cost;
pub mod dialect;
pub mod edit;
mod engine;
mod following_number;
mod guard;
mod hash;
pub mod json;
mod line_marks;
mod line_space;
mod lower;
pub mod mechanic;
pub mod models;
pub mod outlook;
pub mod placeholder;
pub mod policy;
pub mod recall;
pub mod receipt;
pub mod report;
pub mod rounds;
pub mod scene;
mod splice;
pub mod strategy;
pub mod summary;
pub mod thinking_escape;
pub mod timeline;
pub mod tool_facts;
mod verify;
pub mod view;
mod whitespace;

#[doc(hidden)]
pub use engine::{Applied, apply};
pub use engine::{Candidates, Outcome, Planned, Request, plan, prune};
pub use splice::SpliceError;
pub use verify::VerifyError;
