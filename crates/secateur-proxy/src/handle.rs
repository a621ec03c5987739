//! The path of one request: who and where to, prepare, send, answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use tokio::sync::Semaphore;

use crate::access::{Grant, RateLimits};
use crate::audit::{AuditEvent, Ended, FailOpen, Mechanic};
use crate::config::{Config, Workload};
use crate::encoding::{Encoding, decode};
use crate::error_shape::Refusal;
use crate::exchange::Exchange;
use crate::headers;
use crate::identity::{fresh_id, trace_of};
use crate::pages::Pages;
use crate::pipeline::{Decision, Engine, Job, decide};
use crate::request_body::Guarded;
use crate::response_body::{ClientBody, Tapped};
use crate::route::{BYPASS_HEADER, Route, WORKLOAD_HEADER, upstream_uri};
use crate::surface::{Surfaces, stamp};
use crate::upstream::{OutBody, UpstreamClient};
use crate::usage::UsageReader;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: ArcSwap<Config>,
    pub(crate) client: UpstreamClient,
    pub(crate) surfaces: Arc<Surfaces>,
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) limits: RateLimits,
    pub(crate) pages: Option<Arc<dyn Pages>>,
    pub(crate) is_draining: std::sync::atomic::AtomicBool,
}

/// A request with everything that is known of it before its body is looked at.
struct Arrival {
    config: Arc<Config>,
    workload: Arc<Workload>,
    route: Route,
    grant: Grant,
    head: Parts,
    exchange: Exchange,
    started: Instant,
}

/// Answers one request that is for an upstream.
pub(crate) async fn handle(
    shared: Arc<Shared>,
    request: Request<Incoming>,
) -> Response<ClientBody> {
    let started = Instant::now();
    let config = shared.config.load_full();
    let (head, body) = request.into_parts();
    let route = Route::of(&head.method, &head.uri, &head.headers);
    let grant = Grant::of(&config, &head.headers, head.uri.query(), &shared.limits);
    let key = grant.as_ref().ok().and_then(Grant::key);
    let workload = pick_workload(
        &config,
        key.and_then(|key| key.workload.as_ref()),
        &route,
        &head.headers,
    );
    let mut event = AuditEvent::new(
        fresh_id(),
        Arc::clone(&workload.name),
        route.provider,
        route.dialect,
    );
    event.key = key.map(|key| Arc::clone(&key.name));
    event.model.clone_from(&route.path_model);
    event.trace = head
        .headers
        .get("traceparent")
        .and_then(|value| trace_of(value.to_str().ok()?));
    let mut exchange = Exchange::start(event, &shared.surfaces, started);
    let shape = route.error_shape();
    let grant = match grant {
        Ok(grant) => grant,
        Err(refusal) => return refuse(&mut exchange, refusal, shape),
    };
    if head.method == Method::CONNECT {
        return refuse(&mut exchange, Refusal::NoConnect, shape);
    }
    let limit_bytes = config.max_body_bytes;
    if body.size_hint().lower() > limit_bytes as u64 {
        return refuse(&mut exchange, Refusal::TooLarge { limit_bytes }, shape);
    }
    let mut route = route;
    if let Some(provider) = workload.provider {
        route.provider = provider;
        exchange.event().provider = provider;
    }
    let arrival = Arrival {
        config,
        workload,
        route,
        grant,
        head,
        exchange,
        started,
    };
    forward(&shared, arrival, body).await
}

/// The key's workload, else the path's, else the header's, else the default.
fn pick_workload(
    config: &Config,
    of_key: Option<&Arc<Workload>>,
    route: &Route,
    headers: &HeaderMap,
) -> Arc<Workload> {
    if let Some(workload) = of_key {
        return Arc::clone(workload);
    }
    let in_header = || {
        headers
            .get(WORKLOAD_HEADER)
            .and_then(|value| value.to_str().ok())
    };
    let name = route.workload.as_deref().or_else(in_header);
    let found = name.and_then(|name| config.workloads.get(name));
    Arc::clone(found.unwrap_or_else(|| config.default_workload()))
}

async fn forward(
    shared: &Arc<Shared>,
    mut arrival: Arrival,
    body: Incoming,
) -> Response<ClientBody> {
    let shape = arrival.route.error_shape();
    let bypasses = arrival
        .head
        .headers
        .get(BYPASS_HEADER)
        .is_some_and(|value| value == "1");
    arrival.exchange.event().bypassed = bypasses;
    let timeouts = arrival.config.timeouts;
    let limit_bytes = arrival.config.max_body_bytes;
    let (body, fate) = Guarded::new(body, limit_bytes, timeouts.request_idle);
    let mechanics = arrival
        .route
        .dialect
        .filter(|_| arrival.workload.has_mechanics() && !bypasses);
    let Some(dialect) = mechanics else {
        arrival.exchange.streamed = Some(fate);
        let path = arrival.route.path.clone();
        let request = match outgoing(&arrival, &path, OutBody::Streamed(Box::new(body))) {
            Ok(request) => request,
            Err(refusal) => return refuse(&mut arrival.exchange, refusal, shape),
        };
        let event = arrival.exchange.event();
        event.added = arrival.started.elapsed();
        return match send(shared, &mut arrival, request).await {
            Ok(response) => answer(arrival, response),
            Err(refusal) => refuse(&mut arrival.exchange, refusal, shape),
        };
    };
    let waiting = Instant::now();
    let original = match body.collect().await {
        Ok(body) => body,
        Err(error) => return refuse(&mut arrival.exchange, error.refusal(limit_bytes), shape),
    };
    let waited = waiting.elapsed();
    let decision = prepare(shared, &arrival, dialect, &original).await;
    let outcome = note(&mut arrival, decision, &original);
    arrival.exchange.event().added = arrival.started.elapsed().saturating_sub(waited);
    match send_prepared(shared, &mut arrival, &original, outcome).await {
        Ok(response) => answer(arrival, response),
        Err(refusal) => refuse(&mut arrival.exchange, refusal, shape),
    }
}

/// Runs the chain over a body that is there.
async fn prepare(
    shared: &Arc<Shared>,
    arrival: &Arrival,
    dialect: secateur_core::dialect::DialectId,
    original: &Bytes,
) -> Decision {
    if is_signed(&arrival.head.headers) {
        return Decision::fail_open(FailOpen::SignedBody);
    }
    let encoding = Encoding::of(&arrival.head.headers);
    let body = if encoding == Encoding::Identity {
        original.clone()
    } else {
        let (body, limit) = (original.clone(), arrival.config.max_body_bytes);
        let decoded = tokio::task::spawn_blocking(move || decode(encoding, &body, limit)).await;
        match decoded {
            Ok(Ok(body)) => Bytes::from(body),
            Ok(Err(error)) => return Decision::fail_open(FailOpen::Encoding(error.reason())),
            Err(_) => return Decision::fail_open(FailOpen::Panicked),
        }
    };
    let job = Job {
        body,
        dialect,
        path_model: arrival.route.path_model.clone(),
        workload: Arc::clone(&arrival.workload),
        engine: Arc::clone(&shared.engine),
    };
    decide(job, &shared.slots).await
}

/// A body that the client signed cannot be changed on the way.
fn is_signed(headers: &HeaderMap) -> bool {
    let names = [
        "content-md5",
        "digest",
        "content-digest",
        "repr-digest",
        "signature-input",
    ];
    let aws = headers
        .get(header::AUTHORIZATION)
        .is_some_and(|value| value.as_bytes().starts_with(b"AWS4-"));
    aws || names.iter().any(|name| headers.contains_key(*name))
}

/// What goes out in place of the original.
struct Changed {
    body: Option<Bytes>,
    path: Option<String>,
}

/// Writes the decision into the event.
fn note(arrival: &mut Arrival, decision: Decision, original: &Bytes) -> Option<Changed> {
    let path = decision
        .routed_to
        .as_deref()
        .and_then(|model| arrival.route.path_with_model(model));
    let event = arrival.exchange.event();
    event.bytes_before = original.len() as u64;
    event.bytes_after = decision.body.as_ref().map_or(original.len(), Bytes::len) as u64;
    if let Some(report) = &decision.report {
        event.chars_before = Some(report.before.chars as u64).filter(|&chars| chars > 0);
        event.chars_after = event.chars_before.map(|_| report.after.chars as u64);
        if event.model.is_none() {
            event.model.clone_from(&report.model);
        }
    }
    event.routed_to = decision.routed_to;
    event.stack = decision.stack;
    event.steps = decision.steps;
    event.report = decision.report;
    event.failed_open = decision.failed_open;
    (decision.body.is_some() || path.is_some()).then_some(Changed {
        body: decision.body,
        path,
    })
}

/// Sends the changed request, and the original once where the provider blames the change.
async fn send_prepared(
    shared: &Arc<Shared>,
    arrival: &mut Arrival,
    original: &Bytes,
    changed: Option<Changed>,
) -> Result<Response<Incoming>, Refusal> {
    let path = arrival.route.path.clone();
    if let Some(changed) = changed {
        let new_path = changed.path.as_deref().unwrap_or(&path);
        let is_decoded = changed.body.is_some();
        let body = changed.body.unwrap_or_else(|| original.clone());
        let mut request = outgoing(arrival, new_path, OutBody::Full(Full::new(body)))?;
        if is_decoded {
            request.headers_mut().remove(header::CONTENT_ENCODING);
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
    event.routed_to = None;
    event.bytes_after = original.len() as u64;
    event.chars_after = event.chars_before;
}

fn outgoing(arrival: &Arrival, path: &str, body: OutBody) -> Result<Request<OutBody>, Refusal> {
    let provider = arrival.route.provider;
    let base = arrival.workload.upstreams.of(provider);
    let query = arrival.grant.query(arrival.head.uri.query());
    let uri = upstream_uri(base, path, query.as_deref()).map_err(|_| Refusal::BadTarget)?;
    let mut outgoing_headers = arrival.head.headers.clone();
    headers::to_upstream(&mut outgoing_headers, arrival.route.dialect.is_some());
    arrival
        .grant
        .replace_credential(provider, &mut outgoing_headers)?;
    let mut request = Request::new(body);
    *request.method_mut() = arrival.head.method.clone();
    *request.uri_mut() = uri;
    *request.headers_mut() = outgoing_headers;
    Ok(request)
}

async fn send(
    shared: &Arc<Shared>,
    arrival: &mut Arrival,
    request: Request<OutBody>,
) -> Result<Response<Incoming>, Refusal> {
    let sent = Instant::now();
    let timeouts = arrival.config.timeouts;
    let answered = tokio::time::timeout(timeouts.response_head, shared.client.send(request)).await;
    let response = match answered {
        Err(_) => return Err(Refusal::UpstreamTimeout),
        Ok(Err(error)) => {
            let of_body = arrival
                .exchange
                .streamed
                .as_ref()
                .and_then(|fate| fate.error());
            return Err(match of_body {
                Some(error) => error.refusal(arrival.config.max_body_bytes),
                None if error.is_connect() => Refusal::UpstreamUnreachable,
                None => Refusal::UpstreamBroke,
            });
        }
        Ok(Ok(response)) => response,
    };
    let event = arrival.exchange.event();
    event.upstream_head = Some(sent.elapsed());
    event.upstream_status = Some(response.status().as_u16());
    Ok(response)
}

/// Hands the upstream's response on.
fn answer(mut arrival: Arrival, response: Response<Incoming>) -> Response<ClientBody> {
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
    let idle = arrival.config.timeouts.response_idle;
    let body = Tapped::new(body, reader, arrival.exchange, idle);
    Response::from_parts(head, ClientBody::Tapped(Box::new(body)))
}

fn refuse(
    exchange: &mut Exchange,
    refusal: Refusal,
    shape: crate::config::Provider,
) -> Response<ClientBody> {
    let event = exchange.event();
    event.status = refusal.status().as_u16();
    event.ended = Ended::Refused(refusal.name());
    let mut response = refusal.response(shape).map(ClientBody::full);
    stamp(response.headers_mut(), event);
    response
}

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
        "/readyz"
            if shared
                .is_draining
                .load(std::sync::atomic::Ordering::Relaxed) =>
        {
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "text/plain",
                "stopping\n".to_owned(),
            )
        }
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

/// How long a client may take to send a request's head.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
