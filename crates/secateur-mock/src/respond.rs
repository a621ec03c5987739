//! What one request gets: a scripted response, misbehaviour, a model's words, or a list.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::chunks::Chunks;
use crate::conduct::Conduct;
use crate::request::{Api, Received};
use crate::shared::{Exchange, Shared};
use crate::{cache, rules, wire};

pub(crate) async fn respond(
    request: Request<Incoming>,
    shared: Arc<Shared>,
) -> Result<Response<Chunks>, Infallible> {
    shared.requests.fetch_add(1, Ordering::Relaxed);
    let (head, body) = request.into_parts();
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => {
            return Ok(plain(
                StatusCode::BAD_REQUEST,
                &json!({"error": "the body broke off"}),
                &shared,
            ));
        }
    };
    let received = Received {
        method: head.method,
        uri: head.uri,
        headers: head.headers,
        body,
    };
    if shared.options.keep_requests {
        shared.state().received.push(received.clone());
    }
    let conduct = match received
        .headers
        .get("x-mock-conduct")
        .map(HeaderValue::to_str)
    {
        Some(Ok(value)) => Conduct::parse(value),
        _ => shared.options.conduct,
    };
    tokio::time::sleep(conduct.delay).await;
    let script = shared.options.script.as_ref();
    if let Some(scripted) = script.and_then(|script| script(&received)) {
        let mut response = Response::builder().status(scripted.status);
        for (name, value) in scripted.headers {
            response = response.header(name, value);
        }
        let body = Chunks::start(scripted.body, conduct, &shared);
        return Ok(response.body(body).unwrap_or_default());
    }
    if conduct.redirect {
        let mut response = plain(StatusCode::TEMPORARY_REDIRECT, &json!({}), &shared);
        response.headers_mut().insert(
            header::LOCATION,
            HeaderValue::from_static("http://elsewhere.invalid/v1"),
        );
        return Ok(response);
    }
    if let Ok(status) = StatusCode::from_u16(conduct.status) {
        let error = wire::error(
            received.error_api(),
            status.as_u16(),
            "as the request asked",
        );
        return Ok(plain(status, &error, &shared));
    }
    Ok(match received.api() {
        Some((api, only_counts)) => model(api, only_counts, &received, conduct, &shared),
        None => {
            let response = elsewhere(&received, &shared);
            shared.observe(&Exchange::passed(&received, response.status()));
            response
        }
    })
}

/// The endpoints that answer with a model's words.
fn model(
    api: Api,
    only_counts: bool,
    received: &Received,
    conduct: Conduct,
    shared: &Arc<Shared>,
) -> Response<Chunks> {
    let body = match accepted(api, only_counts, received) {
        Ok(body) => body,
        Err(message) => {
            shared.rejected.fetch_add(1, Ordering::Relaxed);
            let status = StatusCode::BAD_REQUEST;
            shared.observe(&Exchange {
                received,
                status: status.as_u16(),
                rejection: Some(&message),
                usage: None,
                progress: None,
            });
            let error = wire::error(api, status.as_u16(), &message);
            return plain(status, &error, shared);
        }
    };
    let model = body["model"]
        .as_str()
        .or(received.model_in_path())
        .unwrap_or("unknown")
        .to_owned();
    if only_counts {
        let key = if api == Api::Gemini {
            "totalTokens"
        } else {
            "input_tokens"
        };
        let tokens = cache::input_tokens(api, &model, &body);
        shared.observe(&Exchange::passed(received, StatusCode::OK));
        return plain(StatusCode::OK, &json!({key: tokens}), shared);
    }
    let (answer, progress, mut usage) = {
        let mut state = shared.state();
        let composed = state.recordings.answer(api, &body, conduct.think);
        let usage = state.cache.count(api, &model, &body);
        let (answer, progress) = match &shared.options.session {
            Some(script) => script.answer(api, &body, composed.id),
            None => (composed, None),
        };
        (answer, progress, usage)
    };
    usage.output_tokens = wire::output_tokens(&model, &answer);
    shared.observe(&Exchange {
        usage: Some((usage, usage.input_cost(api, &model))),
        progress,
        ..Exchange::passed(received, StatusCode::OK)
    });
    let frame = wire::Frame {
        model: &model,
        usage,
        stream_usage: body.pointer("/stream_options/include_usage") == Some(&Value::Bool(true)),
        counts_writes: cache::knows_breakpoints(api, &model),
    };
    let (kind, text) = rendered(api, received, body["stream"] == true, &answer, &frame);
    with_type(StatusCode::OK, kind, Bytes::from(text), conduct, shared)
}

/// Content type and text of an answer, in the form that the request asks for.
fn rendered(
    api: Api,
    received: &Received,
    streams: bool,
    answer: &Answer,
    frame: &wire::Frame<'_>,
) -> (&'static str, String) {
    let path = received.uri.path();
    let query = received.uri.query().unwrap_or_default();
    match api {
        Api::Gemini if path.ends_with(":streamGenerateContent") && query.contains("alt=sse") => {
            ("text/event-stream", wire::events(api, answer, frame))
        }
        Api::Gemini if path.ends_with(":streamGenerateContent") => (
            "application/json; charset=UTF-8",
            wire::gemini_array(answer, frame),
        ),
        Api::Gemini => (
            "application/json; charset=UTF-8",
            wire::json(api, answer, frame).to_string(),
        ),
        _ if streams => (
            "text/event-stream; charset=utf-8",
            wire::events(api, answer, frame),
        ),
        _ => (
            "application/json",
            wire::json(api, answer, frame).to_string(),
        ),
    }
}

/// The body, if the provider takes it.
fn accepted(api: Api, only_counts: bool, received: &Received) -> Result<Value, String> {
    if received.headers.contains_key(header::CONTENT_ENCODING) {
        return Err("the body must not be compressed".to_owned());
    }
    let body: Value = serde_json::from_slice(&received.body)
        .map_err(|error| format!("we could not parse the JSON body of your request: {error}"))?;
    let has_limit = body["max_tokens"].as_u64().is_some_and(|tokens| tokens > 0);
    if api == Api::Messages && !only_counts && !has_limit {
        return Err("max_tokens: field required".to_owned());
    }
    rules::check(api, &body)?;
    Ok(body)
}

/// Lists of models, files, and nothing else.
fn elsewhere(received: &Received, shared: &Arc<Shared>) -> Response<Chunks> {
    let path = received.uri.path();
    if received.headers.contains_key(header::UPGRADE) {
        // WebSockets: a client that gets this answer at once falls back to HTTP.
        let error = wire::error(received.error_api(), 426, "no WebSocket here");
        return plain(StatusCode::UPGRADE_REQUIRED, &error, shared);
    }
    let models = ["gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro"];
    let value = match (received.method.as_str(), path) {
        ("GET", "/v1beta/models") => {
            let models: Vec<Value> = models
                .iter()
                .map(|name| json!({"name": format!("models/{name}")}))
                .collect();
            json!({"models": models})
        }
        ("GET", "/v1/models") => {
            let models: Vec<Value> = models
                .iter()
                .map(|id| json!({"id": id, "object": "model", "type": "model", "display_name": id,
                    "created": 1_760_000_000, "created_at": "2025-10-09T00:00:00Z", "owned_by": "mock"}))
                .collect();
            // codex reads a list of its own from the same place.
            json!({"object": "list", "models": [], "data": models, "has_more": false, "first_id": models[0]["id"], "last_id": models[2]["id"]})
        }
        ("POST", "/v1/files") => {
            json!({"id": "file_mock", "object": "file", "bytes": received.body.len(),
            "created_at": 1_760_000_000, "filename": "upload", "purpose": "user_data", "status": "processed"})
        }
        ("HEAD", "/") => Value::Null,
        ("GET", "/v1/files") => json!({"object": "list", "data": [], "has_more": false}),
        _ => {
            let error = wire::error(received.error_api(), 404, &format!("nothing at {path}"));
            return plain(StatusCode::NOT_FOUND, &error, shared);
        }
    };
    plain(StatusCode::OK, &value, shared)
}

fn plain(status: StatusCode, value: &Value, shared: &Arc<Shared>) -> Response<Chunks> {
    with_type(
        status,
        "application/json",
        Bytes::from(value.to_string()),
        Conduct::default(),
        shared,
    )
}

fn with_type(
    status: StatusCode,
    kind: &'static str,
    body: Bytes,
    conduct: Conduct,
    shared: &Arc<Shared>,
) -> Response<Chunks> {
    let mut response = Response::new(Chunks::start(body, conduct, shared));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert("x-request-id", HeaderValue::from_static("req_mock"));
    response
}
