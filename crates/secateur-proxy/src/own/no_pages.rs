//! What a browser reads where there is no page to show.

use http::{HeaderValue, Response, StatusCode, header};

use crate::response_body::ClientBody;

/// What a browser is told that followed a link to a provider's path.
pub(crate) fn refuse_navigation() -> Response<ClientBody> {
    told(
        StatusCode::FORBIDDEN,
        "This address leads to a provider's API. Programs may use it; a browser does not show it here, because the pages of the proxy have the same address.\nThe pages are at /portal\n",
    )
}

/// What is told at the pages' paths while there are none.
pub(crate) fn pages_are_off(reason: &str) -> Response<ClientBody> {
    told(
        StatusCode::NOT_FOUND,
        &format!("the portal is off: {reason}\n"),
    )
}

/// A few words for people, which no browser takes for anything else.
fn told(status: StatusCode, words: &str) -> Response<ClientBody> {
    let mut response = Response::new(ClientBody::full(words.to_owned()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
