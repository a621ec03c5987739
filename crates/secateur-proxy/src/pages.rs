//! Room for pages that other crates serve on the proxy's port.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use hyper::body::{Body, Frame, Incoming};
use secateur_ledger::Ledger;

use crate::audit::UntouchedRequests;
use crate::config::{LiveConfig, PortalConfig};
use crate::limits::Pace;
use crate::wire::request_body::Guarded;

/// Pages under paths of their own, such as the portal.
pub trait Pages: Send + Sync + std::fmt::Debug {
    /// Whether a path is theirs.
    fn claims(&self, path: &str) -> bool;

    /// Answers a request for such a path.
    fn respond(
        &self,
        request: Request<PageBody>,
    ) -> Pin<Box<dyn Future<Output = Response<Bytes>> + Send + '_>>;
}

/// A form on its way to the pages: of a bounded size, and not allowed to stand still.
#[derive(Debug)]
pub struct PageBody(Guarded);

impl PageBody {
    /// Larger ones are refused; the pages may want less.
    const MAX_BYTES: usize = 1 << 20;

    pub(crate) fn of(request: Request<Incoming>, pace: Pace) -> Request<Self> {
        request.map(|body| Self(Guarded::new(body, Self::MAX_BYTES, pace)))
    }
}

impl Body for PageBody {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = Pin::new(&mut self.0).poll_frame(context);
        frame.map_err(Into::into)
    }
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
    /// Requests that passed untouched because of their address.
    pub untouched: Arc<UntouchedRequests>,
}

/// Whether a path is kept for pages. No such path ever leads to a provider, also while there are no pages: what a
/// browser sends along is for the pages alone.
#[must_use]
pub fn is_page_path(path: &str) -> bool {
    ["/portal", "/optimize"].iter().any(|start| {
        path.strip_prefix(start)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Whether a browser wants to show what it asks for. What a provider answers would be shown under the pages' own
/// address, and its scripts could do what the reader may do. Libraries send none of these headers.
pub(crate) fn is_navigation(headers: &HeaderMap) -> bool {
    // One walk over the few that there are: every request comes by here.
    headers.iter().any(|(name, value)| {
        let telling: &[&[u8]] = match name.as_str() {
            "sec-fetch-mode" => &[b"navigate"],
            "sec-fetch-dest" => &[b"document", b"iframe", b"frame", b"embed", b"object"],
            // Over plain HTTP from elsewhere than loopback, browsers tell no more than this.
            "upgrade-insecure-requests" => &[b"1"],
            _ => return false,
        };
        telling.contains(&value.as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn paths_of_pages_are_whole_segments() {
        for path in [
            "/portal",
            "/portal/",
            "/portal/login",
            "/optimize/quality/a",
        ] {
            assert!(is_page_path(path), "{path}");
        }
        for path in ["/", "/portals", "/optimizer/x", "/v1/portal", "/w/a/portal"] {
            assert!(!is_page_path(path), "{path}");
        }
    }

    #[test]
    fn only_what_a_browser_would_show_is_a_navigation() {
        let asks = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            is_navigation(&headers)
        };
        assert!(asks("sec-fetch-mode", "navigate") && asks("sec-fetch-dest", "iframe"));
        assert!(asks("upgrade-insecure-requests", "1"));
        assert!(!asks("sec-fetch-mode", "cors") && !asks("sec-fetch-dest", "empty"));
        assert!(!asks("accept", "*/*"));
    }
}
