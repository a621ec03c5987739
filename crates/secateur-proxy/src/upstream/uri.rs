//! The URL of an upstream for what a client asked for.

use http::Uri;
use http::uri::PathAndQuery;

/// The upstream's URL for a path and query. A base that ends in a version (`https://host/v1`) is
/// taken as meaning the same as one without.
///
/// # Errors
/// The result is not a URL.
pub fn upstream_uri(base: &Uri, path: &str, query: Option<&str>) -> Result<Uri, http::Error> {
    let prefix = base.path().trim_end_matches('/');
    let last = prefix.rsplit('/').next().unwrap_or_default();
    let is_version = last.len() > 1 && last.starts_with('v') && last.as_bytes()[1].is_ascii_digit();
    let prefix = match path
        .strip_prefix('/')
        .and_then(|rest| rest.strip_prefix(last))
    {
        Some(rest) if is_version && rest.starts_with('/') => {
            &prefix[..prefix.len() - last.len() - 1]
        }
        _ => prefix,
    };
    let mut target =
        String::with_capacity(prefix.len() + path.len() + query.map_or(0, str::len) + 1);
    target.push_str(prefix);
    target.push_str(path);
    if let Some(query) = query {
        target.push('?');
        target.push_str(query);
    }
    at_base(base, PathAndQuery::try_from(target)?)
}

/// The upstream's URL for what a client asked for, where that stays as it is: `None` where the base has a
/// path of its own.
pub(crate) fn unchanged_uri(base: &Uri, asked: &Uri) -> Option<Uri> {
    if base.path() != "/" {
        return None;
    }
    at_base(base, asked.path_and_query()?.clone()).ok()
}

fn at_base(base: &Uri, path: PathAndQuery) -> Result<Uri, http::Error> {
    let mut parts = base.clone().into_parts();
    parts.path_and_query = Some(path);
    Ok(Uri::from_parts(parts)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_with_and_without_version_mean_the_same() {
        let uri = |base: &str, path| {
            upstream_uri(&base.parse().unwrap(), path, Some("a=b"))
                .unwrap()
                .to_string()
        };
        assert_eq!(uri("https://h", "/v1/x"), "https://h/v1/x?a=b");
        assert_eq!(uri("https://h/", "/v1/x"), "https://h/v1/x?a=b");
        let asked: Uri = "/v1/x?a=b".parse().unwrap();
        let unchanged = |base: &str| unchanged_uri(&base.parse().unwrap(), &asked);
        for base in ["https://h", "https://h/"] {
            let uri = uri(base, "/v1/x");
            assert_eq!(unchanged(base).unwrap().to_string(), uri);
        }
        assert_eq!(unchanged("https://h/v1"), None);
        assert_eq!(uri("https://h/v1", "/v1/x"), "https://h/v1/x?a=b");
        assert_eq!(uri("https://h/v1/", "/x"), "https://h/v1/x?a=b");
        assert_eq!(uri("https://h/api/v1", "/v1/x"), "https://h/api/v1/x?a=b");
        assert_eq!(uri("https://h/api", "/v1/x"), "https://h/api/v1/x?a=b");
        assert_eq!(
            uri("https://h/v1", "/v1beta/x"),
            "https://h/v1/v1beta/x?a=b"
        );
    }
}
