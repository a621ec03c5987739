//! What the canary learns about a request that is over.

use std::sync::Arc;

use secateur_core::report::CacheHit;

use crate::options::WatchedWorkload;

/// The input of a request by the provider's own counts, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputTokens {
    /// All of it.
    pub all: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
    /// Written to the provider's cache.
    pub cache_written: u64,
}

/// What a request was predicted to read from the provider's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredictedRead {
    /// Tokens.
    pub tokens: u64,
    /// By which rule.
    pub hit: CacheHit,
    /// Whether less was read for a cause outside of the proxy: the client changed its prompt, or an entry expired.
    pub is_explained: bool,
}

/// A request that is over.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'f> {
    /// Its id.
    pub id: &'f str,
    /// Its workload.
    pub workload: &'f Arc<WatchedWorkload>,
    /// The key of its conversation.
    pub session: Option<&'f str>,
    /// The mechanics that changed what the provider answered, sorted.
    pub stack: &'f [&'static str],
    /// The mechanics whose change the provider rejected, so that the original was sent; else empty.
    pub rejected_stack: &'f [&'static str],
    /// Whether the upstream responded, so that clients may post a score.
    pub is_answered: bool,
    /// The status that the client got.
    pub status: u16,
    /// What the provider counted.
    pub input: Option<InputTokens>,
    /// What was predicted of its cache.
    pub predicted_read: Option<PredictedRead>,
}
