//! A request before its body is read.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use secateur_core::Dialect;

use crate::audit::Untouched;
use crate::config::{Provider, Workload};

/// What is known of a request before its body is read.
pub(crate) struct Arrived {
    pub(crate) id: String,
    pub(crate) at: SystemTime,
    pub(crate) started: Instant,
    pub(crate) workload: Arc<Workload>,
    /// The client key's name.
    pub(crate) key: Option<Arc<str>>,
    pub(crate) provider: Provider,
    /// `None` for paths that are only passed through.
    pub(crate) dialect: Option<Dialect>,
    /// The model, where the path names it.
    pub(crate) model: Option<String>,
    /// Why it passes untouched, where its address is the reason.
    pub(crate) untouched: Option<Untouched>,
    /// Whether `x-secateur-bypass` is set.
    pub(crate) is_bypassed: bool,
    /// The caller's trace: trace id and parent span.
    pub(crate) trace: Option<(String, String)>,
}
