//! `/secateur/status`: what this proxy is and does, for our own commands.

use std::collections::BTreeMap;

use http::{Request, Response, StatusCode};
use serde_json::json;

use super::endpoint::answer;
use super::readers::may_read_metrics;
use crate::response_body::ClientBody;
use crate::shared::Shared;

/// The path.
pub(super) const STATUS_PATH: &str = "/secateur/status";

/// The version, the workloads and whether clients need a key. For whoever may read the metrics.
pub(super) fn status<B>(shared: &Shared, request: &Request<B>) -> Response<ClientBody> {
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
