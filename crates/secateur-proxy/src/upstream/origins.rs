//! The servers that requests go to, each with its own connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::body::{OutBody, UpstreamBody};
use super::connect::{Connector, Connectors};
use super::http2::{Http2Connections, Http2Outcome};
use super::send_error::SendError;

/// How long an HTTP/1.1 connection may be idle before it is closed.
const MAX_IDLE: Duration = Duration::from_secs(60);
/// Idle HTTP/1.1 connections to one server.
const MAX_IDLE_CONNECTIONS: usize = 512;

/// A server by scheme and authority.
#[derive(Debug)]
pub(super) struct Origin {
    scheme: Scheme,
    authority: Authority,
    http1: Client<Connector, OutBody>,
    /// If the configuration asks for HTTP/2.
    http2: Option<Http2Connections>,
    /// The server was offered HTTP/2 and chose HTTP/1.1.
    refuses_http2: AtomicBool,
}

impl Origin {
    /// `None`: the URL names no server.
    fn new(uri: &Uri, connectors: &Connectors, http2_hosts: &[String]) -> Option<Self> {
        let (scheme, authority) = (uri.scheme()?.clone(), uri.authority()?.clone());
        let is_named = http2_hosts
            .iter()
            .any(|host| host.eq_ignore_ascii_case(authority.host()));
        let http2 = (is_named && scheme == Scheme::HTTPS)
            .then(|| Http2Connections::new(connectors.http2.clone()));
        let http1 = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(MAX_IDLE)
            .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
            .build(connectors.http1.clone());
        Some(Self {
            scheme,
            authority,
            http1,
            http2,
            refuses_http2: AtomicBool::new(false),
        })
    }

    fn serves(&self, uri: &Uri) -> bool {
        uri.authority() == Some(&self.authority) && uri.scheme() == Some(&self.scheme)
    }

    /// Sends a request. One that found its pooled connection closed, and of which nothing was written, goes to another
    /// connection; no other request is sent twice.
    pub(super) async fn send(
        &self,
        mut request: Request<OutBody>,
    ) -> Result<Response<UpstreamBody>, SendError> {
        if let Some(http2) = &self.http2
            && !self.refuses_http2.load(Ordering::Relaxed)
        {
            match http2.send(request).await? {
                Http2Outcome::Answered(response) => return Ok(response),
                Http2Outcome::NoHttp2(unsent) => request = unsent,
            }
            self.refuses_http2.store(true, Ordering::Relaxed);
        }
        let response = self.http1.request(request).await?;
        Ok(response.map(UpstreamBody::new))
    }
}

/// All servers that were asked so far: as many as the configuration names.
#[derive(Debug)]
pub(super) struct Origins {
    connectors: Connectors,
    http2_hosts: Vec<String>,
    kept: ArcSwap<Kept>,
}

#[derive(Clone, Debug, Default)]
struct Kept {
    origins: Vec<Arc<Origin>>,
    /// Others are not kept; `None`: all are.
    named: Option<Arc<Vec<Uri>>>,
}

impl Kept {
    fn find(&self, uri: &Uri) -> Option<Arc<Origin>> {
        let mut origins = self.origins.iter();
        origins.find(|origin| origin.serves(uri)).cloned()
    }

    fn is_named(&self, origin: &Origin) -> bool {
        let named = self.named.as_ref();
        named.is_none_or(|named| named.iter().any(|uri| origin.serves(uri)))
    }
}

impl Origins {
    pub(super) fn new(connectors: Connectors, http2_hosts: &[String]) -> Self {
        Self {
            connectors,
            http2_hosts: http2_hosts.to_vec(),
            kept: ArcSwap::default(),
        }
    }

    /// The server of a URL; `None`: the URL names none. A server that the configuration no longer names serves this
    /// request, and its connection is closed afterwards.
    pub(super) fn origin(&self, uri: &Uri) -> Option<Arc<Origin>> {
        if let Some(origin) = self.kept.load().find(uri) {
            return Some(origin);
        }
        let new = Arc::new(Origin::new(uri, &self.connectors, &self.http2_hosts)?);
        self.kept.rcu(|kept| {
            let mut kept = Kept::clone(kept);
            // Another request may have added it meanwhile.
            if kept.is_named(&new) && kept.find(uri).is_none() {
                kept.origins.push(Arc::clone(&new));
            }
            kept
        });
        Some(self.kept.load().find(uri).unwrap_or(new))
    }

    /// Keeps connections to these addresses alone. Requests to others run to their end.
    pub(super) fn keep_only(&self, named: Vec<Uri>) {
        let named = Arc::new(named);
        self.kept.rcu(|kept| {
            let mut kept = Kept::clone(kept);
            kept.named = Some(Arc::clone(&named));
            let mut origins = std::mem::take(&mut kept.origins);
            origins.retain(|origin| kept.is_named(origin));
            kept.origins = origins;
            kept
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &'static str) -> Uri {
        Uri::from_static(text)
    }

    fn origins(http2_hosts: &[String]) -> Origins {
        let connectors = Connectors::new(Duration::from_secs(5), &[]).unwrap();
        Origins::new(connectors, http2_hosts)
    }

    #[tokio::test]
    async fn servers_that_are_no_longer_named_are_not_kept() {
        let origins = origins(&[]);
        let count = || origins.kept.load().origins.len();
        let (old, kept) = (uri("http://old.example/v1"), uri("http://kept.example"));
        origins.origin(&old).unwrap();
        let same = origins.origin(&kept).unwrap();
        assert_eq!(count(), 2, "all are kept until some are named");
        origins.keep_only(vec![uri("http://kept.example/other/path")]);
        assert_eq!(count(), 1);
        assert!(Arc::ptr_eq(&origins.origin(&kept).unwrap(), &same));
        // A request that still has the old configuration is served.
        assert!(origins.origin(&old).is_some());
        assert!(origins.origin(&uri("https://kept.example")).is_some());
        assert_eq!(count(), 1, "another scheme is another server");
        assert!(origins.origin(&uri("/v1/messages")).is_none());
    }

    #[tokio::test]
    async fn http2_is_for_the_named_hosts_behind_tls() {
        let origins = origins(&["Fast.example".to_owned()]);
        for (text, is_http2) in [
            ("https://fast.example/v1", true),
            ("https://fast.example:8443", true),
            ("http://fast.example", false),
            ("https://other.example", false),
        ] {
            let origin = origins.origin(&uri(text)).unwrap();
            assert_eq!(origin.http2.is_some(), is_http2, "{text}");
        }
    }
}
