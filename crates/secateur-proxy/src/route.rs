//! What a request is for, by its path and headers: workload, provider, dialect.

use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, Method, Uri};
use secateur_core::Dialect;

use crate::access::{ANTHROPIC_KEY, GOOGLE_KEY};
use crate::config::Provider;

/// The header that picks the workload.
pub(crate) const WORKLOAD_HEADER: HeaderName = HeaderName::from_static("x-secateur-workload");

/// The header that passes one request through untouched.
pub(crate) const BYPASS_HEADER: HeaderName = HeaderName::from_static("x-secateur-bypass");

const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The workload that the path names.
    pub(crate) workload: Option<String>,
    /// The path without the workload's prefix, as it goes to the upstream.
    pub(crate) path: String,
    /// Whose API it is.
    pub(crate) provider: Provider,
    /// The wire format of the body, where it is one that can be pruned.
    pub(crate) dialect: Option<Dialect>,
    /// The model, where the path names it.
    pub(crate) path_model: Option<String>,
}

impl Route {
    /// Reads the route of a request.
    #[must_use]
    pub(crate) fn of(method: &Method, uri: &Uri, headers: &HeaderMap) -> Self {
        let (workload, path) = split_workload(uri.path());
        let dialect = if method == Method::POST {
            dialect_of(path)
        } else {
            None
        };
        Self {
            workload: workload.map(str::to_owned),
            path: path.to_owned(),
            provider: provider_of(path, dialect, uri.query(), headers),
            dialect,
            path_model: path_model(path).map(|(_, model, _)| model.to_owned()),
        }
    }

    /// The path with another model in it.
    #[must_use]
    pub(crate) fn path_with_model(&self, model: &str) -> Option<String> {
        let (before, _, after) = path_model(&self.path)?;
        Some(format!("{before}{model}{after}"))
    }

    /// What errors to the client look like: the dialect's own shape, or the provider's.
    #[must_use]
    pub(crate) fn error_shape(&self) -> Provider {
        match self.dialect {
            Some(Dialect::OpenaiChat | Dialect::OpenaiResponses) => Provider::Openai,
            Some(Dialect::AnthropicMessages) => Provider::Anthropic,
            Some(Dialect::GeminiGenerateContent) => Provider::Gemini,
            _ => self.provider,
        }
    }
}

fn split_workload(path: &str) -> (Option<&str>, &str) {
    let Some(rest) = path.strip_prefix("/w/") else {
        return (None, path);
    };
    match rest.find('/') {
        Some(0) => (None, path),
        Some(at) => (Some(&rest[..at]), &rest[at..]),
        None if rest.is_empty() => (None, path),
        None => (Some(rest), "/"),
    }
}

fn dialect_of(path: &str) -> Option<Dialect> {
    let slash = memchr::memrchr(b'/', path.as_bytes());
    let last = slash.map_or(path, |slash| &path[slash + 1..]);
    match last {
        "completions" if path.ends_with("/chat/completions") => Some(Dialect::OpenaiChat),
        "responses" => Some(Dialect::OpenaiResponses),
        "messages" if !path.contains("/threads/") => Some(Dialect::AnthropicMessages),
        _ if last.ends_with(":generateContent") || last.ends_with(":streamGenerateContent") => {
            Some(Dialect::GeminiGenerateContent)
        }
        _ => None,
    }
}

/// `/v1beta/models/`, `gemini-2.5-pro` and `:generateContent`.
fn path_model(path: &str) -> Option<(&str, &str, &str)> {
    // Few paths have a colon; looking for one is quick.
    memchr::memchr(b':', path.as_bytes())?;
    let at = path.rfind("/models/")? + "/models/".len();
    let colon = path[at..].find(':')? + at;
    Some((&path[..at], &path[at..colon], &path[colon..]))
}

/// Paths that several providers share (`/v1/models`, `/v1/files`) are told apart by headers that
/// only one of them knows.
fn provider_of(
    path: &str,
    dialect: Option<Dialect>,
    query: Option<&str>,
    headers: &HeaderMap,
) -> Provider {
    let is_google_key = |query: &str| query.split('&').any(|pair| pair.starts_with("key="));
    if path.starts_with("/v1beta")
        || path.starts_with("/upload/v1beta")
        || path_model(path).is_some()
        || headers.contains_key(GOOGLE_KEY)
        || query.is_some_and(is_google_key)
    {
        return Provider::Gemini;
    }
    match dialect {
        Some(Dialect::AnthropicMessages) => Provider::Anthropic,
        Some(Dialect::OpenaiChat | Dialect::OpenaiResponses) => Provider::Openai,
        _ if headers.contains_key(ANTHROPIC_VERSION)
            || headers.contains_key(ANTHROPIC_KEY)
            || path.contains("/messages/") && !path.contains("/threads/") =>
        {
            Provider::Anthropic
        }
        _ => Provider::Openai,
    }
}

/// The upstream's URL for a path and query. A base that ends in a version (`https://host/v1`) is
/// taken as meaning the same as one without.
///
/// # Errors
/// The result is not a URL.
pub(crate) fn upstream_uri(
    base: &Uri,
    path: &str,
    query: Option<&str>,
) -> Result<Uri, http::Error> {
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

    fn route(path: &str, header: &str) -> Route {
        let mut headers = HeaderMap::new();
        if !header.is_empty() {
            headers.insert(
                http::HeaderName::from_bytes(header.as_bytes()).unwrap(),
                "x".parse().unwrap(),
            );
        }
        Route::of(&Method::POST, &path.parse().unwrap(), &headers)
    }

    #[test]
    fn tells_providers_and_dialects_by_path_and_headers() {
        use Dialect as D;
        use Provider as P;
        for (path, header, provider, dialect) in [
            ("/v1/chat/completions", "", P::Openai, Some(D::OpenaiChat)),
            ("/chat/completions", "", P::Openai, Some(D::OpenaiChat)),
            ("/v1/responses", "", P::Openai, Some(D::OpenaiResponses)),
            ("/v1/responses/resp_1/cancel", "", P::Openai, None),
            ("/v1/messages", "", P::Anthropic, Some(D::AnthropicMessages)),
            (
                "/v1/messages?beta=true",
                "",
                P::Anthropic,
                Some(D::AnthropicMessages),
            ),
            ("/v1/messages/count_tokens", "", P::Anthropic, None),
            ("/v1/messages/batches", "x-api-key", P::Anthropic, None),
            ("/v1/threads/t/messages", "", P::Openai, None),
            ("/v1/models", "", P::Openai, None),
            ("/v1/models", "anthropic-version", P::Anthropic, None),
            ("/v1/models", "x-goog-api-key", P::Gemini, None),
            ("/v1/files", "", P::Openai, None),
            (
                "/v1beta/models/gemini-2.5-pro:generateContent",
                "",
                P::Gemini,
                Some(D::GeminiGenerateContent),
            ),
            (
                "/v1/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
                "",
                P::Gemini,
                Some(D::GeminiGenerateContent),
            ),
            (
                "/v1beta/models/gemini-2.5-pro:countTokens",
                "",
                P::Gemini,
                None,
            ),
            (
                "/v1beta/openai/chat/completions",
                "",
                P::Gemini,
                Some(D::OpenaiChat),
            ),
            ("/v1/files?key=abc", "", P::Gemini, None),
        ] {
            let found = route(path, header);
            assert_eq!(
                (found.provider, found.dialect),
                (provider, dialect),
                "{path} {header}"
            );
        }
    }

    #[test]
    fn the_workload_is_cut_off_the_path() {
        let found = route("/w/coding/v1/messages", "");
        assert_eq!(
            (found.workload.as_deref(), found.path.as_str()),
            (Some("coding"), "/v1/messages")
        );
        assert_eq!(route("/w/coding", "").path, "/");
        assert_eq!(route("/w//v1", "").workload, None);
        assert_eq!(route("/world/v1", "").workload, None);
    }

    #[test]
    fn the_model_in_a_path_can_be_changed() {
        let found = route("/v1beta/models/a-1:generateContent", "");
        assert_eq!(found.path_model.as_deref(), Some("a-1"));
        assert_eq!(
            found.path_with_model("b").as_deref(),
            Some("/v1beta/models/b:generateContent")
        );
    }

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
