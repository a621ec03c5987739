//! A service of the user's: POST of the comparison, a number or `{"score": …}` back.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use serde_json::Value;

use super::{ScorerError, in_range};
use crate::config::Secret;
use crate::upstream::{OutBody, UpstreamClient};

/// What is read of an answer at most.
const MAX_ANSWER_BYTES: usize = 64 << 10;

pub(super) async fn score(
    client: &UpstreamClient,
    url: &Uri,
    headers: &[(String, Secret)],
    input: &Value,
) -> Result<f64, ScorerError> {
    let body = Bytes::from(input.to_string());
    let mut request = Request::new(OutBody::Full(Full::new(body)));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = url.clone();
    let map = request.headers_mut();
    map.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    for (name, secret) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| ScorerError::Unreachable)?;
        let mut value =
            HeaderValue::from_str(secret.reveal()).map_err(|_| ScorerError::Unreachable)?;
        value.set_sensitive(true);
        map.insert(name, value);
    }
    let response = client
        .send(request)
        .await
        .map_err(|_| ScorerError::Unreachable)?;
    if !response.status().is_success() {
        return Err(ScorerError::Failed);
    }
    let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES);
    let body = body.collect().await.map_err(|_| ScorerError::Failed)?;
    let value: Value =
        serde_json::from_slice(&body.to_bytes()).map_err(|_| ScorerError::NotAScore)?;
    let number = value.as_f64().or_else(|| value.get("score")?.as_f64());
    in_range(number.ok_or(ScorerError::NotAScore)?)
}
