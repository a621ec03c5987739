//! A service of the user's: POST of the comparison, a number or `{"score": …}` back.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Uri, header};
use serde_json::Value;

use super::{ScorerError, in_range};
use crate::outside::{CallError, Upstream};

/// What is read of an answer at most.
const MAX_ANSWER_BYTES: usize = 64 << 10;

pub(super) async fn score(
    upstream: &dyn Upstream,
    url: &Uri,
    headers: &HeaderMap,
    input: &Value,
) -> Result<f64, ScorerError> {
    let mut request = Request::new(Bytes::from(input.to_string()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = url.clone();
    *request.headers_mut() = headers.clone();
    let kind = HeaderValue::from_static("application/json");
    request
        .headers_mut()
        .entry(header::CONTENT_TYPE)
        .or_insert(kind);
    let response = upstream.call(request, MAX_ANSWER_BYTES).await;
    let response = response.map_err(|error| match error {
        CallError::Unreachable => ScorerError::Unreachable,
        CallError::Broke => ScorerError::Failed,
    })?;
    if !response.status().is_success() {
        return Err(ScorerError::Failed);
    }
    let value: Value =
        serde_json::from_slice(response.body()).map_err(|_| ScorerError::NotAScore)?;
    let number = value.as_f64().or_else(|| value.get("score")?.as_f64());
    in_range(number.ok_or(ScorerError::NotAScore)?)
}
