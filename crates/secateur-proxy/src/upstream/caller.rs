//! Calls that belong to no request of a client: the demonstration's, and those of commands.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use rustls::pki_types::CertificateDer;

use super::UpstreamClient;
use super::body::OutBody;

/// An HTTP client that reads whole responses.
#[derive(Clone, Debug)]
pub struct Caller(UpstreamClient);

impl Caller {
    /// A client that gives up on connecting after a while, and trusts these certificates beside the system's.
    ///
    /// # Errors
    /// The system's root certificates cannot be read.
    pub fn new(
        connect_timeout: Duration,
        extra_roots: &[CertificateDer<'static>],
    ) -> std::io::Result<Self> {
        UpstreamClient::new(connect_timeout, extra_roots, &[]).map(Self)
    }

    /// Sends a request and reads the response.
    ///
    /// # Errors
    /// In words: there is no response, or it is longer than `max_bytes`.
    pub async fn call(
        &self,
        request: Request<Bytes>,
        max_bytes: usize,
    ) -> Result<Response<Bytes>, String> {
        let request = request.map(|body| OutBody::Full(Full::new(body)));
        let response = self.0.send(request).await;
        let (head, body) = response.map_err(|error| error.to_string())?.into_parts();
        let body = Limited::new(body, max_bytes).collect().await;
        let body = body.map_err(|error| error.to_string())?;
        Ok(Response::from_parts(head, body.to_bytes()))
    }
}
