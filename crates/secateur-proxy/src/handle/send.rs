//! To the upstream: the changed request, and the original where the provider blames the change.

use std::time::Instant;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::Full;

use super::decide::Changed;
use super::forwarding::Forwarding;
use super::outgoing::outgoing;
use crate::exchange::Sent;
use crate::refusal::Refusal;
use crate::shared::Shared;
use crate::upstream::{OutBody, SendError, UpstreamBody};
use crate::wire::headers;
use crate::wire::request_body::Fate;

/// Sends the changed request, and the original once where the provider blames the change.
pub(super) async fn send_decided(
    shared: &Shared,
    forwarding: &mut Forwarding,
    original: Bytes,
    changed: Option<Changed>,
) -> Result<Response<UpstreamBody>, Refusal> {
    if let Some(changed) = changed {
        let is_rerouted = changed.is_rerouted;
        let request = changed_request(forwarding, &original, changed)?;
        let (sent, response) = send(shared, forwarding, request).await;
        match response {
            Ok(response)
                if forwarding.workload.retry_original
                    && blames_the_request(response.status(), is_rerouted) =>
            {
                forwarding.exchange.rejected(sent);
            }
            response => {
                forwarding.exchange.sent(sent);
                return response;
            }
        }
    }
    let body = OutBody::Full(Full::new(original));
    let request = outgoing(forwarding, &forwarding.route.path, body)?;
    let (sent, response) = send(shared, forwarding, request).await;
    forwarding.exchange.sent(sent);
    response
}

fn changed_request(
    forwarding: &Forwarding,
    original: &Bytes,
    changed: Changed,
) -> Result<Request<OutBody>, Refusal> {
    let path = changed.path.as_deref().unwrap_or(&forwarding.route.path);
    let is_decoded = changed.body.is_some();
    let body = changed.body.unwrap_or_else(|| original.clone());
    let mut request = outgoing(forwarding, path, OutBody::Full(Full::new(body)))?;
    if is_decoded {
        request.headers_mut().remove(header::CONTENT_ENCODING);
    }
    if let Some(beta) = changed.beta {
        headers::add_beta(request.headers_mut(), beta);
    }
    Ok(request)
}

/// The statuses with which providers reject a body: not credentials, rates or conflicts. A model that
/// they do not know is not found.
fn blames_the_request(status: StatusCode, is_rerouted: bool) -> bool {
    match status.as_u16() {
        400 | 413 | 422 => true,
        404 => is_rerouted,
        _ => false,
    }
}

/// Sends a request. The call is under way when this returns.
pub(super) fn send<'f>(
    shared: &Shared,
    forwarding: &'f Forwarding,
    request: Request<OutBody>,
) -> impl Future<Output = (Sent, Result<Response<UpstreamBody>, Refusal>)> + Send + use<'f> {
    let started = Instant::now();
    let within = forwarding.config.timeouts.response_head;
    let called = tokio::time::timeout(within, shared.client.send(request));
    async move {
        match called.await {
            Err(_) => (Sent::failed(None), Err(Refusal::UpstreamTimeout)),
            Ok(Err(error)) => failed(forwarding, error),
            Ok(Ok(response)) => {
                let status = response.status().as_u16();
                (Sent::answered(status, started), Ok(response))
            }
        }
    }
}

/// There is no response: because of the client's body, or because of the upstream.
fn failed<R>(forwarding: &Forwarding, error: SendError) -> (Sent, Result<R, Refusal>) {
    let of_body = forwarding.exchange.streamed().and_then(Fate::error);
    if let Some(error) = of_body {
        let refusal = Refusal::of_body(error, forwarding.config.max_body_bytes);
        return (Sent::failed(None), Err(refusal));
    }
    let sent = Sent::failed(Some(error.to_string()));
    let refusal = match error {
        SendError::Connect(failure) => Refusal::UpstreamUnreachable(failure),
        SendError::NoAddress => Refusal::BadTarget,
        SendError::Framing(reason) => Refusal::UpstreamProtocol(reason),
        SendError::Broke(_) => Refusal::UpstreamBroke,
    };
    (sent, Err(refusal))
}
