//! One request to the portal, looked at once: who asks, for what, with which form.

use std::net::IpAddr;

use bytes::Bytes;
use http::{HeaderMap, Method, Uri, header};
use secateur_ledger::Millis;

use crate::access::Session;
use crate::done::Done;

/// What a visitor sent and who they are.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) now: Millis,
    pub(crate) session: Session,
    /// Whether the session is new, so that its cookie must be set.
    pub(crate) is_new: bool,
    /// Where they come from, where that is known.
    pub(crate) peer: Option<IpAddr>,
    pub(crate) is_tls: bool,
    pub(crate) cookie_name: String,
    /// What their last form did, not told yet.
    pub(crate) done: Option<Done>,
}

impl Visit {
    /// The path without a trailing slash.
    pub(crate) fn path(&self) -> &str {
        let path = self.uri.path();
        path.strip_suffix('/')
            .filter(|path| !path.is_empty())
            .unwrap_or(path)
    }

    pub(crate) fn query(&self) -> &str {
        self.uri.query().unwrap_or_default()
    }

    /// A value of the query.
    pub(crate) fn asked(&self, name: &str) -> Option<String> {
        value(self.query().as_bytes(), name)
    }

    /// A field of the form; empty where there is none.
    pub(crate) fn field(&self, name: &str) -> String {
        value(&self.body, name).unwrap_or_default()
    }

    pub(crate) fn is_get(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD)
    }
}

fn value(pairs: &[u8], name: &str) -> Option<String> {
    form_urlencoded::parse(pairs)
        .find(|(found, _)| found == name)
        .map(|(_, value)| value.into_owned())
}

/// The cookies of this name. A browser may send several with different paths.
pub(crate) fn cookies<'h>(headers: &'h HeaderMap, name: &'h str) -> impl Iterator<Item = &'h str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(move |pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

/// Where the session's cookie is sent: to the pages and to nothing else, so that it never travels
/// to a provider with a request.
pub(crate) const COOKIE_PATHS: [&str; 2] = ["/portal", "/optimize"];

/// The lines that set a cookie.
pub(crate) fn cookie_lines(name: &str, value: &str, seconds: i64, is_tls: bool) -> [String; 2] {
    let secure = if is_tls { "; Secure" } else { "" };
    COOKIE_PATHS.map(|path| {
        format!("{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
    })
}

/// Names differ by port, because cookies do not: two portals on one machine keep apart.
pub(crate) fn cookie_name(port: Option<u16>, is_tls: bool) -> String {
    let prefix = if is_tls { "__Secure-" } else { "" };
    let port = port.map_or(String::new(), |port| format!("-{port}"));
    format!("{prefix}secateur-portal{port}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_found_by_their_whole_name() {
        let mut headers = HeaderMap::new();
        headers.append(
            header::COOKIE,
            "a=1; secateur-portal-1=x; secateur-portal=y"
                .parse()
                .unwrap(),
        );
        headers.append(header::COOKIE, "secateur-portal=z".parse().unwrap());
        let found: Vec<&str> = cookies(&headers, "secateur-portal").collect();
        assert_eq!(found, ["y", "z"]);
    }

    #[test]
    fn a_cookie_is_hidden_from_scripts_and_other_sites() {
        for line in cookie_lines(&cookie_name(Some(1), true), "v", 60, true) {
            assert!(line.starts_with("__Secure-secateur-portal-1=v; Path=/"));
            assert!(
                line.contains("HttpOnly")
                    && line.contains("SameSite=Strict")
                    && line.ends_with("; Secure")
            );
        }
        assert!(!cookie_lines("n", "v", 60, false)[0].contains("; Secure"));
    }
}
