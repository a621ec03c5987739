//! What the proxy's own JSON endpoints do alike: claim a path, and answer.

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use serde_json::Value;

use crate::config::Provider;
use crate::refusal::Refusal;
use crate::response_body::ClientBody;
use crate::route::Route;
use crate::shared::Shared;
use crate::wire::request_body::Guarded;

/// Larger bodies are refused.
const MAX_BODY_BYTES: usize = 16 << 10;

/// Whether a request is for this path, also below `/w/<workload>`.
pub(crate) fn claims<B>(request: &Request<B>, path: &str) -> bool {
    request.uri().path().ends_with(path)
        && Route::of(request.method(), request.uri(), request.headers()).path == path
}

/// The body of a request for one of them.
///
/// # Errors
/// It is too large or did not arrive in time, reported to the client in this shape.
pub(crate) async fn body(
    shared: &Shared,
    body: Incoming,
    shape: Provider,
) -> Result<Bytes, Response<ClientBody>> {
    let pace = shared.config.load().timeouts.own_body_pace();
    let body = Guarded::new(body, MAX_BODY_BYTES, pace);
    let read = body.collect(&shared.byte_budget).await;
    read.map_err(|error| {
        let refusal = Refusal::of_body(error, MAX_BODY_BYTES);
        refusal.response(shape).map(ClientBody::full)
    })
}

/// A JSON response that no cache keeps.
pub(crate) fn answer(status: StatusCode, body: &Value) -> Response<ClientBody> {
    let mut response = Response::new(ClientBody::full(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
