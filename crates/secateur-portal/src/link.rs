//! Addresses of pages, with names in them encoded.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Everything but letters, digits, `-`, `_` and `.`.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// Encodes a path segment.
pub(crate) fn segment(text: &str) -> String {
    match text {
        // Alone they would lead to other pages.
        "." | ".." => text.replace('.', "%2E"),
        _ => utf8_percent_encode(text, ENCODED).to_string(),
    }
}

/// Decodes a path segment; `None` where it is no text.
pub(crate) fn read_segment(text: &str) -> Option<String> {
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    Some(decoded.into_owned())
}

/// The page of one row.
pub(crate) fn row(id: &str) -> String {
    format!("/portal/audit/{}", segment(id))
}

/// The quality page of a workload.
pub(crate) fn quality(workload: &str) -> String {
    format!("/optimize/quality/{}", segment(workload))
}

/// The audit page with these filters.
pub(crate) fn audit(pairs: &[(&str, &str)]) -> String {
    format!("/portal/audit{}", query(pairs))
}

/// These pairs behind a `?`, without those that say nothing; empty where none is left.
pub(crate) fn query(pairs: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        query.append_pair(name, value);
    }
    let query = query.finish();
    if query.is_empty() {
        query
    } else {
        format!("?{query}")
    }
}

/// A page of the portal to go back to; anything else is not followed. Browsers take a step up for
/// `..` however it is spelled, so a path with such a step may end anywhere.
pub(crate) fn is_own_page(place: &str) -> bool {
    let path = place.split(['?', '#']).next().unwrap_or_default();
    let is_ours = |start: &str| {
        path.strip_prefix(start)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_step = |segment: &str| matches!(segment, "." | "..");
    let stays = |segment: &str| {
        read_segment(segment).is_some_and(|name| !name.split(['/', '\\']).any(is_step))
    };
    (is_ours("/portal") || is_ours("/optimize"))
        && place
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
        && !path.contains("//")
        && path.split('/').all(stays)
        && !path.starts_with("/portal/login")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_the_way_through_an_address() {
        for name in ["coding", "a/b", "..", "ä %+?#", "<script>"] {
            let encoded = segment(name);
            assert!(
                encoded
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_.%".contains(&byte))
            );
            assert_eq!(read_segment(&encoded).as_deref(), Some(name));
        }
        assert_eq!(segment(".."), "%2E%2E");
        assert_eq!(read_segment("%zz").as_deref(), Some("%zz"));
        assert_eq!(read_segment("%ff"), None);
    }

    #[test]
    fn only_own_pages_are_gone_back_to() {
        for own in [
            "/portal",
            "/portal/",
            "/portal/audit?workload=a&since=../..//x",
            "/portal/audit/a..b",
            "/optimize/quality/a%2Fb%20c",
        ] {
            assert!(is_own_page(own), "{own}");
        }
        for other in [
            "//evil.example",
            "https://evil.example",
            "/portalx",
            "/portal\\evil",
            "/portal/\r\nx",
            "/v1/messages",
            "/portal/login",
            "/portal/../evil.html",
            "/portal/..",
            "/portal/./../evil.html",
            "/portal/%2e%2E/evil.html",
            "/portal/.%2e/evil.html",
            "/portal/..%2fevil.html",
            "/portal/a%5c..%5cevil.html",
            "/portal/..//evil.example",
            "/portal//evil.example",
            "/optimize/../v1/models",
        ] {
            assert!(!is_own_page(other), "{other}");
        }
    }
}
