//! Names that this machine has for itself.
//!
//! What is open on loopback without a key is guarded by the machine's own browser alone, so a page of another name that
//! resolves to this machine (DNS rebinding) must not read it.

use std::net::IpAddr;

use http::{HeaderMap, Uri, header};

/// Names and ports apart: `[::1]:80` is `::1` and `80`.
#[must_use]
pub fn split_authority(authority: &str) -> (&str, Option<&str>) {
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
#[must_use]
pub fn host_of<'r>(headers: &'r HeaderMap, uri: &'r Uri) -> Option<&'r str> {
    let named = headers
        .get(header::HOST)
        .and_then(|value| value.to_str().ok());
    named.or_else(|| uri.authority().map(http::uri::Authority::as_str))
}

fn is_this_machine(authority: &str) -> bool {
    let (host, _) = split_authority(authority);
    let host = host.to_ascii_lowercase();
    host == "localhost"
        || host.ends_with(".localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// Compares names, leaving the ports out that belong to the schemes.
#[must_use]
pub fn same_authority(one: &str, other: &str) -> bool {
    let plain = |authority: &str| {
        let (host, port) = split_authority(authority);
        let port = port.filter(|port| !matches!(*port, "" | "80" | "443"));
        (host.to_ascii_lowercase(), port.map(str::to_owned))
    };
    plain(one) == plain(other)
}

/// Whether a request's name is one of this machine's, or one of `names`. `open`: there is no token; with one and without
/// `names`, every name will do.
#[must_use]
pub fn is_known_host(host: Option<&str>, open: bool, names: &[String]) -> bool {
    let Some(host) = host else { return false };
    let is_listed = names.iter().any(|name| {
        same_authority(name, host) || name.eq_ignore_ascii_case(split_authority(host).0)
    });
    is_listed || is_this_machine(host) || (!open && names.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
