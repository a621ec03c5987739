//! New connections: name, TCP, TLS, and the protocol that both sides speak.

use std::sync::Arc;
use std::time::Duration;

use hyper::client::conn::{http1, http2};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::{Connection as _, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tower_service::Service;

use super::http1::Connection;
use super::lane::{Found, Lane};
use super::{ConnectFailure, SendError};

/// The bytes of a connection.
pub(super) type Wire = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Opens connections.
#[derive(Debug)]
pub(super) struct Connector {
    https: HttpsConnector<HttpConnector>,
    timeout: Duration,
}

impl Connector {
    pub(super) fn new(
        timeout: Duration,
        extra_roots: &[CertificateDer<'static>],
    ) -> std::io::Result<Self> {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(Duration::from_secs(60)));
        // Of several addresses each gets a part of it.
        http.set_connect_timeout(Some(timeout));
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls(extra_roots)?)
            .https_or_http()
            .enable_http1()
            .enable_http2()
            .wrap_connector(http);
        Ok(Self { https, timeout })
    }

    pub(super) async fn open(&self, lane: &Lane) -> Result<Found, SendError> {
        let opened = tokio::time::timeout(self.timeout, self.shake_hands(lane)).await;
        let failure = match opened {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(error)) => {
                // Those of TCP and of names are hyper-util's own; bare ones come from the TLS handshake alone.
                let in_handshake = error.is::<std::io::Error>();
                ConnectFailure::new(lane.host_name(), &*error, in_handshake)
            }
            Err(_) => ConnectFailure::timeout(lane.host_name()),
        };
        Err(SendError::Connect(Box::new(failure)))
    }

    async fn shake_hands(
        &self,
        lane: &Lane,
    ) -> Result<Found, Box<dyn std::error::Error + Send + Sync>> {
        let mut https = self.https.clone();
        std::future::poll_fn(|context| https.poll_ready(context)).await?;
        let wire = https.call(lane.uri("/")?).await?;
        if !wire.connected().is_negotiated_h2() {
            let (sender, connection) = http1::handshake(wire).await?;
            return Ok(Found::Own(Box::new(Connection::new(sender, connection))));
        }
        let (sender, connection) = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .adaptive_window(true)
            .keep_alive_interval(Duration::from_secs(30))
            .keep_alive_timeout(Duration::from_secs(20))
            .handshake(wire)
            .await?;
        // It ends when the last who may send on it are gone, or with its wire.
        tokio::spawn(connection);
        Ok(Found::Shared(sender))
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
