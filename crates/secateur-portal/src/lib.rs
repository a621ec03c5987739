//! The portal: pages over the audit ledger, rendered on the server.
//!
//! ```text
//! request ─► name known? ─► session ─► (form: own origin, form key) ─► page ─► ledger ─► template
//! ```
//!
//! **Invariants:** no page has a script, and its policy forbids any. Every value is escaped by the
//! template engine; markup of our own is a `Markup`, which only this crate's source can make. Nothing is shown without a token
//! unless the proxy listens on loopback. Nothing is changed without a form's key.

mod access;
mod catalog;
mod change;
mod chip;
mod done;
mod link;
mod markup;
mod numbers;
mod pages;
mod plan;
mod portal;
mod portal_error;
mod query;
mod refuse;
mod refused;
mod reply;
mod shell;
mod show;
mod svg;
mod visit;

pub use access::PortalToken;
pub use catalog::{Catalog, MechanicInfo, WorkloadInfo};
pub use portal::{Portal, PortalOptions};
pub use portal_error::PortalError;
