//! `/secateur/status`: what this proxy is and does, for our own commands.

use std::collections::BTreeMap;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use serde_json::json;

use super::Shared;
use super::own_paths::may_read_metrics;
use crate::own_endpoint::answer;
use crate::response_body::ClientBody;

/// The path.
pub(crate) const STATUS_PATH: &str = "/secateur/status";

/// The version, the workloads and whether clients need a key. For whoever may read the metrics.
pub(super) fn status(shared: &Shared, request: &Request<Incoming>) -> Response<ClientBody> {
    let config = shared.config.load();
    if !may_read_metrics(shared, &config, request) {
        let body = json!({ "error": "a client key is needed" });
        return answer(StatusCode::UNAUTHORIZED, &body);
    }
    let workloads = config.workloads.values().map(|workload| {
        let upstreams = workload.upstreams.all();
        let upstreams: BTreeMap<_, _> = upstreams
            .map(|(provider, url)| (provider.name(), url.to_string()))
            .collect();
        json!({
            "name": &*workload.name,
            "changes": workload.has_mechanics(),
            "does": workload.describe(),
            "upstream": upstreams,
        })
    });
    let body = json!({
        "secateur": env!("CARGO_PKG_VERSION"),
        "needs_key": !config.keys.is_empty(),
        "portal": shared.pages.is_some(),
        "workloads": workloads.collect::<Vec<_>>(),
    });
    answer(StatusCode::OK, &body)
}
