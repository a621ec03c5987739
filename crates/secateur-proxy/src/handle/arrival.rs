//! A request before its body is looked at: where it goes, who sends it, which workload it is.

use std::sync::Arc;
use std::time::Instant;

use http::request::Parts;

use crate::access::Grant;
use crate::config::{Config, Workload};
use crate::exchange::Exchange;
use crate::route::Route;

/// A request with everything that is known of it before its body is looked at.
pub(super) struct Arrival {
    pub(super) config: Arc<Config>,
    pub(super) workload: Arc<Workload>,
    pub(super) route: Route,
    pub(super) grant: Grant,
    pub(super) head: Parts,
    pub(super) exchange: Exchange,
    pub(super) started: Instant,
}
