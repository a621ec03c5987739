//! New connections: DNS, TCP and TLS within one timeout.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tower_service::Service;

use super::connect_failure::ConnectFailure;

/// The bytes of a connection.
pub(super) type Wire = MaybeHttpsStream<TokioIo<TcpStream>>;

/// The two ways to connect.
#[derive(Clone, Debug)]
pub(super) struct Connectors {
    /// Offers HTTP/1.1 alone.
    pub(super) http1: Connector,
    /// Offers HTTP/2 first.
    pub(super) http2: Connector,
}

impl Connectors {
    /// # Errors
    /// There are no root certificates.
    pub(super) fn new(
        timeout: Duration,
        extra_roots: &[CertificateDer<'static>],
    ) -> std::io::Result<Self> {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(Duration::from_secs(60)));
        // Divided among the addresses of a name.
        http.set_connect_timeout(Some(timeout));
        let tls = tls(extra_roots)?;
        let https = |tls| {
            HttpsConnectorBuilder::new()
                .with_tls_config(tls)
                .https_or_http()
                .enable_http1()
        };
        let connector = |https| Connector { https, timeout };
        Ok(Self {
            http1: connector(https(tls.clone()).wrap_connector(http.clone())),
            http2: connector(https(tls).enable_http2().wrap_connector(http)),
        })
    }
}

/// Opens connections, and says why if it cannot.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    https: HttpsConnector<HttpConnector>,
    timeout: Duration,
}

impl Service<Uri> for Connector {
    type Response = Wire;
    type Error = ConnectFailure;
    type Future = Pin<Box<dyn Future<Output = Result<Wire, ConnectFailure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectFailure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let (mut https, timeout) = (self.https.clone(), self.timeout);
        Box::pin(async move {
            let host = host_name(&to);
            let connect = async {
                std::future::poll_fn(|context| https.poll_ready(context)).await?;
                https.call(to).await
            };
            match tokio::time::timeout(timeout, connect).await {
                Ok(Ok(wire)) => Ok(wire),
                Ok(Err(error)) => {
                    // Errors of DNS and TCP have a type of hyper-util's; bare ones come from the TLS handshake.
                    let in_handshake = error.is::<std::io::Error>();
                    Err(ConnectFailure::new(&host, &*error, in_handshake))
                }
                Err(_) => Err(ConnectFailure::timeout(&host)),
            }
        })
    }
}

/// The server's name for people, with its port unless that is the scheme's default.
fn host_name(uri: &Uri) -> String {
    let host = uri.host().unwrap_or_default();
    let default = match uri.scheme() == Some(&Scheme::HTTPS) {
        true => 443,
        false => 80,
    };
    match uri.port_u16() {
        Some(port) if port != default => format!("{host}:{port}"),
        _ => host.to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_a_port_unless_it_is_the_default() {
        for (uri, host) in [
            ("http://example.org/v1", "example.org"),
            ("http://example.org:80", "example.org"),
            ("https://example.org:443/", "example.org"),
            ("https://example.org:80/", "example.org:80"),
            ("http://example.org:443/", "example.org:443"),
            ("http://[::1]:9000/", "[::1]:9000"),
        ] {
            assert_eq!(host_name(&Uri::from_static(uri)), host);
        }
    }
}
