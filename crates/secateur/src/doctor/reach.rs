//! Whether an upstream answers, without a credential and without a token.

use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use http::{Method, Request, Uri, header};

use crate::command_error::CommandError;
use secateur_proxy::config::Config;
use secateur_proxy::{Caller, upstream_uri};

/// An upstream that does not answer in this time counts as unreachable.
const PATIENCE: Duration = Duration::from_secs(10);

/// More than any list of models or error page has.
const MAX_BYTES: usize = 8 << 20;

/// An upstream that answered.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    /// The status; 401 and 404 are fine, nothing was asked for.
    pub(crate) status: u16,
    /// How long the answer took, the connection included.
    pub(crate) took: Duration,
    /// The upstream's clock, as text, if it sends it.
    pub(crate) date: Option<String>,
    /// When the answer arrived.
    pub(crate) at: SystemTime,
}

/// Asks an upstream for nothing in particular: any answer will do.
///
/// # Errors
/// Why there is no answer.
pub(crate) async fn reach(config: &Config, base: &Uri) -> Result<Reached, String> {
    let words = |error: CommandError| error.to_string();
    let client = Caller::new(config.timeouts.connect, &config.extra_roots)
        .map_err(|error| words(error.into()))?;
    let uri = upstream_uri(base, "/v1/models", None).map_err(|error| error.to_string())?;
    let request = Request::builder()
        .method(Method::GET)
        .uri(uri)
        .header(header::USER_AGENT, "secateur-doctor")
        .body(Bytes::new())
        .map_err(|error| error.to_string())?;
    let started = Instant::now();
    let answer = tokio::time::timeout(PATIENCE, client.call(request, MAX_BYTES)).await;
    let response = match answer {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(error),
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
