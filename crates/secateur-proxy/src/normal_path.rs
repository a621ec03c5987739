//! One spelling for a path, made before anything is decided by it.
//!
//! What the proxy looks at must be what the provider takes it for, or a path could pass here as one thing and be
//! served there as another. So characters that need no escape lose it, empty and dot segments go (RFC 3986, 6.2.2), and
//! what servers are known to disagree on is refused.

use std::borrow::Cow;

/// Why a path has no one spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ambiguous;

/// The path in its one spelling.
///
/// # Errors
/// Servers may read it in different ways: broken or double escapes, control characters, backslashes, dots behind an
/// escaped slash or with parameters.
pub(crate) fn normal_path(path: &str) -> Result<Cow<'_, str>, Ambiguous> {
    if !path.starts_with('/') {
        return Err(Ambiguous);
    }
    if is_normal(path.as_bytes()) {
        return Ok(Cow::Borrowed(path));
    }
    let mut segments: Vec<String> = Vec::new();
    let mut ends_in_slash = false;
    for raw in path[1..].split('/') {
        let segment = normal_segment(raw)?;
        ends_in_slash = matches!(segment.as_str(), "" | "." | "..");
        match segment.as_str() {
            "" | "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    let mut normal = String::with_capacity(path.len());
    for segment in &segments {
        normal.push('/');
        normal.push_str(segment);
    }
    if ends_in_slash || normal.is_empty() {
        normal.push('/');
    }
    Ok(Cow::Owned(normal))
}

/// Most paths have nothing that could be spelled in another way.
fn is_normal(path: &[u8]) -> bool {
    memchr::memchr3(b'%', b'\\', b';', path).is_none()
        && !path.windows(2).any(|two| matches!(two, b"//" | b"/."))
}

fn normal_segment(raw: &str) -> Result<String, Ambiguous> {
    let mut segment = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'%', rest.as_bytes()) {
        segment.push_str(&rest[..at]);
        let digits = rest.get(at + 1..at + 3).ok_or(Ambiguous)?;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let byte = u8::from_str_radix(digits, 16)
            .ok()
            .filter(|_| is_hex)
            .ok_or(Ambiguous)?;
        match byte {
            // Control characters, a second escape, a backslash.
            0..0x20 | 0x7f | b'%' | b'\\' => return Err(Ambiguous),
            _ if needs_no_escape(byte) => segment.push(char::from(byte)),
            _ => segment.push_str(&format!("%{byte:02X}")),
        }
        rest = &rest[at + 3..];
    }
    segment.push_str(rest);
    if segment.contains('\\') {
        return Err(Ambiguous);
    }
    // Names of models may have a slash. A server that takes it for one of the path must get to no other place by it.
    let mut pieces = segment.split("%2F");
    let is_one = pieces.clone().count() == 1;
    if !is_one && pieces.clone().any(|piece| matches!(piece, "" | "." | "..")) {
        return Err(Ambiguous);
    }
    let is_dots = |piece: &str| match piece.split_once(';') {
        Some((name, _)) => matches!(name, "" | "." | ".."),
        None => false,
    };
    match pieces.any(is_dots) {
        true => Err(Ambiguous),
        false => Ok(segment),
    }
}

/// The characters of a segment, RFC 3986: `pchar`.
fn needs_no_escape(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_path_is_one() {
        for (path, normal) in [
            ("/v1/messages", "/v1/messages"),
            ("/", "/"),
            ("/v1//messages", "/v1/messages"),
            ("//v1/messages/", "/v1/messages/"),
            ("/v1/./messages", "/v1/messages"),
            ("/v1/messages/../files", "/v1/files"),
            ("/v1/messages/%2e%2E/files", "/v1/files"),
            ("/../../v1/files", "/v1/files"),
            ("/v1/messages/..", "/v1/"),
            ("/%76%31/%66iles", "/v1/files"),
            ("/w/a/../b/v1/messages", "/w/b/v1/messages"),
            (
                "/v1beta/models/g%3agenerateContent",
                "/v1beta/models/g:generateContent",
            ),
            ("/v1/files/a%20b%3f", "/v1/files/a%20b%3F"),
            ("/v1/files/a%c3%a9", "/v1/files/a%C3%A9"),
            ("/v1/models/org%2fname", "/v1/models/org%2Fname"),
            ("/v1/files/.hidden", "/v1/files/.hidden"),
            ("/v1/x;a=b", "/v1/x;a=b"),
        ] {
            assert_eq!(normal_path(path).as_deref(), Ok(normal), "{path}");
            assert_eq!(normal_path(normal).as_deref(), Ok(normal), "{normal}");
        }
    }

    #[test]
    fn what_servers_read_in_different_ways_is_refused() {
        for path in [
            "/v1/messages/..%2ffiles",
            "/v1/messages/%2e%2e%2Ffiles",
            "/v1/messages/a%2F..%2F..%2Ffiles",
            "/v1/%2Ffiles",
            "/v1/messages/..;/files",
            "/v1/messages/..;x=1/files",
            "/v1/messages/%2e%2e%3b/files",
            "/v1/messages\\..\\files",
            "/v1/messages%5c..%5cfiles",
            "/v1/messages/%252e%252e/files",
            "/v1/files%00",
            "/v1/files%0d%0a",
            "/v1/%zz",
            "/v1/%+1",
            "/v1/%",
            "*",
            "",
        ] {
            assert_eq!(normal_path(path), Err(Ambiguous), "{path}");
        }
    }
}
