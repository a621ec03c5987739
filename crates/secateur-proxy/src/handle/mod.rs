//! The path of one request: arrive, decide, send, hear.

mod arrive;
mod asked_model;
mod decide;
mod forwarding;
mod hear;
mod outgoing;
mod send;

use std::sync::Arc;
use std::time::Instant;

use http::{Method, Request, Response};
use hyper::body::Incoming;

use self::arrive::arrive;
pub(crate) use self::arrive::refuse_at_once;
use self::asked_model::check_asked_model;
use self::decide::{Mechanics, decide};
use self::forwarding::Forwarding;
use self::hear::hear;
use self::outgoing::only_outgoing;
use self::send::{send, send_decided};
use crate::exchange::{BodySize, Decided};
use crate::refusal::Refusal;
use crate::response_body::ClientBody;
use crate::shared::{Held, Shared};
use crate::upstream::{OutBody, UpstreamBody};
use crate::wire::request_body::Guarded;

/// Answers one request that is for an upstream.
///
/// What can be done at once is done before there is a future: futures are moved about, and carry all that
/// they ever held.
pub(crate) fn handle(
    shared: Held,
    request: Request<Incoming>,
) -> impl Future<Output = Response<ClientBody>> + Send {
    let arrived = arrive(&shared, request);
    async move {
        match arrived {
            Ok((forwarding, body)) => forward(&shared, forwarding, body).await,
            Err(refusal) => *refusal,
        }
    }
}

async fn forward(
    shared: &Arc<Shared>,
    mut forwarding: Box<Forwarding>,
    body: Incoming,
) -> Response<ClientBody> {
    let (limit_bytes, pace) = (
        forwarding.config.max_body_bytes,
        forwarding.config.timeouts.body_pace(),
    );
    let body = Guarded::new(body, limit_bytes, pace);
    let mechanics = Mechanics::of(shared, &forwarding);
    let is_asked_in_body = forwarding.grant.limits_models()
        && forwarding.route.path_model.is_none()
        && forwarding.head.method == Method::POST;
    let response = if mechanics.is_some() || is_asked_in_body {
        // Boxed, because requests that pass as they come are to carry none of its weight.
        let forwarding = &mut forwarding;
        Box::pin(forward_read(
            shared,
            forwarding,
            mechanics,
            is_asked_in_body,
            body,
        ))
        .await
    } else {
        forward_streamed(shared, &mut forwarding, body).await
    };
    hear(forwarding, response)
}

/// Passes a body on while it arrives.
async fn forward_streamed(
    shared: &Shared,
    forwarding: &mut Forwarding,
    body: Guarded,
) -> Result<Response<UpstreamBody>, Refusal> {
    let size = BodySize::Streamed(body.fate());
    let request = only_outgoing(forwarding, OutBody::Streamed(Box::new(body)))?;
    let added = forwarding.started.elapsed();
    forwarding.exchange.decided(Decided::unchanged(size, added));
    let (sent, response) = send(shared, forwarding, request).await;
    forwarding.exchange.sent(sent);
    response
}

/// Reads the body, checks the model where the key may ask some only, lets the mechanics decide, and sends what comes
/// of it.
async fn forward_read(
    shared: &Arc<Shared>,
    forwarding: &mut Forwarding,
    mechanics: Option<Mechanics>,
    is_asked_in_body: bool,
    body: Guarded,
) -> Result<Response<UpstreamBody>, Refusal> {
    let limit_bytes = forwarding.config.max_body_bytes;
    let waiting = Instant::now();
    let original = body.collect(&shared.byte_budget).await;
    let original = original.map_err(|error| Refusal::of_body(error, limit_bytes))?;
    let waited = waiting.elapsed();
    if is_asked_in_body {
        check_asked_model(shared, forwarding, &original).await?;
    }
    let (decided, changed) = match mechanics {
        Some(mechanics) => decide(shared, forwarding, mechanics, &original, waited).await?,
        None => {
            let bytes = original.len() as u64;
            let size = BodySize::Read {
                before: bytes,
                after: bytes,
            };
            let added = forwarding.started.elapsed().saturating_sub(waited);
            (Decided::unchanged(size, added), None)
        }
    };
    forwarding.exchange.decided(decided);
    send_decided(shared, forwarding, original, changed).await
}
