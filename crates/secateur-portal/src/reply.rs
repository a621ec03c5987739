//! Responses, all with the same guards: no script, no framing, no caching, no guessing of types.

use askama::Template;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};

/// What a page may do: load its style sheet and send its forms home. There is no script.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The guards. The referrer stays on this origin: with `no-referrer` browsers also hide the origin
/// of the portal's own forms, which is checked.
const GUARDS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "same-origin"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

fn reply(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in GUARDS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A page.
pub(crate) fn page(status: StatusCode, page: &impl Template) -> Response<Bytes> {
    match page.render() {
        Ok(html) => reply(status, "text/html; charset=utf-8", html),
        Err(_) => reply(
            StatusCode::INTERNAL_SERVER_ERROR,
            "text/plain; charset=utf-8",
            "This page could not be made.\n",
        ),
    }
}

/// The style sheet, under a name that changes with it.
pub(crate) fn style(css: &'static str) -> Response<Bytes> {
    let mut response = reply(StatusCode::OK, "text/css; charset=utf-8", css);
    let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, forever);
    response
}

/// Go there, with GET.
pub(crate) fn see_other(path: &str) -> Response<Bytes> {
    let mut response = reply(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", "");
    let path = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/portal"));
    response.headers_mut().insert(header::LOCATION, path);
    response
}

/// Adds a header whose value was made here.
pub(crate) fn with(
    mut response: Response<Bytes>,
    name: HeaderName,
    value: &str,
) -> Response<Bytes> {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().append(name, value);
    }
    response
}
