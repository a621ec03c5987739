//! A client that sends a session's requests one after the other and reads the streams.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};

use super::sessions::Session;
use crate::cli::CommandError;
use crate::upstream::{OutBody, UpstreamClient};

pub(super) async fn play(
    base: &str,
    workload: &str,
    session: &Session,
) -> Result<(), CommandError> {
    let client = UpstreamClient::new(Duration::from_secs(5), &[])?;
    let failed = |what: String| CommandError::Demo(format!("{}: {what}", session.name));
    for body in &session.requests {
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("{base}/w/{workload}{}", session.path))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, "Bearer demo")
            .body(OutBody::Full(Full::new(Bytes::from(body.clone()))))
            .map_err(|error| failed(error.to_string()))?;
        let response = client
            .send(request)
            .await
            .map_err(|error| failed(error.to_string()))?;
        let status = response.status();
        let body = response
            .into_body()
            .collect()
            .await
            .map_err(|error| failed(error.to_string()))?;
        if status != StatusCode::OK {
            let said = String::from_utf8_lossy(&body.to_bytes()).into_owned();
            return Err(failed(format!("{status}: {said}")));
        }
    }
    Ok(())
}
