//! The client side: one pool of connections for all upstreams, system roots, HTTP/1.1 and HTTP/2.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, ResponseFuture};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use crate::request_body::{Guarded, RequestBodyError};

/// A body on its way to an upstream.
#[derive(Debug)]
pub(crate) enum OutBody {
    /// A body that is there.
    Full(Full<Bytes>),
    /// A body that is still coming in.
    Streamed(Box<Guarded>),
}

impl Body for OutBody {
    type Data = Bytes;
    type Error = RequestBodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RequestBodyError>>> {
        match self.get_mut() {
            Self::Full(body) => Pin::new(body)
                .poll_frame(context)
                .map_err(|never| match never {}),
            Self::Streamed(body) => Pin::new(body.as_mut()).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(body) => body.is_end_stream(),
            Self::Streamed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(body) => body.size_hint(),
            Self::Streamed(body) => body.size_hint(),
        }
    }
}

/// See the module. Cheap to clone.
#[derive(Clone)]
pub(crate) struct UpstreamClient(Client<HttpsConnector<HttpConnector>, OutBody>);

impl std::fmt::Debug for UpstreamClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UpstreamClient")
    }
}

impl UpstreamClient {
    /// # Errors
    /// The system's root certificates could not be read.
    pub(crate) fn new(
        connect_timeout: Duration,
        extra_roots: &[CertificateDer<'static>],
    ) -> std::io::Result<Self> {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(Duration::from_secs(60)));
        http.set_connect_timeout(Some(connect_timeout));
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls(extra_roots)?)
            .https_or_http()
            .enable_http1()
            .enable_http2()
            .wrap_connector(http);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(60))
            .pool_max_idle_per_host(256)
            .http2_adaptive_window(true)
            .http2_keep_alive_interval(Duration::from_secs(30))
            .http2_keep_alive_timeout(Duration::from_secs(20))
            .build(https);
        Ok(Self(client))
    }

    pub(crate) fn send(&self, request: Request<OutBody>) -> ResponseFuture {
        self.0.request(request)
    }
}

/// The system's roots and these.
fn tls(extra_roots: &[CertificateDer<'static>]) -> std::io::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    // Some systems list certificates that no library can read; the others count.
    let system = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(system.certs);
    for root in extra_roots {
        roots.add(root.clone()).map_err(std::io::Error::other)?;
    }
    if roots.is_empty() {
        return Err(std::io::Error::other("there are none"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(std::io::Error::other)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
