//! The paths that the proxy answers itself: health, readiness, metrics.

use std::sync::atomic::Ordering;

use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;

use super::Shared;
use crate::access::Grant;
use crate::response_body::ClientBody;

/// Answers what is the proxy's own; `None`: the request is for an upstream.
pub(crate) fn own_path(
    shared: &Shared,
    request: &Request<Incoming>,
) -> Option<Response<ClientBody>> {
    if request.method() != Method::GET {
        return None;
    }
    let (status, kind, body) = match request.uri().path() {
        "/healthz" => (StatusCode::OK, "text/plain", "ok\n".to_owned()),
        "/readyz" if shared.is_draining.load(Ordering::Relaxed) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "text/plain",
            "stopping\n".to_owned(),
        ),
        "/readyz" => (StatusCode::OK, "text/plain", "ready\n".to_owned()),
        "/metrics" => {
            let config = shared.config.load();
            let granted = config.is_loopback()
                || Grant::of(
                    &config,
                    request.headers(),
                    request.uri().query(),
                    &shared.limits,
                )
                .is_ok();
            if granted {
                (
                    StatusCode::OK,
                    "text/plain; version=0.0.4; charset=utf-8",
                    shared.surfaces.metrics.page(),
                )
            } else {
                (
                    StatusCode::UNAUTHORIZED,
                    "text/plain",
                    "a client key is needed\n".to_owned(),
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
