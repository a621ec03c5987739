//! The paths that the proxy answers itself: health, readiness, metrics.

use std::sync::atomic::Ordering;

use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;

use super::status::STATUS_PATH;
use crate::access::Grant;
use crate::config::Config;
use crate::own_names::{host_of, is_known_host};
use crate::response_body::ClientBody;
use crate::shared::Shared;
use crate::surface::CONTENT_TYPE;

/// Answers what is the proxy's own; `None`: the request is for an upstream.
pub(crate) fn own_path(
    shared: &Shared,
    request: &Request<Incoming>,
) -> Option<Response<ClientBody>> {
    if request.method() != Method::GET {
        return None;
    }
    let (status, kind, body) = match request.uri().path() {
        STATUS_PATH => return Some(super::status::status(shared, request)),
        "/healthz" => (StatusCode::OK, "text/plain", "ok\n".to_owned()),
        "/readyz" if shared.is_draining.load(Ordering::Relaxed) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "text/plain",
            "stopping\n".to_owned(),
        ),
        "/readyz" => (StatusCode::OK, "text/plain", readiness(shared)),
        "/metrics" => {
            let config = shared.config.load();
            if may_read_metrics(shared, &config, request) {
                (
                    StatusCode::OK,
                    CONTENT_TYPE,
                    shared
                        .surfaces
                        .page(shared.byte_budget.used(), shared.ledger.as_ref()),
                )
            } else {
                (
                    StatusCode::UNAUTHORIZED,
                    "text/plain",
                    "a client key is needed; on loopback, one of this machine's own names will do\n".to_owned(),
                )
            }
        }
        _ => return None,
    };
    let mut response = Response::new(ClientBody::full(body));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Some(response)
}

/// Whoever is on this machine, or has a client key. A page of another name that resolves to this machine is not on it.
pub(super) fn may_read_metrics(
    shared: &Shared,
    config: &Config,
    request: &Request<Incoming>,
) -> bool {
    let (headers, uri) = (request.headers(), request.uri());
    if config.is_loopback() {
        let portal = config.portal.as_ref();
        let names = portal.map_or(&[][..], |portal| &portal.hosts);
        if is_known_host(host_of(headers, uri), true, names) {
            return true;
        }
        if config.keys.is_empty() {
            return false;
        }
    }
    Grant::of(config, headers, uri.query(), &shared.limits).is_ok()
}

/// Requests are served whatever the ledger does, so its trouble is told and nothing more.
fn readiness(shared: &Shared) -> String {
    let ledger = shared.ledger.as_ref();
    match ledger.and_then(|ledger| ledger.stats().trouble()) {
        Some(trouble) => format!("ready\nledger: {trouble}\n"),
        None => "ready\n".to_owned(),
    }
}
