//! The client side: one pool of connections for all upstreams, system roots, HTTP/1.1 and HTTP/2.
//!
//! An HTTP/1.1 connection is driven by the task of the request that uses it ([`http1`]), so that nothing
//! passes from task to task on the way; an HTTP/2 connection has a task of its own, because requests share it.

mod body;
mod connect;
mod http1;
mod http2;
mod lane;
mod pool;
mod quiet;

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use rustls::pki_types::CertificateDer;

pub(crate) use self::body::{OutBody, UpstreamBody};
use self::connect::Connector;
use self::lane::{Found, Lane};
use self::pool::Pool;

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    /// The request's address is none.
    #[error("the address has no scheme or no host")]
    NoAddress,
    /// There is no connection.
    #[error("no connection: {0}")]
    Connect(Box<dyn std::error::Error + Send + Sync>),
    /// The connection took the request, or a part of it, and gave no response.
    #[error("the connection broke: {0}")]
    Broke(#[from] hyper::Error),
}

impl SendError {
    /// Whether no connection came about.
    pub(crate) fn is_connect(&self) -> bool {
        matches!(self, Self::NoAddress | Self::Connect(_))
    }
}

/// What a connection made of a request.
enum Sent {
    Answered(Response<UpstreamBody>),
    Failed(SendError),
    /// The connection ended before any of the request was written to it.
    NotTaken(Request<OutBody>, hyper::Error),
}

impl Sent {
    /// For the last connection that is tried.
    fn settled(self) -> Result<Response<UpstreamBody>, SendError> {
        match self {
            Self::Answered(response) => Ok(response),
            Self::Failed(error) => Err(error),
            Self::NotTaken(_, error) => Err(error.into()),
        }
    }
}

/// A response that is on its way. Given up, it takes its connection along.
pub(crate) type Sending =
    Pin<Box<dyn Future<Output = Result<Response<UpstreamBody>, SendError>> + Send>>;

/// See the module. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct UpstreamClient(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    connector: Connector,
    pool: Arc<Pool>,
}

impl UpstreamClient {
    /// # Errors
    /// The system's root certificates could not be read.
    pub(crate) fn new(
        connect_timeout: Duration,
        extra_roots: &[CertificateDer<'static>],
    ) -> std::io::Result<Self> {
        let connector = Connector::new(connect_timeout, extra_roots)?;
        let pool = Arc::new(Pool::default());
        pool::sweep_from_time_to_time(&pool);
        Ok(Self(Arc::new(Inner { connector, pool })))
    }

    /// The response's head; its body comes as it is asked for.
    pub(crate) fn send(&self, request: Request<OutBody>) -> Sending {
        let Some(lane) = self.0.pool.lane(request.uri()) else {
            return Box::pin(ready(Err(SendError::NoAddress)));
        };
        match lane.take() {
            Some(Found::Own(connection)) => {
                let sent = http1::send(connection, request, Arc::clone(&lane));
                Box::pin(self.clone().or_by_another(sent, lane))
            }
            Some(Found::Shared(sender)) => {
                let sent = http2::send(sender, request, Arc::clone(&lane));
                Box::pin(self.clone().or_by_another(sent, lane))
            }
            None => Box::pin(self.clone().by_another(lane, request)),
        }
    }

    async fn or_by_another(
        self,
        sent: impl Future<Output = Sent> + Send,
        lane: Arc<Lane>,
    ) -> Result<Response<UpstreamBody>, SendError> {
        match sent.await {
            // Seldom, and of some size: the others are not to make room for it.
            Sent::NotTaken(request, _) => Box::pin(self.by_another(lane, request)).await,
            sent => sent.settled(),
        }
    }

    /// A connection that was used before may have ended in the meantime; then the next one takes the request, and
    /// in the end a new one.
    async fn by_another(
        self,
        lane: Arc<Lane>,
        mut request: Request<OutBody>,
    ) -> Result<Response<UpstreamBody>, SendError> {
        while let Some(found) = lane.take() {
            match carry(found, request, &lane).await {
                Sent::NotTaken(again, _) => request = again,
                sent => return sent.settled(),
            }
        }
        let found = self.0.connect(&lane).await?;
        carry(found, request, &lane).await.settled()
    }
}

async fn carry(found: Found, request: Request<OutBody>, lane: &Arc<Lane>) -> Sent {
    let lane = Arc::clone(lane);
    match found {
        Found::Own(connection) => http1::send(connection, request, lane).await,
        Found::Shared(sender) => http2::send(sender, request, lane).await,
    }
}

impl Inner {
    /// A new connection, or one that others opened first and share.
    async fn connect(&self, lane: &Lane) -> Result<Found, SendError> {
        let opened = tokio::select! {
            opened = self.connector.open(lane) => opened?,
            shared = lane.opened_by_others() => return Ok(Found::Shared(shared)),
        };
        if let Found::Shared(sender) = &opened {
            lane.share(sender.clone());
        }
        Ok(opened)
    }
}
