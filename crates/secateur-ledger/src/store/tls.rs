//! TLS to PostgreSQL: what an address asks for, and how the certificate is checked.
//!
//! **Invariant:** an address that asks for TLS is never reached without it, and the server's certificate is
//! always checked: there is no mode that encrypts without knowing for whom.

use std::path::Path;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The name of the protocol, for servers that want TLS from the first byte.
const ALPN: &[u8] = b"postgresql";

/// Whose certificates count where an address names no file.
const SYSTEM: &str = "system";

/// What of the certificate must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// Somebody trusted signed it.
    Signer,
    /// And it is for the host that the address names.
    SignerAndName,
}

/// An address without the parameters about TLS, and what they ask for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) url: String,
    pub(super) tls: Option<Tls>,
}

impl Asked {
    /// Takes `sslmode` and `sslrootcert` out of an address; else says what is wrong with them.
    pub(super) fn of(url: &str) -> Result<Self, String> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut roots, mut rest) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            match key {
                "sslmode" => mode = Some(value),
                "sslrootcert" => roots = Some(percent_decode_str(value).decode_utf8_lossy()),
                _ => rest.push(pair),
            }
        }
        let check = match mode {
            None | Some("disable") => None,
            Some("require" | "verify-full") => Some(Check::SignerAndName),
            Some("verify-ca") => Some(Check::Signer),
            Some("allow" | "prefer") => {
                return Err(
                    "sslmode=allow and prefer would go without TLS where the server wants \
                    it so: write require, verify-full or disable"
                        .into(),
                );
            }
            Some(other) => return Err(format!("sslmode={other} is not known")),
        };
        if check.is_none() && roots.is_some() {
            return Err("sslrootcert needs sslmode=verify-full (or require, verify-ca)".into());
        }
        let tls = check.map(|check| Tls::new(check, roots.as_deref()));
        let url = if rest.is_empty() {
            base.to_owned()
        } else {
            format!("{base}?{}", rest.join("&"))
        };
        Ok(Self {
            url,
            tls: tls.transpose()?,
        })
    }
}

/// How to speak TLS to a server. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Tls(MakeRustlsConnect);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    fn new(check: Check, roots: Option<&str>) -> Result<Self, String> {
        let roots = match roots {
            None | Some(SYSTEM) => system_roots()?,
            Some(path) => roots_of(Path::new(path))?,
        };
        let provider = Arc::new(ring::default_provider());
        let verifier = verifier(check, roots, &provider)?;
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(Self(MakeRustlsConnect::new(config)))
    }

    pub(super) fn connector(&self) -> MakeRustlsConnect {
        self.0.clone()
    }
}

fn system_roots() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    // Some systems list certificates that no library can read; the others count.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err("the system has no root certificates: name a file with sslrootcert".into());
    }
    Ok(roots)
}

fn roots_of(path: &Path) -> Result<RootCertStore, String> {
    let wrong = |reason: String| format!("sslrootcert {}: {reason}", path.display());
    let text = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_slice_iter(&text) {
        let root = root.map_err(|error| wrong(error.to_string()))?;
        roots.add(root).map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(wrong("holds no certificate in PEM form".into()));
    }
    Ok(roots)
}

fn verifier(
    check: Check,
    roots: RootCertStore,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, String> {
    let strict = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| error.to_string())?;
    Ok(match check {
        Check::SignerAndName => strict,
        Check::Signer => Arc::new(AnyName(strict)),
    })
}

/// Wants a trusted signer and takes any name. The signer is checked before the name.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let checked =
            self.0
                .verify_server_cert(end_entity, intermediates, name, ocsp_response, now);
        match checked {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, cert, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_whether_it_wants_tls_and_nothing_in_between() {
        let plain = |url: &str| Asked::of(url).unwrap();
        let asked = plain("postgres://h/d");
        assert!(asked.tls.is_none() && asked.url == "postgres://h/d");
        let asked = plain("postgres://h/d?sslmode=disable&connect_timeout=3");
        assert!(asked.tls.is_none());
        assert_eq!(asked.url, "postgres://h/d?connect_timeout=3");
        for (query, part) in [
            ("sslmode=prefer", "go without TLS"),
            ("sslmode=allow", "go without TLS"),
            ("sslmode=Require", "not known"),
            ("sslmode=", "not known"),
            ("sslrootcert=ca.pem", "sslmode"),
            ("sslmode=disable&sslrootcert=ca.pem", "sslmode"),
            ("sslmode=require&sslrootcert=no%20such.pem", "no such.pem"),
            (
                "sslmode=verify-full&sslrootcert=Cargo.toml",
                "no certificate",
            ),
        ] {
            let error = Asked::of(&format!("postgres://h/d?{query}")).unwrap_err();
            assert!(error.contains(part), "{query}: {error}");
        }
    }
}
