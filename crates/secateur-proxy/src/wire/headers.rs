//! Which headers cross the proxy.
//!
//! **Invariant:** nothing that belongs to one connection crosses: the hop-by-hop headers of
//! RFC 9110 section 7.6.1, whatever `connection` names, and the framing of the body, which each side
//! writes itself from the body that it sends.

use std::cell::Cell;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// The header that picks the workload.
pub(crate) const WORKLOAD_HEADER: HeaderName = HeaderName::from_static("x-secateur-workload");

/// The header that passes one request through untouched.
pub(crate) const BYPASS_HEADER: HeaderName = HeaderName::from_static("x-secateur-bypass");

/// Where clients of a provider put their credential, besides `authorization`.
pub(crate) const GOOGLE_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");
pub(crate) const ANTHROPIC_KEY: HeaderName = HeaderName::from_static("x-api-key");
pub(crate) const AZURE_KEY: HeaderName = HeaderName::from_static("api-key");

fn is_hop_by_hop(name: &str) -> bool {
    matches!(
        name,
        "connection"
            | "keep-alive"
            | "proxy-connection"
            | "proxy-authenticate"
            | "proxy-authorization"
            | "te"
            | "transfer-encoding"
            | "upgrade"
    )
}

/// Encodings of responses that usage can be read from on the side.
const READABLE: [&str; 4] = ["gzip", "deflate", "br", "identity"];

/// Takes out what is hop-by-hop, what `connection` names, and what else must stay behind.
fn strip(headers: &mut HeaderMap, stays: impl Fn(&str) -> bool) {
    let mut gone: Vec<HeaderName> = headers
        .keys()
        .filter(|name| is_hop_by_hop(name.as_str()) || stays(name.as_str()))
        .cloned()
        .collect();
    if gone.contains(&header::CONNECTION) {
        let named = headers.get_all(header::CONNECTION).iter();
        gone.extend(
            named
                .filter_map(|value| value.to_str().ok())
                .flat_map(|value| value.split(','))
                .filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok()),
        );
    }
    for name in gone {
        headers.remove(name);
    }
}

/// A client's headers, ready for the upstream.
pub(crate) fn to_upstream(headers: &mut HeaderMap, reads_usage: bool) {
    strip(headers, |name| {
        matches!(name, "host" | "content-length" | "expect") || name.starts_with("x-secateur-")
    });
    if headers.contains_key(header::COOKIE) {
        drop_own_cookies(headers);
    }
    if reads_usage {
        keep_readable_encodings(headers);
    }
}

/// The sessions of the pages, which are for nobody but them.
const OWN_COOKIES: &str = "secateur-portal";

/// Takes the cookies of the pages out; those of others stay as they came.
fn drop_own_cookies(headers: &mut HeaderMap) {
    let is_own = |pair: &str| {
        let name = pair.split('=').next().unwrap_or_default();
        name.contains(OWN_COOKIES)
    };
    let lines: Vec<HeaderValue> = headers.get_all(header::COOKIE).iter().cloned().collect();
    headers.remove(header::COOKIE);
    for line in lines {
        let text = String::from_utf8_lossy(line.as_bytes());
        if !text.split(';').any(is_own) {
            headers.append(header::COOKIE, line);
            continue;
        }
        let kept: Vec<&str> = text
            .split(';')
            .map(str::trim)
            .filter(|pair| !pair.is_empty() && !is_own(pair))
            .collect();
        if let Ok(line) = HeaderValue::from_str(&kept.join("; "))
            && !kept.is_empty()
        {
            headers.append(header::COOKIE, line);
        }
    }
}

/// Adds a value to the list of `anthropic-beta`, in one header.
pub(crate) fn add_beta(headers: &mut HeaderMap, beta: &'static str) {
    const NAME: HeaderName = HeaderName::from_static("anthropic-beta");
    let known = headers
        .get_all(NAME)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut list: Vec<&str> = known
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .collect();
    if !list.contains(&beta) {
        list.push(beta);
    }
    list.retain(|value| !value.is_empty());
    if let Ok(value) = HeaderValue::from_str(&list.join(",")) {
        headers.insert(NAME, value);
    }
}

/// An upstream's headers, ready for the client. What only the proxy may say is not the upstream's to say.
pub(crate) fn to_client(headers: &mut HeaderMap) {
    // Noted on the way, so that responses without cookies pay for no second look.
    let has_cookies = Cell::new(false);
    strip(headers, |name| match name.as_bytes() {
        [b'x', b'-', ..] => name.starts_with("x-secateur-") || name.starts_with("x-tessera-"),
        b"set-cookie" => {
            has_cookies.set(true);
            false
        }
        _ => false,
    });
    if has_cookies.get() {
        drop_own_set_cookies(headers);
    }
}

/// Takes out cookies that would be sessions of the pages.
fn drop_own_set_cookies(headers: &mut HeaderMap) {
    let is_own = |value: &HeaderValue| {
        let value = String::from_utf8_lossy(value.as_bytes());
        let name = value.split('=').next().unwrap_or_default();
        name.to_ascii_lowercase().contains(OWN_COOKIES)
    };
    if !headers.get_all(header::SET_COOKIE).iter().any(is_own) {
        return;
    }
    let all: Vec<HeaderValue> = headers
        .get_all(header::SET_COOKIE)
        .iter()
        .cloned()
        .collect();
    headers.remove(header::SET_COOKIE);
    for value in all.into_iter().filter(|value| !is_own(value)) {
        headers.append(header::SET_COOKIE, value);
    }
}

/// Takes encodings out of `accept-encoding` that could not be read on the side. A client that
/// accepts none of the others gets a plain response.
fn keep_readable_encodings(headers: &mut HeaderMap) {
    let offered: Vec<&str> = headers
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .collect();
    if offered.is_empty() {
        return;
    }
    let is_readable = |offer: &&&str| {
        let name = offer.split(';').next().unwrap_or_default().trim();
        READABLE
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
    };
    let kept: Vec<&str> = offered.iter().filter(is_readable).copied().collect();
    if kept.len() == offered.len() {
        return;
    }
    let kept = if kept.is_empty() {
        "identity".to_owned()
    } else {
        kept.join(", ")
    };
    if let Ok(value) = HeaderValue::from_str(&kept) {
        headers.insert(header::ACCEPT_ENCODING, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, HeaderValue::from_static(value));
        }
        map
    }

    #[test]
    fn connection_headers_and_whatever_connection_names_stay_behind() {
        let mut headers = map(&[
            ("connection", "close, X-Evil"),
            ("connection", "x-other"),
            ("x-evil", "1"),
            ("x-other", "1"),
            ("transfer-encoding", "chunked"),
            ("te", "trailers"),
            ("keep-alive", "5"),
            ("host", "proxy"),
            ("content-length", "5"),
            ("x-secateur-workload", "a"),
            ("authorization", "Bearer k"),
            ("x-stainless-lang", "python"),
        ]);
        to_upstream(&mut headers, true);
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["authorization", "x-stainless-lang"]);
    }

    #[test]
    fn cookies_of_the_pages_stay_behind_and_those_of_others_pass() {
        let mut headers = map(&[
            (
                "cookie",
                "a=1; secateur-portal-8787=x;  __Secure-secateur-portal=y; b=secateur-portal",
            ),
            ("cookie", "secateur-portal=z"),
            ("cookie", "c=\"3\";d"),
        ]);
        to_upstream(&mut headers, false);
        let passed: Vec<&HeaderValue> = headers.get_all("cookie").iter().collect();
        assert_eq!(passed, ["a=1; b=secateur-portal", "c=\"3\";d"]);
    }

    #[test]
    fn an_upstream_cannot_speak_for_the_proxy() {
        let mut headers = map(&[
            ("x-secateur-request-id", "forged"),
            ("x-secateur-anything", "forged"),
            ("x-tessera-context-pruned", "turns_removed=9"),
            ("set-cookie", "secateur-portal-8787=x; Path=/"),
            ("set-cookie", "a=secateur-portal; Path=/"),
            ("set-cookie", "__Host-Secateur-Portal=y"),
            ("x-request-id", "kept"),
        ]);
        to_client(&mut headers);
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["set-cookie", "x-request-id"]);
        let cookies: Vec<&HeaderValue> = headers.get_all("set-cookie").iter().collect();
        assert_eq!(cookies, ["a=secateur-portal; Path=/"]);
    }

    #[test]
    fn encodings_that_cannot_be_read_are_not_offered() {
        let offer = |value: &'static str| {
            let mut headers = map(&[("accept-encoding", value)]);
            keep_readable_encodings(&mut headers);
            headers["accept-encoding"].to_str().unwrap().to_owned()
        };
        assert_eq!(offer("gzip, deflate, br, zstd"), "gzip, deflate, br");
        assert_eq!(offer("gzip;q=1.0,br"), "gzip;q=1.0,br");
        assert_eq!(offer("zstd, *"), "identity");
    }
}
