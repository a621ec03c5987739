//! The mechanics that live in the proxy: M1 (auto-route) and M8 (structured output).
//!
//! Both change a body by splices at its top level; nothing is parsed and serialised again.

mod auto_route;
mod structured_output;
mod top_level;
mod wrapping;

pub use auto_route::ModelRoutes;
pub(crate) use auto_route::{RouteDecision, in_body as route_in_body, models_in_body};
pub use structured_output::{OutputSchema, SchemaError};
pub(crate) use wrapping::Wrapping;
