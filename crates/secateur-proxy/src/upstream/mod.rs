//! The client side: one pool of connections for all upstreams, system roots, HTTP/1.1 and HTTP/2.
//!
//! An HTTP/1.1 connection is driven by the task of the request that uses it ([`http1`]), so that nothing
//! passes from task to task on the way; an HTTP/2 connection has a task of its own, because requests share it.

mod body;
mod caller;
mod connect;
mod connect_failure;
mod framing;
mod http1;
mod http2;
mod lane;
mod pool;
mod quiet;
mod uri;

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, Uri};
use hyper::client::conn::TrySendError;
use rustls::pki_types::CertificateDer;

pub(crate) use self::body::{OutBody, UpstreamBody};
pub use self::caller::Caller;
use self::connect::Connector;
pub(crate) use self::connect_failure::ConnectFailure;
#[cfg(test)]
pub(crate) use self::connect_failure::ConnectFailureKind;
use self::lane::{Found, Lane};
use self::pool::Pool;
pub(crate) use self::uri::unchanged_uri;
pub use self::uri::upstream_uri;

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    /// The request's address is none.
    #[error("the address has no scheme or no host")]
    NoAddress,
    /// There is no connection.
    #[error("{0}")]
    Connect(Box<ConnectFailure>),
    /// The response is not valid HTTP.
    #[error("the response is not valid HTTP: {0}")]
    Framing(&'static str),
    /// The connection took the request, or a part of it, and gave no response.
    #[error("the connection broke: {0}")]
    Broke(#[from] hyper::Error),
}

/// What a connection made of a request.
enum Sent {
    Answered(Response<UpstreamBody>),
    Failed(SendError),
    /// The connection ended before any of the request was written to it.
    NotTaken(Box<NotTaken>),
}

/// What is left when a connection did not take a request.
struct NotTaken {
    request: Request<OutBody>,
    error: hyper::Error,
    lane: Arc<Lane>,
}

impl Sent {
    fn not_taken(request: Request<OutBody>, error: hyper::Error, lane: Arc<Lane>) -> Self {
        Self::NotTaken(Box::new(NotTaken {
            request,
            error,
            lane,
        }))
    }

    /// Neither a response nor the request came back, or the request did.
    fn without_a_response(mut error: TrySendError<Request<OutBody>>, lane: Arc<Lane>) -> Self {
        match error.take_message() {
            Some(request) => Self::not_taken(request, error.into_error(), lane),
            None => Self::Failed(error.into_error().into()),
        }
    }

    /// For the last connection that is tried.
    fn settled(self) -> Result<Response<UpstreamBody>, SendError> {
        match self {
            Self::Answered(response) => match framing::error_of(&response) {
                Some(reason) => Err(SendError::Framing(reason)),
                None => Ok(response),
            },
            Self::Failed(error) => Err(error),
            Self::NotTaken(left) => Err(left.error.into()),
        }
    }
}

/// A response that is on its way. Given up, it takes its connection along.
pub(crate) type Sending =
    Pin<Box<dyn Future<Output = Result<Response<UpstreamBody>, SendError>> + Send>>;

/// See the module. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct UpstreamClient(Arc<Pool>);

impl UpstreamClient {
    /// # Errors
    /// The system's root certificates could not be read.
    pub(crate) fn new(
        connect_timeout: Duration,
        extra_roots: &[CertificateDer<'static>],
    ) -> std::io::Result<Self> {
        let connector = Connector::new(connect_timeout, extra_roots)?;
        let pool = Arc::new(Pool::new(connector));
        pool::sweep_from_time_to_time(&pool);
        Ok(Self(pool))
    }

    /// Closes the connections that wait for requests to other addresses than these, and keeps none from now on.
    pub(crate) fn keep_only(&self, named: Vec<Uri>) {
        self.0.keep_only(named);
    }

    /// The response's head; its body comes as it is asked for.
    pub(crate) fn send(&self, request: Request<OutBody>) -> Sending {
        let Some(lane) = self.0.lane(request.uri()) else {
            return Box::pin(ready(Err(SendError::NoAddress)));
        };
        match lane.take() {
            Some(Found::Own(connection)) => {
                Box::pin(or_by_another(http1::send(connection, request, lane)))
            }
            Some(Found::Shared(sender)) => {
                Box::pin(or_by_another(http2::send(sender, request, lane)))
            }
            None => Box::pin(by_another(lane, request)),
        }
    }
}

async fn or_by_another(
    sent: impl Future<Output = Sent> + Send,
) -> Result<Response<UpstreamBody>, SendError> {
    match sent.await {
        Sent::NotTaken(left) => {
            let NotTaken { request, lane, .. } = *left;
            // Seldom, and of some size: the others are not to make room for it.
            Box::pin(by_another(lane, request)).await
        }
        sent => sent.settled(),
    }
}

/// A connection that was used before may have ended in the meantime; then the next one takes the request, and
/// in the end a new one.
async fn by_another(
    mut lane: Arc<Lane>,
    mut request: Request<OutBody>,
) -> Result<Response<UpstreamBody>, SendError> {
    while let Some(found) = lane.take() {
        match carry(found, request, lane).await {
            Sent::NotTaken(left) => NotTaken { request, lane, .. } = *left,
            sent => return sent.settled(),
        }
    }
    let found = lane.connect().await?;
    carry(found, request, lane).await.settled()
}

async fn carry(found: Found, request: Request<OutBody>, lane: Arc<Lane>) -> Sent {
    match found {
        Found::Own(connection) => http1::send(connection, request, lane).await,
        Found::Shared(sender) => http2::send(sender, request, lane).await,
    }
}
