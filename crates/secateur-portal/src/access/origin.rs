//! Where a request comes from, and where forms may come from.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, Uri};
use secateur_proxy::own_names::{same_authority, split_authority};

/// The port that a name carries.
pub(crate) fn port(authority: &str) -> Option<u16> {
    split_authority(authority).1?.parse().ok()
}

/// Whether a form was sent by one of the portal's own pages, as far as the browser tells. Programs
/// tell nothing; they still need the form's key.
pub(crate) fn is_own_form(headers: &HeaderMap, host: Option<&str>, names: &[String]) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if text("sec-fetch-site").is_some_and(|site| site != "same-origin") {
        return false;
    }
    let Some(origin) = text("origin") else {
        return true;
    };
    let Some((_, origin)) = origin.split_once("://") else {
        // `null`: a sandboxed or otherwise nameless page.
        return false;
    };
    host.is_some_and(|host| same_authority(origin, host))
        || names.iter().any(|name| same_authority(origin, name))
}

/// The address that a request really came from, and whether it came over TLS. Only configured
/// proxies are believed.
pub(crate) fn client(
    headers: &HeaderMap,
    uri: &Uri,
    peer: Option<SocketAddr>,
    proxies: &[IpAddr],
) -> (Option<IpAddr>, bool) {
    let peer = peer.map(|peer| peer.ip().to_canonical());
    let is_direct_tls = uri.scheme_str() == Some("https");
    if !peer.is_some_and(|peer| proxies.contains(&peer)) {
        return (peer, is_direct_tls);
    }
    let text = |name: &str| {
        headers
            .get_all(name)
            .iter()
            .next_back()
            .and_then(|value| value.to_str().ok())
    };
    let is_tls =
        text("x-forwarded-proto").is_some_and(|scheme| scheme.trim().eq_ignore_ascii_case("https"));
    let told =
        text("x-forwarded-for").and_then(|list| list.rsplit(',').next()?.trim().parse().ok());
    (told.or(peer), is_tls || is_direct_tls)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn forms_of_other_origins_are_refused() {
        let host = Some("127.0.0.1:8787");
        let is_own = |pairs: &[(&'static str, &str)]| {
            is_own_form(&headers(pairs), host, &["portal.example".into()])
        };
        assert!(is_own(&[]));
        assert!(is_own(&[
            ("origin", "http://127.0.0.1:8787"),
            ("sec-fetch-site", "same-origin")
        ]));
        assert!(is_own(&[("origin", "https://portal.example")]));
        assert!(!is_own(&[("origin", "http://127.0.0.1:9999")]));
        assert!(!is_own(&[("origin", "http://evil.example")]));
        assert!(!is_own(&[("origin", "null")]));
        assert!(!is_own(&[("sec-fetch-site", "cross-site")]));
        assert!(!is_own(&[("sec-fetch-site", "same-site")]));
        assert!(!is_own(&[
            ("origin", "http://127.0.0.1:8787"),
            ("sec-fetch-site", "cross-site")
        ]));
    }

    #[test]
    fn only_configured_proxies_are_believed() {
        let told = headers(&[
            ("x-forwarded-proto", "https"),
            ("x-forwarded-for", "203.0.113.7, 198.51.100.2"),
        ]);
        let peer = Some("10.0.0.1:5555".parse().unwrap());
        let uri = Uri::from_static("/portal");
        let proxy: IpAddr = "10.0.0.1".parse().unwrap();
        assert_eq!(client(&told, &uri, peer, &[]), (Some(proxy), false));
        assert_eq!(
            client(&told, &uri, peer, &[proxy]),
            (Some("198.51.100.2".parse().unwrap()), true)
        );
        assert_eq!(client(&told, &uri, None, &[proxy]), (None, false));
    }
}
