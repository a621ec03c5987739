//! Room for pages that other crates serve on the proxy's port.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use secateur_ledger::Ledger;

use crate::config::{LiveConfig, PortalConfig};

/// Pages under paths of their own, such as the portal.
pub trait Pages: Send + Sync + std::fmt::Debug {
    /// Whether a path is theirs.
    fn claims(&self, path: &str) -> bool;

    /// Answers a request for such a path.
    fn respond(
        &self,
        request: Request<Incoming>,
    ) -> Pin<Box<dyn Future<Output = Response<Bytes>> + Send + '_>>;
}

/// What pages over the ledger are made of.
#[derive(Clone, Debug)]
pub struct PagesParts {
    /// The ledger.
    pub ledger: Ledger,
    /// The configuration as it is at any moment.
    pub config: LiveConfig,
    /// How they are reached.
    pub portal: PortalConfig,
    /// Where the proxy listens.
    pub listen: SocketAddr,
}

/// Makes the pages, or says why there are none.
pub type MakePages = Arc<dyn Fn(PagesParts) -> Result<Arc<dyn Pages>, String> + Send + Sync>;
