//! A request before its body is read: where it goes, who sends it, which workload it is.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, Request, Response};
use hyper::body::{Body, Incoming};

use super::forwarding::Forwarding;
use super::hear::refuse;
use crate::access::{Grant, check_owner};
use crate::config::Workload;
use crate::exchange::{Arrived, Exchange};
use crate::refusal::Refusal;
use crate::response_body::ClientBody;
use crate::route::Route;
use crate::route::workload::{named_workloads, pick_workload};
use crate::shared::Held;
use crate::wire::headers::BYPASS_HEADER;
use crate::wire::identity::{request_id, trace_of};
use crate::wire::names::bounded;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Finds out where a request goes, and refuses it where it may not go there.
pub(super) fn arrive(
    shared: &Held,
    request: Request<Incoming>,
) -> Result<(Box<Forwarding>, Incoming), Box<Response<ClientBody>>> {
    let started = Instant::now();
    let config = shared.config.load_full();
    let (head, body) = request.into_parts();
    let mut route = Route::of(&head.method, &head.uri, &head.headers);
    let grant = Grant::of(&config, &head.headers, head.uri.query(), &shared.limits);
    let key = grant.as_ref().ok().and_then(Grant::key);
    let key_name = key.map(|key| Arc::clone(&key.name));
    let of_key = key.map(|key| &key.workload);
    let picked = pick_workload(&config, of_key, &route, &head.headers);
    let untouched = picked.untouched(&config, &route);
    let workload = picked.workload;
    if let Some(untouched) = &untouched {
        shared.surfaces.passes_untouched(untouched, &config);
    }
    let sizes = (body.size_hint().lower(), config.max_body_bytes);
    let granted = grant.and_then(|grant| check(grant, &head, &mut route, &workload, sizes));
    let is_bypassed = is_bypassed(&head.headers);
    let at = SystemTime::now();
    let mut exchange = Exchange::start(
        shared.clone(),
        Arrived {
            id: request_id(at),
            at,
            started,
            workload: Arc::clone(&workload),
            key: key_name,
            provider: route.provider,
            dialect: route.dialect,
            model: route.path_model.as_deref().map(bounded).map(str::to_owned),
            untouched,
            is_bypassed,
            trace: trace(&head.headers),
        },
    );
    let grant = granted
        .map_err(|refusal| Box::new(refuse(&mut exchange, &refusal, route.error_shape())))?;
    let forwarding = Forwarding {
        config,
        workload,
        route,
        grant,
        head,
        is_bypassed,
        exchange,
        started,
    };
    Ok((Box::new(forwarding), body))
}

/// Whether a client may send this request, and to whom.
fn check(
    grant: Grant,
    head: &Parts,
    route: &mut Route,
    workload: &Arc<Workload>,
    (body_bytes, limit_bytes): (u64, usize),
) -> Result<Grant, Refusal> {
    if head.method == Method::CONNECT {
        return Err(Refusal::NoConnect);
    }
    if body_bytes > limit_bytes as u64 {
        return Err(Refusal::TooLarge { limit_bytes });
    }
    grant.check_workload(&named_workloads(route, &head.headers))?;
    grant.check_route(route)?;
    route.settle(workload)?;
    if grant.keeps_credential() && workload.upstreams.is_built_in(route.provider) {
        check_owner(&head.headers, route.provider)?;
    }
    Ok(grant)
}

fn is_bypassed(headers: &HeaderMap) -> bool {
    headers.get(BYPASS_HEADER).is_some_and(|value| value == "1")
}

/// The caller's trace: trace id and parent span.
fn trace(headers: &HeaderMap) -> Option<(String, String)> {
    trace_of(headers.get(TRACEPARENT)?.to_str().ok()?)
}

/// Answers a request that is refused whatever it asks for. It belongs to no workload of its choice.
pub(crate) fn refuse_at_once(
    shared: &Held,
    request: &Request<Incoming>,
    refusal: &Refusal,
) -> Response<ClientBody> {
    let (at, config) = (SystemTime::now(), shared.config.load());
    let route = Route::of(request.method(), request.uri(), request.headers());
    let arrived = Arrived {
        id: request_id(at),
        at,
        started: Instant::now(),
        workload: Arc::clone(config.default_workload()),
        key: None,
        provider: route.provider,
        dialect: route.dialect,
        model: None,
        untouched: None,
        is_bypassed: false,
        trace: None,
    };
    let mut exchange = Exchange::start(shared.clone(), arrived);
    refuse(&mut exchange, refusal, route.error_shape())
}
