//! Connections to providers: HTTP/1.1 from hyper-util's pool, or HTTP/2 for the hosts that the configuration names.

mod body;
mod caller;
mod connect;
mod connect_failure;
mod framing;
mod http2;
mod origins;
mod send_error;
mod stream_count;
mod uri;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, Uri};
use rustls::pki_types::CertificateDer;

pub(crate) use self::body::{OutBody, UpstreamBody};
pub use self::caller::Caller;
use self::connect::Connectors;
pub(crate) use self::connect_failure::ConnectFailure;
#[cfg(test)]
pub(crate) use self::connect_failure::ConnectFailureKind;
use self::origins::Origins;
pub(crate) use self::send_error::SendError;
pub(crate) use self::uri::unchanged_uri;
pub use self::uri::upstream_uri;

/// A response that is on its way. Dropping it closes the connection, or resets the HTTP/2 stream.
pub(crate) type Sending =
    Pin<Box<dyn Future<Output = Result<Response<UpstreamBody>, SendError>> + Send>>;

/// The HTTP client for all upstreams. Clones share their connections.
#[derive(Clone, Debug)]
pub(crate) struct UpstreamClient(Arc<Origins>);

impl UpstreamClient {
    /// `http2_hosts`: the hosts that are offered HTTP/2.
    ///
    /// # Errors
    /// The system's root certificates could not be read.
    pub(crate) fn new(
        connect_timeout: Duration,
        extra_roots: &[CertificateDer<'static>],
        http2_hosts: &[String],
    ) -> std::io::Result<Self> {
        let connectors = Connectors::new(connect_timeout, extra_roots)?;
        Ok(Self(Arc::new(Origins::new(connectors, http2_hosts))))
    }

    /// Closes idle connections to other addresses than these, and pools none to them from now on.
    pub(crate) fn keep_only(&self, named: Vec<Uri>) {
        self.0.keep_only(named);
    }

    /// The response's head; its body arrives as it is read.
    pub(crate) fn send(&self, request: Request<OutBody>) -> Sending {
        let origin = self.0.origin(request.uri());
        Box::pin(async move {
            let origin = origin.ok_or(SendError::NoAddress)?;
            let response = origin.send(request).await?;
            match framing::error_of(&response) {
                Some(reason) => Err(SendError::Framing(reason)),
                None => Ok(response),
            }
        })
    }
}
