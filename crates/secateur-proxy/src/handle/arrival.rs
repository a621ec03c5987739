//! A request before its body is looked at: where it goes, who sends it, which workload it is.

use std::sync::Arc;
use std::time::Instant;

use http::HeaderMap;
use http::request::Parts;

use crate::access::Grant;
use crate::config::{Config, Workload};
use crate::exchange::Exchange;
use crate::names::loggable;
use crate::patience::Patience;
use crate::route::{Route, WORKLOAD_HEADER};
use crate::untouched::Untouched;

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

/// The names of workloads that a request gives: the path's and the header's.
pub(crate) fn named_workloads<'r>(
    route: &'r Route,
    headers: &'r HeaderMap,
) -> [Option<&'r str>; 2] {
    let in_header = headers.get(WORKLOAD_HEADER);
    let in_header = in_header.and_then(|value| value.to_str().ok());
    [route.workload.as_deref(), in_header]
}

/// The workload of a request, and how it was named.
pub(crate) struct Picked<'r> {
    pub(crate) workload: Arc<Workload>,
    /// The name that was given, where the configuration does not have it.
    pub(crate) unknown: Option<&'r str>,
    /// Whether the request or its key named any workload.
    pub(crate) is_named: bool,
}

impl Picked<'_> {
    /// Why a request passes untouched, where its address is the reason. Requests that name no workload are worth a word
    /// only if they are for a model and other workloads change requests.
    pub(super) fn untouched(&self, config: &Config, route: &Route) -> Option<Untouched> {
        if let Some(name) = self.unknown {
            return Some(Untouched::UnknownWorkload(loggable(name)));
        }
        let is_lost = !self.is_named
            && route.dialect.is_some()
            && !self.workload.has_mechanics()
            && config.changing_workloads().next().is_some();
        is_lost.then_some(Untouched::NoWorkload)
    }
}

/// The key's workload, else the path's, else the header's, else the default.
pub(crate) fn pick_workload<'r>(
    config: &Config,
    of_key: Option<&Arc<Workload>>,
    route: &'r Route,
    headers: &'r HeaderMap,
) -> Picked<'r> {
    if let Some(workload) = of_key {
        return Picked {
            workload: Arc::clone(workload),
            unknown: None,
            is_named: true,
        };
    }
    let [in_path, in_header] = named_workloads(route, headers);
    let name = in_path.or(in_header);
    let found = name.and_then(|name| config.workloads.get(name));
    let workload = found.unwrap_or_else(|| config.default_workload());
    Picked {
        workload: Arc::clone(workload),
        unknown: name.filter(|_| found.is_none()),
        is_named: name.is_some(),
    }
}
