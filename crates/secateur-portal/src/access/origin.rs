//! Which names the portal answers to, and where its forms may come from.
//!
//! Without a token the machine's own browser is the only guard, so a page of another name that
//! resolves to this machine (DNS rebinding) must not be served.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, Uri, header};

/// Names and ports apart: `[::1]:80` is `::1` and `80`.
fn split(authority: &str) -> (&str, Option<&str>) {
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, after) = rest.split_once(']').unwrap_or((rest, ""));
        return (host, after.strip_prefix(':'));
    }
    match authority.rsplit_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    }
}

/// The name that a request was sent to.
pub(crate) fn host<'r>(headers: &'r HeaderMap, uri: &'r Uri) -> Option<&'r str> {
    let named = headers
        .get(header::HOST)
        .and_then(|value| value.to_str().ok());
    named.or_else(|| uri.authority().map(http::uri::Authority::as_str))
}

/// The port that a name carries.
pub(crate) fn port(authority: &str) -> Option<u16> {
    split(authority).1?.parse().ok()
}

fn is_this_machine(authority: &str) -> bool {
    let (host, _) = split(authority);
    let host = host.to_ascii_lowercase();
    host == "localhost"
        || host.ends_with(".localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// Whether a request's name is one that the portal has. `open`: there is no token.
pub(crate) fn is_known_host(host: Option<&str>, open: bool, names: &[String]) -> bool {
    let Some(host) = host else { return false };
    let is_listed = names
        .iter()
        .any(|name| same_authority(name, host) || name.eq_ignore_ascii_case(split(host).0));
    is_listed
        || if open {
            is_this_machine(host)
        } else {
            names.is_empty() || is_this_machine(host)
        }
}

/// Compares names, leaving the ports out that belong to the schemes.
fn same_authority(one: &str, other: &str) -> bool {
    let plain = |authority: &str| {
        let (host, port) = split(authority);
        let port = port.filter(|port| !matches!(*port, "" | "80" | "443"));
        (host.to_ascii_lowercase(), port.map(str::to_owned))
    };
    plain(one) == plain(other)
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
    fn without_a_token_only_names_of_this_machine_are_served() {
        for host in [
            "127.0.0.1:8787",
            "localhost",
            "LOCALHOST:1",
            "[::1]:8787",
            "portal.localhost",
            "127.9.9.9",
        ] {
            assert!(is_known_host(Some(host), true, &[]), "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "192.0.2.1",
            "",
            "[::2]",
        ] {
            assert!(!is_known_host(Some(host), true, &[]), "{host}");
        }
        assert!(!is_known_host(None, true, &[]));
        assert!(is_known_host(
            Some("box.lan:8787"),
            true,
            &["box.lan".into()]
        ));
    }

    #[test]
    fn with_a_token_any_name_is_served_unless_names_are_listed() {
        assert!(is_known_host(Some("box.lan"), false, &[]));
        assert!(!is_known_host(
            Some("other.lan"),
            false,
            &["box.lan".into()]
        ));
        assert!(is_known_host(
            Some("box.lan:443"),
            false,
            &["box.lan".into()]
        ));
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
