//! Addresses of pages, with names in them encoded.

/// Encodes a path segment: letters, digits, `-`, `_` and `.` stay.
pub(crate) fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'_')
            || (byte == b'.' && text != "." && text != "..")
        {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Decodes a path segment; `None` where it is no text.
pub(crate) fn read_segment(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'%' {
            let pair = text.get(at + 1..at + 3)?;
            out.push(u8::from_str_radix(pair, 16).ok()?);
            at += 3;
        } else {
            out.push(byte);
            at += 1;
        }
    }
    String::from_utf8(out).ok()
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
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        query.append_pair(name, value);
    }
    let query = query.finish();
    if query.is_empty() {
        "/portal/audit".into()
    } else {
        format!("/portal/audit?{query}")
    }
}

/// A page of the portal to go back to; anything else is not followed.
pub(crate) fn is_own_page(path: &str) -> bool {
    let is_ours = |start: &str| {
        path.strip_prefix(start)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
    };
    (is_ours("/portal") || is_ours("/optimize"))
        && path
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
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
        assert_eq!(read_segment("%zz"), None);
        assert_eq!(read_segment("%ff"), None);
    }

    #[test]
    fn only_own_pages_are_gone_back_to() {
        assert!(is_own_page("/portal/audit?workload=a") && is_own_page("/optimize/quality/a"));
        for other in [
            "//evil.example",
            "https://evil.example",
            "/portalx",
            "/portal\\evil",
            "/portal/\r\nx",
            "/v1/messages",
            "/portal/login",
        ] {
            assert!(!is_own_page(other), "{other}");
        }
    }
}
