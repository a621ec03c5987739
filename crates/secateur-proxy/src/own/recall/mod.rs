//! Gives a model back what was cut, by the id in the placeholder: over HTTP.
//!
//! **Invariant:** an id leads to text of its own workload alone.

mod endpoint;
mod page;

pub(crate) use endpoint::{claims, respond};
pub use page::Page;

/// The path, also below `/w/<workload>`.
pub const PATH: &str = "/v1/secateur/recall";
