//! TLS between the servers of a run and their upstream. The certificates are made when the run begins and are trusted
//! by nobody else.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, client};

use crate::Outcome;

/// Where the upstream listens, and what its certificate names.
const ADDRESS: Ipv4Addr = Ipv4Addr::LOCALHOST;

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// A certificate authority, whose certificate is written to `ca_file`, and a server with a certificate signed by it.
pub(crate) fn new_server(ca_file: &Path) -> Outcome<TlsAcceptor> {
    let ca_key = KeyPair::generate()?;
    let mut ca = CertificateParams::new(Vec::new())?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    std::fs::write(ca_file, ca.self_signed(&ca_key)?.pem())?;
    let key = KeyPair::generate()?;
    let leaf = CertificateParams::new(vec![ADDRESS.to_string()])?;
    let certificate = leaf.signed_by(&key, &Issuer::new(ca, ca_key))?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// A client that trusts this authority alone.
pub(crate) fn trusting(ca_file: &Path) -> Outcome<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca_file)?)?;
    let config =
        ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// A connection to the upstream, once both sides have agreed on keys.
pub(crate) async fn connect(
    config: &Arc<ClientConfig>,
    stream: TcpStream,
) -> Outcome<client::TlsStream<TcpStream>> {
    let connector = TlsConnector::from(Arc::clone(config));
    let name = ServerName::IpAddress(ADDRESS.into());
    Ok(connector.connect(name, stream).await?)
}
