//! A request before its body is looked at: where it goes, who sends it, which workload it is.

use std::sync::Arc;
use std::time::Instant;

use http::HeaderMap;
use http::request::Parts;

use crate::access::Grant;
use crate::config::{Config, Workload};
use crate::exchange::Exchange;
use crate::patience::Patience;
use crate::route::{Route, WORKLOAD_HEADER};

/// A request with everything that is known of it before its body is looked at.
pub(super) struct Arrival {
    pub(super) config: Arc<Config>,
    pub(super) workload: Arc<Workload>,
    pub(super) route: Route,
    pub(super) grant: Grant,
    pub(super) head: Parts,
    pub(super) exchange: Exchange,
    pub(super) started: Instant,
    /// The connection's timer.
    pub(super) patience: Patience,
}

/// The key's workload, else the path's, else the header's, else the default; and whether one was named that the
/// configuration does not have.
pub(crate) fn pick_workload(
    config: &Config,
    of_key: Option<&Arc<Workload>>,
    route: &Route,
    headers: &HeaderMap,
) -> (Arc<Workload>, bool) {
    if let Some(workload) = of_key {
        return (Arc::clone(workload), false);
    }
    let in_header = || {
        headers
            .get(WORKLOAD_HEADER)
            .and_then(|value| value.to_str().ok())
    };
    let name = route.workload.as_deref().or_else(in_header);
    let found = name.and_then(|name| config.workloads.get(name));
    let workload = found.unwrap_or_else(|| config.default_workload());
    (Arc::clone(workload), name.is_some() && found.is_none())
}
