//! A client that sends a session's requests one after the other and reads the streams.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};

use super::sessions::Session;
use crate::command_error::CommandError;
use secateur_proxy::Caller;

pub(super) async fn play(
    base: &str,
    workload: &str,
    session: &Session,
) -> Result<(), CommandError> {
    let client = Caller::new(Duration::from_secs(5), &[])?;
    let failed = |what: String| CommandError::Demo(format!("{}: {what}", session.name));
    for body in &session.requests {
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("{base}/w/{workload}{}", session.path))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, "Bearer demo")
            .body(Bytes::from(body.clone()))
            .map_err(|error| failed(error.to_string()))?;
        let response = client.call(request, usize::MAX).await.map_err(failed)?;
        let status = response.status();
        if status != StatusCode::OK {
            let said = String::from_utf8_lossy(response.body()).into_owned();
            return Err(failed(format!("{status}: {said}")));
        }
    }
    Ok(())
}
