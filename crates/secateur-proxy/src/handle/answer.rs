//! To the client: the upstream's response as it comes, or a refusal in the provider's own shape.

use http::{Response, header};
use secateur_canary::Answer;

use super::Arrival;
use crate::audit::Ended;
use crate::config::Provider;
use crate::exchange::Exchange;
use crate::refusal::Refusal;
use crate::response_body::{ClientBody, Tapped};
use crate::surface::stamp;
use crate::upstream::UpstreamBody;
use crate::usage::UsageReader;
use crate::wire::encoding::Encoding;
use crate::wire::headers;

/// Hands the upstream's response on.
pub(super) fn answer(
    mut arrival: Box<Arrival>,
    response: Response<UpstreamBody>,
) -> Response<ClientBody> {
    let (mut head, body) = response.into_parts();
    headers::to_client(&mut head.headers);
    let content_type = head
        .headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let event = arrival.exchange.event();
    event.status = head.status.as_u16();
    event.is_stream = content_type.is_some_and(|kind| kind.starts_with("text/event-stream"));
    let reader = match arrival.route.dialect {
        Some(_) => UsageReader::new(content_type, Encoding::of(&head.headers)),
        None => None,
    };
    stamp(&mut head.headers, event);
    if arrival.exchange.sampled.is_some() {
        let answer = Answer::start(head.status, &head.headers);
        arrival.exchange.answer = answer.map(Box::new);
    }
    let idle = arrival.config.timeouts.response_idle;
    let body = Tapped::new(body, reader, arrival.exchange, idle);
    Response::from_parts(head, ClientBody::Tapped(Box::new(body)))
}

pub(super) fn refuse(
    exchange: &mut Exchange,
    refusal: &Refusal,
    shape: Provider,
) -> Response<ClientBody> {
    let event = exchange.event();
    event.status = refusal.status().as_u16();
    event.ended = Ended::Refused(refusal.name());
    let mut response = refusal.response(shape).map(ClientBody::full);
    stamp(response.headers_mut(), event);
    response
}
