//! To the upstream: the changed request, and the original where the provider blames the change.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::Full;

use super::Arrival;
use super::prepare::Changed;
use crate::access::drop_foreign;
use crate::audit::{AuditEvent, Mechanic};
use crate::refusal::Refusal;
use crate::shared::Shared;
use crate::upstream::{OutBody, SendError, UpstreamBody, unchanged_uri, upstream_uri};
use crate::wire::headers;

/// Sends the changed request, and the original once where the provider blames the change.
pub(super) async fn send_prepared(
    shared: &Arc<Shared>,
    arrival: &mut Arrival,
    original: &Bytes,
    changed: Option<Changed>,
) -> Result<Response<UpstreamBody>, Refusal> {
    let path = arrival.route.path.clone();
    if let Some(changed) = changed {
        let new_path = changed.path.as_deref().unwrap_or(&path);
        let is_decoded = changed.body.is_some();
        let body = changed.body.unwrap_or_else(|| original.clone());
        let mut request = outgoing(arrival, new_path, OutBody::Full(Full::new(body)))?;
        if is_decoded {
            request.headers_mut().remove(header::CONTENT_ENCODING);
        }
        let report = arrival.exchange.event().report.as_ref();
        if let Some(beta) = report.and_then(|report| report.beta) {
            headers::add_beta(request.headers_mut(), beta);
        }
        let response = send(shared, arrival, request).await?;
        if !arrival.workload.retry_original
            || !blames_the_request(response.status(), arrival.exchange.event())
        {
            return Ok(response);
        }
        strike(arrival, original);
    }
    let request = outgoing(arrival, &path, OutBody::Full(Full::new(original.clone())))?;
    send(shared, arrival, request).await
}

/// The statuses with which providers reject a body: not credentials, rates or conflicts. A model that
/// they do not know is not found.
fn blames_the_request(status: StatusCode, event: &AuditEvent) -> bool {
    match status.as_u16() {
        400 | 413 | 422 => true,
        404 => event.fired(Mechanic::M1),
        _ => false,
    }
}

fn strike(arrival: &mut Arrival, original: &Bytes) {
    let event = arrival.exchange.event();
    event.retried_original = true;
    event.struck_stack = std::mem::take(&mut event.stack);
    (event.routed_to, event.routed_terms) = (None, None);
    event.bytes_after = original.len() as u64;
    event.chars_after = event.chars_before;
}

/// A request to the upstream with the client's headers.
pub(super) fn outgoing(
    arrival: &Arrival,
    path: &str,
    body: OutBody,
) -> Result<Request<OutBody>, Refusal> {
    outgoing_with(arrival, arrival.head.headers.clone(), path, body)
}

/// The only request to the upstream: it takes the client's headers over.
pub(super) fn only_outgoing(
    arrival: &mut Arrival,
    body: OutBody,
) -> Result<Request<OutBody>, Refusal> {
    let client_headers = std::mem::take(&mut arrival.head.headers);
    outgoing_with(arrival, client_headers, &arrival.route.path, body)
}

fn outgoing_with(
    arrival: &Arrival,
    mut outgoing_headers: HeaderMap,
    path: &str,
    body: OutBody,
) -> Result<Request<OutBody>, Refusal> {
    let provider = arrival.route.provider;
    let base = arrival.workload.upstreams.of(provider);
    let base = base.ok_or(Refusal::NoUpstream(provider))?;
    let asked = &arrival.head.uri;
    let is_unchanged = path == asked.path() && arrival.grant.keeps_credential();
    let unchanged = is_unchanged.then(|| unchanged_uri(base, asked)).flatten();
    let uri = match unchanged {
        Some(uri) => uri,
        None => {
            let query = arrival.grant.query(asked.query());
            upstream_uri(base, path, query.as_deref()).map_err(|_| Refusal::BadTarget)?
        }
    };
    headers::to_upstream(&mut outgoing_headers, arrival.route.dialect.is_some());
    if arrival.workload.upstreams.is_built_in(provider) {
        drop_foreign(&mut outgoing_headers, provider);
    }
    arrival
        .grant
        .replace_credential(provider, &mut outgoing_headers)?;
    let mut request = Request::new(body);
    *request.method_mut() = arrival.head.method.clone();
    *request.uri_mut() = uri;
    *request.headers_mut() = outgoing_headers;
    Ok(request)
}

/// The call is under way when this returns.
pub(super) fn send<'a>(
    shared: &Shared,
    arrival: &'a mut Arrival,
    request: Request<OutBody>,
) -> impl Future<Output = Result<Response<UpstreamBody>, Refusal>> + Send + use<'a> {
    let sent = Instant::now();
    let within = arrival.config.timeouts.response_head;
    let answered = arrival.patience.within(within, shared.client.send(request));
    async move {
        let response = match answered.await {
            None => return Err(Refusal::UpstreamTimeout),
            Some(Err(error)) => {
                let of_body = arrival
                    .exchange
                    .streamed
                    .as_ref()
                    .and_then(|fate| fate.error());
                if let Some(error) = of_body {
                    return Err(Refusal::of_body(error, arrival.config.max_body_bytes));
                }
                arrival.exchange.event().upstream_error = Some(error.to_string());
                return Err(match error {
                    SendError::Connect(failure) => Refusal::UpstreamUnreachable(failure),
                    SendError::NoAddress => Refusal::BadTarget,
                    SendError::Framing(reason) => Refusal::UpstreamProtocol(reason),
                    SendError::Broke(_) => Refusal::UpstreamBroke,
                });
            }
            Some(Ok(response)) => response,
        };
        let event = arrival.exchange.event();
        event.upstream_head = Some(sent.elapsed());
        event.upstream_status = Some(response.status().as_u16());
        Ok(response)
    }
}
