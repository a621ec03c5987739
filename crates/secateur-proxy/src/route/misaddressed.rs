//! Requests that no server should answer as if nothing was wrong with them.

use http::{HeaderMap, Method, Request, Version, header};

use crate::refusal::Refusal;

/// Why a request is refused whatever it asks for.
pub(crate) fn misaddressed<B>(request: &Request<B>) -> Option<Refusal> {
    let headers = request.headers();
    if !names_one_host(request, headers) {
        return Some(Refusal::BadHost);
    }
    // Clients that prefer a WebSocket fall back to plain requests when they are told so at once.
    let is_websocket = request.method() == Method::GET && is_websocket(headers);
    is_websocket.then_some(Refusal::NoWebSocket)
}

/// RFC 9112, 3.2: no more than one `host`, and one in HTTP/1.1. Parsers disagree on which of two counts, and so would the
/// rules that go by it. HTTP/1.0 may have none (health checks of load balancers do), HTTP/2 has `:authority`.
fn names_one_host<B>(request: &Request<B>, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let authority = request.uri().authority();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) if request.version() == Version::HTTP_2 => {
            authority.is_none_or(|authority| {
                host.as_bytes()
                    .eq_ignore_ascii_case(authority.as_str().as_bytes())
            })
        }
        (Some(_), None) => true,
        (None, _) => request.version() < Version::HTTP_11 || authority.is_some(),
        _ => false,
    }
}

fn is_websocket(headers: &HeaderMap) -> bool {
    headers.get_all(header::UPGRADE).iter().any(|value| {
        let protocols = value.to_str().unwrap_or_default().split(',');
        let mut names = protocols.map(|protocol| protocol.split('/').next().unwrap_or_default());
        names.any(|name| name.trim().eq_ignore_ascii_case("websocket"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(version: Version, uri: &str, headers: &[(&str, &str)]) -> Option<Refusal> {
        let mut request = Request::builder().version(version).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        misaddressed(&request.body(()).unwrap())
    }

    #[test]
    fn a_request_names_one_host() {
        let (host, other) = (("host", "a"), ("host", "b"));
        for (version, uri, headers, is_good) in [
            (Version::HTTP_11, "/x", &[host][..], true),
            (Version::HTTP_11, "/x", &[], false),
            (Version::HTTP_11, "/x", &[host, host], false),
            (Version::HTTP_11, "/x", &[host, other], false),
            (Version::HTTP_10, "/x", &[], true),
            (Version::HTTP_10, "/x", &[host, other], false),
            (Version::HTTP_2, "http://a/x", &[], true),
            (Version::HTTP_2, "http://a/x", &[("host", "A")], true),
            (Version::HTTP_2, "http://a/x", &[other], false),
            (Version::HTTP_2, "/x", &[], false),
        ] {
            let refused = refusal(version, uri, headers);
            let expected = (!is_good).then_some(Refusal::BadHost);
            assert_eq!(refused, expected, "{version:?} {uri} {headers:?}");
        }
    }

    #[test]
    fn websockets_are_told_from_other_upgrades() {
        let asks = |upgrade| {
            refusal(
                Version::HTTP_11,
                "/v1/responses",
                &[("host", "a"), ("upgrade", upgrade)],
            )
        };
        for upgrade in ["websocket", "WebSocket", "h2c, websocket/13"] {
            assert_eq!(asks(upgrade), Some(Refusal::NoWebSocket), "{upgrade}");
        }
        assert_eq!(asks("h2c"), None);
    }
}
