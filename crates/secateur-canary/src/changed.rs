//! What the canary is told about a request that was changed, before it is sent.

use std::sync::Arc;

use bytes::Bytes;
use secateur_core::Dialect;
use secateur_core::report::Report;

/// A request after the mechanics ran, before it is sent.
#[derive(Clone, Copy, Debug)]
pub struct ChangedRequest<'c> {
    /// Its id.
    pub id: &'c str,
    /// The key of its conversation.
    pub session: Option<&'c str>,
    /// The format of its body.
    pub dialect: Dialect,
    /// The mechanics that changed it, sorted; empty: none did.
    pub stack: &'c [&'static str],
    /// The model that the client asked for.
    pub model: Option<&'c str>,
    /// The client key's name.
    pub key: Option<&'c str>,
    /// What the engine did.
    pub report: Option<&'c Arc<Report>>,
    /// The body that the mechanics read, decoded; `None`: they did not read it.
    pub read: Option<&'c Bytes>,
}
