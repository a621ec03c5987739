//! `POST /v1/secateur/scores`: scores that clients give themselves.
//!
//! `{"request_id": "…", "score": 0.0–1.0}`, with the id from `x-secateur-request-id` and a client key
//! of the request's workload. The first score of a request stands; sending one again changes nothing, and is
//! answered with the first.

use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use secateur_canary::{PastRequest, PostedScore};
use serde::Deserialize;
use serde_json::json;

use super::endpoint::{self as own_endpoint, answer};
use crate::access::Grant;
use crate::response_body::ClientBody;
use crate::route::Route;
use crate::route::workload::named_workloads;
use crate::shared::Shared;
use crate::wire::identity::time_of;

/// The path, also below `/w/<workload>`.
const PATH: &str = "/v1/secateur/scores";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Posted {
    request_id: String,
    score: f64,
}

/// Whether a request is about scores.
pub(crate) fn claims<B>(request: &Request<B>) -> bool {
    own_endpoint::claims(request, PATH)
}

/// Answers a posted score.
pub(crate) async fn respond(
    shared: &Arc<Shared>,
    request: Request<Incoming>,
) -> Response<ClientBody> {
    let (head, body) = request.into_parts();
    let route = Route::of(&head.method, &head.uri, &head.headers);
    let config = shared.config.load_full();
    let granted = Grant::of(&config, &head.headers, head.uri.query(), &shared.limits);
    let grant = match granted {
        Ok(grant) => grant,
        Err(refusal) => return refusal.response(route.error_shape()).map(ClientBody::full),
    };
    if let Err(refusal) = grant.check_workload(&named_workloads(&route, &head.headers)) {
        return refusal.response(route.error_shape()).map(ClientBody::full);
    }
    if head.method != Method::POST {
        return error(
            StatusCode::METHOD_NOT_ALLOWED,
            "method-not-allowed",
            "scores are posted",
        );
    }
    let shape = route.error_shape();
    let body = match own_endpoint::body(shared, body, shape).await {
        Ok(body) => body,
        Err(refusal) => return refusal,
    };
    let posted = serde_json::from_slice::<Posted>(&body)
        .ok()
        .filter(|posted| (0.0..=1.0).contains(&posted.score));
    let Some(posted) = posted else {
        return error(
            StatusCode::BAD_REQUEST,
            "not-a-score",
            "expected {\"request_id\": \"…\", \"score\": a number from 0 to 1}",
        );
    };
    let known = shared.canary.past_request(&posted.request_id).await;
    // A key of another workload learns no more than somebody who guesses.
    let may = |past: &PastRequest| {
        let of_key = grant.key();
        of_key.is_none_or(|key| *key.workload.name == past.workload)
    };
    let found = known.filter(may).and_then(|past| {
        let workload = config.workloads.get(&past.workload)?;
        Some((past, workload))
    });
    let Some((past, workload)) = found else {
        return error(
            StatusCode::NOT_FOUND,
            "unknown-request",
            "there is no request with this id, or it is too long ago",
        );
    };
    let score = shared
        .canary
        .post_score(
            &workload.canary,
            PostedScore {
                request: &posted.request_id,
                since: time_of(&posted.request_id).unwrap_or_default(),
                stack: &past.stack,
                score: posted.score,
            },
        )
        .await;
    let body = json!({
        "request_id": posted.request_id,
        "workload": past.workload,
        "stack": past.stack,
        "score": score,
    });
    answer(StatusCode::OK, &body)
}

fn error(status: StatusCode, code: &str, message: &str) -> Response<ClientBody> {
    let body = json!({"error": {
        "message": format!("secateur: {message}"),
        "type": "invalid_request_error",
        "param": null,
        "code": code,
    }});
    answer(status, &body)
}
