//! Gives a model back what was cut, by the id in the placeholder: over HTTP, and as a tool of an MCP
//! server.
//!
//! **Invariant:** an id leads to text of its own workload alone.

mod endpoint;
mod mcp;
mod page;

pub(crate) use endpoint::{claims, respond};
pub use mcp::{McpOptions, mcp};

/// The path, also below `/w/<workload>`.
pub(crate) const PATH: &str = "/v1/secateur/recall";
