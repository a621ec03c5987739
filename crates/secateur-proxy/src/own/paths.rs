//! The paths that the proxy answers itself: health, readiness, metrics, status.

use std::sync::atomic::Ordering;

use http::{HeaderValue, Method, Request, Response, StatusCode, header};

use super::readers::may_read_metrics;
use super::status::{STATUS_PATH, status};
use crate::response_body::ClientBody;
use crate::shared::Shared;
use crate::surface::CONTENT_TYPE;

/// A path that the proxy answers itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnPath {
    /// `/healthz`
    Health,
    /// `/readyz`
    Readiness,
    /// `/metrics`
    Metrics,
    /// `/secateur/status`
    Status,
}

impl OwnPath {
    /// `None`: the path is not one of these.
    pub(crate) fn of(method: &Method, path: &str) -> Option<Self> {
        if method != Method::GET {
            return None;
        }
        match path {
            "/healthz" => Some(Self::Health),
            "/readyz" => Some(Self::Readiness),
            "/metrics" => Some(Self::Metrics),
            STATUS_PATH => Some(Self::Status),
            _ => None,
        }
    }

    /// The response to a request for it.
    pub(crate) fn respond<B>(self, shared: &Shared, request: &Request<B>) -> Response<ClientBody> {
        match self {
            Self::Health => plain(StatusCode::OK, "ok\n".to_owned()),
            Self::Readiness if shared.is_draining.load(Ordering::Relaxed) => {
                plain(StatusCode::SERVICE_UNAVAILABLE, "stopping\n".to_owned())
            }
            Self::Readiness => plain(StatusCode::OK, readiness(shared)),
            Self::Metrics if may_read_metrics(shared, &shared.config.load(), request) => {
                text(StatusCode::OK, CONTENT_TYPE, metrics(shared))
            }
            Self::Metrics => plain(
                StatusCode::UNAUTHORIZED,
                "a client key is needed; on loopback, one of this machine's own names will do\n"
                    .to_owned(),
            ),
            Self::Status => status(shared, request),
        }
    }
}

fn plain(status: StatusCode, body: String) -> Response<ClientBody> {
    text(status, "text/plain", body)
}

fn text(status: StatusCode, kind: &'static str, body: String) -> Response<ClientBody> {
    let mut response = Response::new(ClientBody::full(body));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Requests are served whatever the ledger does, so its trouble is told and nothing more.
fn readiness(shared: &Shared) -> String {
    let ledger = shared.ledger.as_ref();
    match ledger.and_then(|ledger| ledger.stats().trouble()) {
        Some(trouble) => format!("ready\nledger: {trouble}\n"),
        None => "ready\n".to_owned(),
    }
}

fn metrics(shared: &Shared) -> String {
    let buffered_bytes = shared.byte_budget.used();
    shared.surfaces.page(buffered_bytes, shared.ledger.as_ref())
}
