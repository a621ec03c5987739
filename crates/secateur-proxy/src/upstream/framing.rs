//! Responses that hyper accepts and that are not what they say.

use http::{HeaderMap, Response, header};

/// Why a response must not be passed on. A client that believes one of two lengths takes a part of the body for the
/// whole of it (RFC 9112, 6.3), and nobody asked for another protocol.
pub(super) fn error_of<B>(response: &Response<B>) -> Option<&'static str> {
    if response.status().is_informational() {
        return Some("it switches to another protocol, which nobody asked for");
    }
    let headers = response.headers();
    if !headers.contains_key(header::TRANSFER_ENCODING) {
        return None;
    }
    if headers.contains_key(header::CONTENT_LENGTH) {
        return Some("it has both content-length and transfer-encoding");
    }
    (!is_chunked(headers)).then_some("it has a transfer-encoding other than chunked")
}

fn is_chunked(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::TRANSFER_ENCODING).iter();
    let first = values.next().map(|value| value.as_bytes().trim_ascii());
    first.is_some_and(|value| value.eq_ignore_ascii_case(b"chunked")) && values.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_one_length() {
        for (headers, is_good) in [
            (&[("content-length", "5")][..], true),
            (&[("transfer-encoding", "Chunked")], true),
            (&[], true),
            (
                &[("transfer-encoding", "chunked"), ("content-length", "5")],
                false,
            ),
            (&[("transfer-encoding", "gzip, chunked")], false),
            (
                &[
                    ("transfer-encoding", "chunked"),
                    ("transfer-encoding", "chunked"),
                ],
                false,
            ),
        ] {
            let mut response = Response::builder();
            for (name, value) in headers {
                response = response.header(*name, *value);
            }
            let error = error_of(&response.body(()).unwrap());
            assert_eq!(error.is_none(), is_good, "{headers:?}: {error:?}");
        }
        let upgrade = Response::builder().status(101).body(()).unwrap();
        assert!(error_of(&upgrade).is_some());
    }
}
