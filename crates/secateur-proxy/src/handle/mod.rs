//! The path of one request: who and where to, prepare, send, answer.

mod answer;
mod arrival;
mod asked_model;
mod prepare;
mod send;

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use http::{HeaderName, Method, Request, Response};
use hyper::body::{Body, Incoming};
use secateur_canary::{SESSION_HEADER, Watch};
use secateur_core::Dialect;

use self::answer::{answer, refuse};
use self::arrival::Arrival;
use self::asked_model::check_asked_model;
use self::prepare::{note, prepare};
use self::send::{only_outgoing, send, send_prepared};
use crate::access::{Grant, check_owner};
use crate::audit::AuditEvent;
use crate::exchange::Exchange;
use crate::limits::Patience;
use crate::refusal::Refusal;
use crate::response_body::ClientBody;
use crate::route::Route;
use crate::route::workload::{named_workloads, pick_workload};
use crate::shared::{Held, Shared};
use crate::upstream::{OutBody, UpstreamBody};
use crate::wire::headers::BYPASS_HEADER;
use crate::wire::identity::{request_id, trace_of};
use crate::wire::names::bounded;
use crate::wire::request_body::Guarded;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Answers one request that is for an upstream.
///
/// What can be done at once is done before there is a future: futures are moved about, and carry all that
/// they ever held.
pub(crate) fn handle(
    shared: Held,
    request: Request<Incoming>,
    patience: Patience,
) -> impl Future<Output = Response<ClientBody>> + Send {
    let arrived = arrive(&shared, request, patience);
    async move {
        match arrived {
            Ok((arrival, body)) => forward(&shared, arrival, body).await,
            Err(refusal) => *refusal,
        }
    }
}

fn arrive(
    shared: &Held,
    request: Request<Incoming>,
    patience: Patience,
) -> Result<(Box<Arrival>, Incoming), Box<Response<ClientBody>>> {
    let started = Instant::now();
    let config = shared.config.load_full();
    let (head, body) = request.into_parts();
    let mut route = Route::of(&head.method, &head.uri, &head.headers);
    let grant = Grant::of(&config, &head.headers, head.uri.query(), &shared.limits);
    let key = grant.as_ref().ok().and_then(Grant::key);
    let of_key = key.map(|key| &key.workload);
    let picked = pick_workload(&config, of_key, &route, &head.headers);
    let untouched = picked.untouched(&config, &route);
    let workload = picked.workload;
    if let Some(untouched) = &untouched {
        shared.surfaces.passes_untouched(untouched, &config);
    }
    let at = SystemTime::now();
    let mut event = AuditEvent::at(
        at,
        request_id(at),
        Arc::clone(&workload.name),
        route.provider,
        route.dialect,
    );
    event.key = key.map(|key| Arc::clone(&key.name));
    event.untouched = untouched;
    event.model = route.path_model.as_deref().map(bounded).map(str::to_owned);
    event.trace = head
        .headers
        .get(TRACEPARENT)
        .and_then(|value| trace_of(value.to_str().ok()?));
    let mut exchange = Exchange::start(event, shared.clone(), Arc::clone(&workload), started);
    let limit_bytes = config.max_body_bytes;
    let granted = grant.and_then(|grant| {
        if head.method == Method::CONNECT {
            return Err(Refusal::NoConnect);
        }
        if body.size_hint().lower() > limit_bytes as u64 {
            return Err(Refusal::TooLarge { limit_bytes });
        }
        grant.check_workload(&named_workloads(&route, &head.headers))?;
        grant.check_route(&route)?;
        route.settle(&workload)?;
        if grant.keeps_credential() && workload.upstreams.is_built_in(route.provider) {
            check_owner(&head.headers, route.provider)?;
        }
        Ok(grant)
    });
    let grant = granted.map_err(|refusal| {
        let shape = route.error_shape();
        Box::new(refuse(&mut exchange, &refusal, shape))
    })?;
    exchange.event().provider = route.provider;
    let arrival = Arrival {
        config,
        workload,
        route,
        grant,
        head,
        exchange,
        started,
        patience,
    };
    Ok((Box::new(arrival), body))
}

/// Answers a request that is refused whatever it asks for. It belongs to no workload of its choice.
pub(crate) fn refuse_at_once(
    shared: &Held,
    request: &Request<Incoming>,
    refusal: &Refusal,
) -> Response<ClientBody> {
    let (at, config) = (SystemTime::now(), shared.config.load());
    let workload = config.default_workload();
    let route = Route::of(request.method(), request.uri(), request.headers());
    let name = Arc::clone(&workload.name);
    let event = AuditEvent::at(at, request_id(at), name, route.provider, route.dialect);
    let mut exchange = Exchange::start(event, shared.clone(), Arc::clone(workload), Instant::now());
    refuse(&mut exchange, refusal, route.error_shape())
}

async fn forward(
    shared: &Arc<Shared>,
    mut arrival: Box<Arrival>,
    body: Incoming,
) -> Response<ClientBody> {
    let bypasses = arrival
        .head
        .headers
        .get(BYPASS_HEADER)
        .is_some_and(|value| value == "1");
    arrival.exchange.event().bypassed = bypasses;
    let (limit_bytes, pace) = (
        arrival.config.max_body_bytes,
        arrival.config.timeouts.body_pace(),
    );
    let body = Guarded::new(body, arrival.head.version, limit_bytes, pace);
    let dialect = arrival.route.dialect.filter(|_| !bypasses);
    let mechanics = dialect.and_then(|dialect| Some((dialect, watch(shared, &arrival)?)));
    let is_asked_in_body = arrival.grant.limits_models()
        && arrival.route.path_model.is_none()
        && arrival.head.method == Method::POST;
    if mechanics.is_some() || is_asked_in_body {
        // Boxed, because requests that pass as they come are to carry none of its weight.
        return Box::pin(look_into(
            shared,
            arrival,
            mechanics,
            is_asked_in_body,
            body,
        ))
        .await;
    }
    arrival.exchange.streamed = Some(body.fate());
    let sent = match only_outgoing(&mut arrival, OutBody::Streamed(Box::new(body))) {
        Ok(request) => {
            arrival.exchange.event().added = arrival.started.elapsed();
            send(shared, &mut arrival, request).await
        }
        Err(refusal) => Err(refusal),
    };
    settle(arrival, sent)
}

/// Whether mechanics may run, as far as that is known before the body is read.
fn watch(shared: &Shared, arrival: &Arrival) -> Option<Watch> {
    let session = arrival.head.headers.get(SESSION_HEADER);
    let session = session.and_then(|id| id.to_str().ok());
    let workload = &arrival.workload;
    let canary = &shared.canary;
    canary.watch(&workload.canary, workload.configured(), session)
}

/// What the client gets.
fn settle(
    mut arrival: Box<Arrival>,
    sent: Result<Response<UpstreamBody>, Refusal>,
) -> Response<ClientBody> {
    match sent {
        Ok(response) => answer(arrival, response),
        Err(refusal) => {
            let shape = arrival.route.error_shape();
            refuse(&mut arrival.exchange, &refusal, shape)
        }
    }
}

/// Checks the model where the key may ask some only, lets the mechanics look at a body, and sends what comes of it.
async fn look_into(
    shared: &Arc<Shared>,
    mut arrival: Box<Arrival>,
    mechanics: Option<(Dialect, Watch)>,
    is_asked_in_body: bool,
    body: Guarded,
) -> Response<ClientBody> {
    let limit_bytes = arrival.config.max_body_bytes;
    let waiting = Instant::now();
    let original = match body.collect(&shared.byte_budget).await {
        Ok(body) => body,
        Err(error) => return settle(arrival, Err(Refusal::of_body(error, limit_bytes))),
    };
    let waited = waiting.elapsed();
    if is_asked_in_body && let Err(refusal) = check_asked_model(shared, &arrival, &original).await {
        return settle(arrival, Err(refusal));
    }
    let outcome = match mechanics {
        Some((dialect, watch)) => {
            match prepare(shared, &mut arrival, dialect, watch, &original).await {
                Ok(decision) => note(&mut arrival, decision, &original),
                Err(refusal) => return settle(arrival, Err(refusal)),
            }
        }
        None => None,
    };
    arrival.exchange.event().added = arrival.started.elapsed().saturating_sub(waited);
    let sent = send_prepared(shared, &mut arrival, &original, outcome).await;
    settle(arrival, sent)
}
