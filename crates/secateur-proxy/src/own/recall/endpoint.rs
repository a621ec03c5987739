//! `POST /v1/secateur/recall`: `{"id": "…", "offset": 0, "max_chars": 20000}`, with a client key of the
//! workload in which the text was cut.

use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use secateur_ledger::{LedgerError, Recalled};
use serde_json::json;

use super::PATH;
use super::page::{Asked, Page};
use crate::access::Grant;
use crate::own::endpoint::{self as own_endpoint, answer};
use crate::response_body::ClientBody;
use crate::route::Route;
use crate::route::workload::{named_workloads, pick_workload};
use crate::shared::Shared;

/// Whether a request asks for a text.
pub(crate) fn claims<B>(request: &Request<B>) -> bool {
    own_endpoint::claims(request, PATH)
}

/// Answers a request for a text.
pub(crate) async fn respond(
    shared: &Arc<Shared>,
    request: Request<Incoming>,
) -> Response<ClientBody> {
    let (head, body) = request.into_parts();
    let route = Route::of(&head.method, &head.uri, &head.headers);
    let config = shared.config.load_full();
    let grant = match Grant::of(&config, &head.headers, head.uri.query(), &shared.limits) {
        Ok(grant) => grant,
        Err(refusal) => return refusal.response(route.error_shape()).map(ClientBody::full),
    };
    if head.method != Method::POST {
        let words = "the id is posted";
        return error(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", words);
    }
    if let Err(refusal) = grant.check_workload(&named_workloads(&route, &head.headers)) {
        return refusal.response(route.error_shape()).map(ClientBody::full);
    }
    let of_key = grant.key().map(|key| &key.workload);
    let picked = pick_workload(&config, of_key, &route, &head.headers);
    if picked.unknown.is_some() {
        let words = "this proxy has no workload of that name, so nothing was cut in it";
        return error(StatusCode::NOT_FOUND, "unknown-workload", words);
    }
    let shape = route.error_shape();
    let body = match own_endpoint::body(shared, body, shape).await {
        Ok(body) => body,
        Err(refusal) => return refusal,
    };
    let Ok(asked) = serde_json::from_slice::<Asked>(&body) else {
        let words = "expected {\"id\": \"…\"}, with offset and max_chars where a part is wanted";
        return error(StatusCode::BAD_REQUEST, "not-an-id", words);
    };
    look_up(shared, &picked.workload.name, &asked).await
}

async fn look_up(shared: &Shared, workload: &str, asked: &Asked) -> Response<ClientBody> {
    let Some(ledger) = &shared.ledger else {
        let words = "this proxy keeps no ledger, so nothing that was cut is kept";
        return error(StatusCode::NOT_FOUND, "not-kept", words);
    };
    let id = asked.bare_id();
    match ledger.recall(workload, id).await {
        Ok(Recalled::Text {
            text, request, at, ..
        }) => {
            let page = Page::of(&text, asked);
            let mut body = json!(page);
            body["id"] = id.into();
            body["request_id"] = request.into();
            body["cut_at_ms"] = at.into();
            answer(StatusCode::OK, &body)
        }
        Ok(Recalled::Expired { .. }) => error(
            StatusCode::GONE,
            "expired",
            "this text is no longer kept, and asking again will not bring it back: run the tool again if its output is needed",
        ),
        Ok(Recalled::Unknown) => error(
            StatusCode::NOT_FOUND,
            "unknown-id",
            "no text was cut under this id in this workload: copy the id from [recall:…] as it stands there",
        ),
        Err(LedgerError::WrongCaptureKey { .. } | LedgerError::NoCaptureKey) => error(
            StatusCode::GONE,
            "other-key",
            "this text was kept under a key that this proxy does not have, and asking again will not bring it back: run the tool again if its output is needed",
        ),
        Err(_) => error(
            StatusCode::SERVICE_UNAVAILABLE,
            "ledger-unavailable",
            "the ledger does not answer: try again later",
        ),
    }
}

fn error(status: StatusCode, kind: &str, words: &str) -> Response<ClientBody> {
    answer(status, &json!({"error": {"type": kind, "message": words}}))
}
