//! To the client: the upstream's response as it comes, or a refusal in the provider's own shape.

use http::Response;

use super::forwarding::Forwarding;
use crate::config::Provider;
use crate::exchange::{Exchange, Heard, Hearing};
use crate::refusal::Refusal;
use crate::response_body::{ClientBody, Tapped};
use crate::upstream::UpstreamBody;
use crate::wire::headers;

/// What the client gets.
pub(super) fn hear(
    mut forwarding: Box<Forwarding>,
    response: Result<Response<UpstreamBody>, Refusal>,
) -> Response<ClientBody> {
    match response {
        Ok(response) => pass_on(forwarding, response),
        Err(refusal) => {
            let shape = forwarding.route.error_shape();
            refuse(&mut forwarding.exchange, &refusal, shape)
        }
    }
}

/// Hands the upstream's response on.
fn pass_on(forwarding: Box<Forwarding>, response: Response<UpstreamBody>) -> Response<ClientBody> {
    let Forwarding {
        config,
        route,
        exchange,
        ..
    } = *forwarding;
    let (mut head, body) = response.into_parts();
    headers::to_client(&mut head.headers);
    let hearing = Hearing::start(&head, route.dialect.is_some(), exchange.is_sampled());
    exchange.stamp(&mut head.headers);
    let idle = config.timeouts.response_idle;
    let body = Tapped::new(body, hearing, exchange, idle);
    Response::from_parts(head, ClientBody::Tapped(Box::new(body)))
}

/// Answers in the upstream's place, which ends the request.
pub(super) fn refuse(
    exchange: &mut Exchange,
    refusal: &Refusal,
    shape: Provider,
) -> Response<ClientBody> {
    let mut response = refusal.response(shape).map(ClientBody::full);
    exchange.stamp(response.headers_mut());
    exchange.finish(Some(Heard::refused(refusal)));
    response
}
