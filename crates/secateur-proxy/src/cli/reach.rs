//! Whether an upstream answers, without a credential and without a token.

use std::time::{Duration, Instant, SystemTime};

use http::{Method, Request, Uri, header};
use http_body_util::Full;

use super::CommandError;
use crate::config::Config;
use crate::route::upstream_uri;
use crate::upstream::{OutBody, UpstreamClient};

/// An upstream that does not answer in this time counts as unreachable.
const PATIENCE: Duration = Duration::from_secs(10);

/// An upstream that answered.
#[derive(Clone, Debug)]
pub struct Reached {
    /// The status; 401 and 404 are fine, nothing was asked for.
    pub status: u16,
    /// How long the answer took, the connection included.
    pub took: Duration,
    /// The upstream's clock, as text, where it tells.
    pub date: Option<String>,
    /// When the answer arrived.
    pub at: SystemTime,
}

/// Asks an upstream for nothing in particular: any answer will do.
///
/// # Errors
/// Why there is no answer.
pub async fn reach(config: &Config, base: &Uri) -> Result<Reached, String> {
    let words = |error: CommandError| error.to_string();
    let client = UpstreamClient::new(config.timeouts.connect, &config.extra_roots)
        .map_err(|error| words(error.into()))?;
    let uri = upstream_uri(base, "/v1/models", None).map_err(|error| error.to_string())?;
    let request = Request::builder()
        .method(Method::GET)
        .uri(uri)
        .header(header::USER_AGENT, "secateur-doctor")
        .body(OutBody::Full(Full::default()))
        .map_err(|error| error.to_string())?;
    let started = Instant::now();
    let answer = tokio::time::timeout(PATIENCE, client.send(request)).await;
    let response = match answer {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(error.to_string()),
        Err(_) => return Err(format!("no answer within {} s", PATIENCE.as_secs())),
    };
    let date = response.headers().get(header::DATE);
    Ok(Reached {
        status: response.status().as_u16(),
        took: started.elapsed(),
        date: date.and_then(|date| date.to_str().ok()).map(str::to_owned),
        at: SystemTime::now(),
    })
}
