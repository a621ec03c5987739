//! Where requests go: base URLs.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::Uri;
use http::uri::Scheme;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use toml::Spanned;

use super::Reader;
use crate::config::error::ConfigError;
use crate::config::file::RawUpstreams;
use crate::config::{Provider, Upstreams, Workload};

impl Reader<'_> {
    /// The certificates of a PEM file.
    pub(super) fn roots(
        &self,
        raw: &RawUpstreams,
    ) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
        let Some(file) = &raw.ca_file else {
            return Ok(Vec::new());
        };
        let (path, text) = self.file(file)?;
        let roots: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
        match roots {
            Ok(roots) if !roots.is_empty() => Ok(roots),
            _ => Err(self.wrong(
                &file.span(),
                format!("{}: expected certificates in PEM form", path.display()),
            )),
        }
    }

    /// The hosts that are offered HTTP/2. Each is the host of an `https` upstream: another name would be a typing error.
    pub(super) fn http2_hosts(
        &self,
        raw: &RawUpstreams,
        workloads: &BTreeMap<String, Arc<Workload>>,
    ) -> Result<Vec<String>, ConfigError> {
        let is_known = |host: &str| {
            let mut urls = workloads.values().flat_map(|named| named.upstreams.all());
            urls.any(|(_, url)| {
                let is_host = url.host().is_some_and(|of| of.eq_ignore_ascii_case(host));
                is_host && url.scheme() == Some(&Scheme::HTTPS)
            })
        };
        let mut hosts = Vec::new();
        for host in &raw.http2_hosts {
            if !is_known(host.get_ref()) {
                let words = format!("no upstream has the URL \"https://{}\"", host.get_ref());
                return Err(self.wrong(&host.span(), words));
            }
            hosts.push(host.get_ref().clone());
        }
        Ok(hosts)
    }

    pub(super) fn upstreams(
        &self,
        raw: &RawUpstreams,
        default: &Upstreams,
    ) -> Result<Upstreams, ConfigError> {
        let mut upstreams = default.clone();
        for provider in Provider::ALL {
            if let Some(url) = raw.of(provider) {
                upstreams.set(provider, self.url(url)?);
            }
        }
        Ok(upstreams)
    }

    pub(super) fn url(&self, url: &Spanned<String>) -> Result<Uri, ConfigError> {
        let wrong = |message: &str| Err(self.wrong(&url.span(), message));
        let Ok(uri) = url.get_ref().parse::<Uri>() else {
            return wrong("expected a URL, like \"https://api.example.com\"");
        };
        if !matches!(uri.scheme_str(), Some("http" | "https"))
            || uri.host().is_none_or(str::is_empty)
        {
            return wrong("expected a URL that starts with http:// or https://");
        }
        if uri
            .authority()
            .is_some_and(|authority| authority.as_str().contains('@'))
        {
            return wrong(
                "a URL must not hold credentials: clients send theirs, or a [[key]] names an environment variable",
            );
        }
        if uri.query().is_some() {
            return wrong("a base URL has no query");
        }
        Ok(uri)
    }
}
