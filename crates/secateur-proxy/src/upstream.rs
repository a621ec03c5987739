//! The client side: one pool of connections for all upstreams, system roots, HTTP/1.1 and HTTP/2.
//!
//! An HTTP/1.1 connection is driven by the task of the request that uses it ([`http1`]), so that nothing
//! passes from task to task on the way; an HTTP/2 connection has a task of its own, because requests share it.

mod body;
mod connect;
mod http1;
mod http2;
mod pool;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use rustls::pki_types::CertificateDer;

pub(crate) use self::body::{OutBody, UpstreamBody};
use self::connect::{Connected, Connector};
use self::pool::{Found, Pool};

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

/// A response that is on its way. Given up, it takes its connection along.
pub(crate) type Sending =
    Pin<Box<dyn Future<Output = Result<Response<UpstreamBody>, SendError>> + Send>>;

/// The scheme, host and port that connections lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    scheme: Scheme,
    authority: Authority,
}

impl Origin {
    fn of(uri: &Uri) -> Option<Self> {
        Some(Self {
            scheme: uri.scheme()?.clone(),
            authority: uri.authority()?.clone(),
        })
    }

    fn uri(&self, path: &str) -> Result<Uri, http::Error> {
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(path)
            .build()
    }
}

/// See the module. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct UpstreamClient {
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
        Ok(Self { connector, pool })
    }

    /// The response's head; its body comes as it is asked for.
    pub(crate) fn send(&self, request: Request<OutBody>) -> Sending {
        let client = self.clone();
        Box::pin(client.answer(request))
    }

    async fn answer(
        self,
        mut request: Request<OutBody>,
    ) -> Result<Response<UpstreamBody>, SendError> {
        let origin = Origin::of(request.uri()).ok_or(SendError::NoAddress)?;
        // A connection that was used before may have ended in the meantime; then the next one takes the request.
        while let Some(found) = self.pool.take(&origin) {
            let sent = match found {
                Found::Own(connection) => {
                    http1::send(connection, request, &origin, &self.pool).await
                }
                Found::Shared(sender) => http2::send(sender, request, &origin).await,
            };
            match sent {
                Sent::Answered(response) => return Ok(response),
                Sent::Failed(error) => return Err(error),
                Sent::NotTaken(again, _) => request = again,
            }
        }
        let sent = match self.connect(&origin).await? {
            Found::Own(connection) => http1::send(connection, request, &origin, &self.pool).await,
            Found::Shared(sender) => http2::send(sender, request, &origin).await,
        };
        match sent {
            Sent::Answered(response) => Ok(response),
            Sent::Failed(error) => Err(error),
            Sent::NotTaken(_, error) => Err(error.into()),
        }
    }

    /// A new connection, or one that others opened first and share.
    async fn connect(&self, origin: &Origin) -> Result<Found, SendError> {
        let opened = tokio::select! {
            opened = self.connector.open(origin) => opened?,
            shared = self.pool.opened_by_others(origin) => return Ok(Found::Shared(shared)),
        };
        Ok(match opened {
            Connected::Own(connection) => Found::Own(connection),
            Connected::Shared(sender) => {
                self.pool.share(origin, sender.clone());
                Found::Shared(sender)
            }
        })
    }
}
