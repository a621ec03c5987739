//! What it takes to forward a request.

use std::sync::Arc;
use std::time::Instant;

use http::request::Parts;

use crate::access::Grant;
use crate::config::{Config, Workload};
use crate::exchange::Exchange;
use crate::route::Route;

/// What it takes to forward a request: where it goes, who sends it, by whose rules. Gone once the response's head is
/// there.
pub(super) struct Forwarding {
    pub(super) config: Arc<Config>,
    pub(super) workload: Arc<Workload>,
    pub(super) route: Route,
    pub(super) grant: Grant,
    pub(super) head: Parts,
    pub(super) is_bypassed: bool,
    pub(super) exchange: Exchange,
    pub(super) started: Instant,
}
