//! Room for pages that other crates serve on the proxy's port.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;

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
