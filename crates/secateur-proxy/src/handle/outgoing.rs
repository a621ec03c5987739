//! The request to the upstream, made from the client's.

use http::{HeaderMap, Request};
use http_body_util::Full;

use super::forwarding::Forwarding;
use crate::access::drop_foreign;
use crate::refusal::Refusal;
use crate::upstream::{OutBody, unchanged_uri, upstream_uri};
use crate::wire::headers;

/// A request to the upstream with the client's headers.
pub(super) fn outgoing(
    forwarding: &Forwarding,
    path: &str,
    body: OutBody,
) -> Result<Request<OutBody>, Refusal> {
    outgoing_with(forwarding, forwarding.head.headers.clone(), path, body)
}

/// The same without a body.
pub(super) fn bodiless(forwarding: &Forwarding, path: &str) -> Result<Request<OutBody>, Refusal> {
    outgoing(forwarding, path, OutBody::Full(Full::default()))
}

/// The only request to the upstream: it takes the client's headers over.
pub(super) fn only_outgoing(
    forwarding: &mut Forwarding,
    body: OutBody,
) -> Result<Request<OutBody>, Refusal> {
    let client_headers = std::mem::take(&mut forwarding.head.headers);
    outgoing_with(forwarding, client_headers, &forwarding.route.path, body)
}

fn outgoing_with(
    forwarding: &Forwarding,
    mut outgoing_headers: HeaderMap,
    path: &str,
    body: OutBody,
) -> Result<Request<OutBody>, Refusal> {
    let provider = forwarding.route.provider;
    let base = forwarding.workload.upstreams.of(provider);
    let base = base.ok_or(Refusal::NoUpstream(provider))?;
    let asked = &forwarding.head.uri;
    let is_unchanged = path == asked.path() && forwarding.grant.keeps_credential();
    let unchanged = is_unchanged.then(|| unchanged_uri(base, asked)).flatten();
    let uri = match unchanged {
        Some(uri) => uri,
        None => {
            let query = forwarding.grant.query(asked.query());
            upstream_uri(base, path, query.as_deref()).map_err(|_| Refusal::BadTarget)?
        }
    };
    headers::to_upstream(&mut outgoing_headers, forwarding.route.dialect.is_some());
    if forwarding.workload.upstreams.is_built_in(provider) {
        drop_foreign(&mut outgoing_headers, provider);
    }
    forwarding
        .grant
        .replace_credential(provider, &mut outgoing_headers)?;
    let mut request = Request::new(body);
    *request.method_mut() = forwarding.head.method.clone();
    *request.uri_mut() = uri;
    *request.headers_mut() = outgoing_headers;
    Ok(request)
}
