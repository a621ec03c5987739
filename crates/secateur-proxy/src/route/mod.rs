//! What a request is for, by its path and headers: workload, provider, dialect.

mod endpoint;
mod misaddressed;
pub(crate) mod workload;

use http::{HeaderMap, HeaderName, Method, Uri, header};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use secateur_core::Dialect;

pub(crate) use self::misaddressed::misaddressed;

use self::endpoint::{Endpoint, Standing};
use crate::config::{Provider, Workload};
use crate::refusal::Refusal;
use crate::wire::headers::{ANTHROPIC_KEY, AZURE_KEY, GOOGLE_KEY};

const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");
const ANTHROPIC_BETA: HeaderName = HeaderName::from_static("anthropic-beta");

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The workload that the path names.
    pub(crate) workload: Option<String>,
    /// The path without the workload's prefix, as it goes to the upstream.
    pub(crate) path: String,
    /// Whose API it is.
    pub(crate) provider: Provider,
    /// How sure that is.
    standing: Standing,
    /// The wire format of the body, where it is one that can be pruned.
    pub(crate) dialect: Option<Dialect>,
    /// The model, where the path names it.
    pub(crate) path_model: Option<String>,
    /// Whether it asks a model, or which models there are.
    pub(crate) is_for_models: bool,
}

impl Route {
    /// Reads the route of a request.
    #[must_use]
    pub(crate) fn of(method: &Method, uri: &Uri, headers: &HeaderMap) -> Self {
        let (workload, path) = split_workload(uri.path());
        let endpoint = Endpoint::of(path);
        let (provider, standing) = provider_of(path, &endpoint, uri.query(), headers);
        Self {
            workload: workload.map(str::to_owned),
            path: path.to_owned(),
            provider,
            standing,
            dialect: endpoint.dialect.filter(|_| method == Method::POST),
            path_model: endpoint.model.map(|(_, model, _)| unescaped(model)),
            is_for_models: endpoint.is_for_models(method),
        }
    }

    /// Sends the request where its workload wants it.
    ///
    /// # Errors
    /// No upstream is known to serve it, so that its credential has nowhere to go.
    pub(crate) fn settle(&mut self, workload: &Workload) -> Result<(), Refusal> {
        let is_cloud = matches!(
            self.provider,
            Provider::Bedrock | Provider::Vertex | Provider::CodeAssist | Provider::Azure
        );
        if let Some(provider) = workload.provider.filter(|_| !is_cloud) {
            self.provider = provider;
            self.standing = Standing::Public;
        }
        let upstreams = &workload.upstreams;
        let provider = self.provider;
        match self.standing {
            Standing::Unknown => Err(Refusal::UnknownPath),
            _ if upstreams.of(provider).is_none() => Err(Refusal::NoUpstream(provider)),
            Standing::ByShape if upstreams.is_built_in(provider) => {
                Err(Refusal::ForeignPath(provider))
            }
            Standing::ByShape | Standing::Public => Ok(()),
        }
    }

    /// The path with another model in it.
    #[must_use]
    pub(crate) fn path_with_model(&self, model: &str) -> Option<String> {
        let (before, _, after) = Endpoint::of(&self.path).model?;
        Some(format!("{before}{}{after}", escaped(model)))
    }

    /// The path of the same endpoint that answers in one piece.
    #[must_use]
    pub(crate) fn unstreamed(path: &str) -> String {
        let endings = [
            (":streamGenerateContent", ":generateContent"),
            (":streamRawPredict", ":rawPredict"),
            ("/invoke-with-response-stream", "/invoke"),
        ];
        for (streamed, whole) in endings {
            if let Some(before) = path.strip_suffix(streamed) {
                return format!("{before}{whole}");
            }
        }
        path.to_owned()
    }

    /// Whether the body of the dialect is a member of another one, beside the model's name.
    #[must_use]
    pub(crate) fn is_wrapped(&self) -> bool {
        self.provider == Provider::CodeAssist
    }

    /// What errors to the client look like: the dialect's own shape, or the provider's.
    #[must_use]
    pub(crate) fn error_shape(&self) -> Provider {
        match (self.provider, self.dialect) {
            (Provider::Bedrock, _) => Provider::Bedrock,
            (_, Some(Dialect::OpenaiChat | Dialect::OpenaiResponses)) => Provider::Openai,
            (_, Some(Dialect::AnthropicMessages)) => Provider::Anthropic,
            (_, Some(Dialect::GeminiGenerateContent)) => Provider::Gemini,
            (provider, _) => provider,
        }
    }
}

/// A model's name as it stands in a path: names may have slashes.
fn escaped(model: &str) -> String {
    const ESCAPED: &AsciiSet = &CONTROLS
        .add(b' ')
        .add(b'/')
        .add(b'%')
        .add(b'?')
        .add(b'#')
        .add(b'\\');
    utf8_percent_encode(model, ESCAPED).to_string()
}

/// A model's name out of a path in its one spelling.
fn unescaped(model: &str) -> String {
    model.replace("%2F", "/")
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

/// Paths that several providers share (`/v1/models`, `/v1/files`) are told apart by headers and credentials that
/// only one of them knows.
fn provider_of(
    path: &str,
    endpoint: &Endpoint<'_>,
    query: Option<&str>,
    headers: &HeaderMap,
) -> (Provider, Standing) {
    let is_in_query =
        |name: &str| query.is_some_and(|query| query.split('&').any(|pair| pair.starts_with(name)));
    match endpoint.provider {
        Some(Provider::Openai | Provider::Anthropic) | None => {}
        Some(provider) => return (provider, endpoint.standing),
    }
    if path.starts_with("/openai/")
        && (headers.contains_key(AZURE_KEY) || is_in_query("api-version="))
    {
        return (Provider::Azure, Standing::Public);
    }
    if headers.contains_key(GOOGLE_KEY) || is_in_query("key=") {
        return (Provider::Gemini, Standing::Public);
    }
    if let Some(provider) = endpoint.provider {
        return (provider, endpoint.standing);
    }
    let anthropic = [ANTHROPIC_VERSION, ANTHROPIC_KEY, ANTHROPIC_BETA];
    if anthropic.iter().any(|name| headers.contains_key(name)) || bearer_starts(headers, "sk-ant-")
    {
        return (Provider::Anthropic, Standing::Public);
    }
    (Provider::Openai, endpoint.standing)
}

fn bearer_starts(headers: &HeaderMap, start: &str) -> bool {
    let value = headers.get(header::AUTHORIZATION);
    let text = value.and_then(|value| value.to_str().ok());
    text.and_then(|text| text.split_once(' '))
        .is_some_and(|(_, token)| token.trim_start().starts_with(start))
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

    fn settled(config: &str, path: &str, header: &str) -> Result<Provider, Refusal> {
        let config = crate::Config::read("c", config, std::path::Path::new("."), &|_| None);
        let config = config.unwrap();
        let mut found = route(path, header);
        found.settle(config.default_workload())?;
        Ok(found.provider)
    }

    #[test]
    fn the_built_in_upstreams_get_their_own_paths_only() {
        use Provider as P;
        let other = "/backend-api/codex/responses";
        assert_eq!(settled("", other, ""), Err(Refusal::ForeignPath(P::Openai)));
        let elsewhere = "[upstream]\nopenai = \"http://h\"\n";
        assert_eq!(settled(elsewhere, other, ""), Ok(P::Openai));
        assert_eq!(settled("", "/v1/responses", ""), Ok(P::Openai));
        assert_eq!(
            settled(elsewhere, "/api/hello", ""),
            Err(Refusal::UnknownPath)
        );
        assert_eq!(
            settled("", "/api/hello", "anthropic-beta"),
            Ok(P::Anthropic)
        );
        let cloud = "/model/a/invoke";
        assert_eq!(settled("", cloud, ""), Err(Refusal::NoUpstream(P::Bedrock)));
        let owned = "[workload.default]\nprovider = \"openai\"\n";
        assert_eq!(settled(owned, "/api/hello", ""), Ok(P::Openai));
        assert_eq!(
            settled(owned, cloud, ""),
            Err(Refusal::NoUpstream(P::Bedrock))
        );
    }

    #[test]
    fn names_of_models_are_escaped_in_paths() {
        let arn = route("/model/arn:x%2Fy/invoke-with-response-stream", "");
        assert_eq!(arn.path_model.as_deref(), Some("arn:x/y"));
        let other = arn.path_with_model("arn:x/z?").unwrap();
        assert_eq!(other, "/model/arn:x%2Fz%3F/invoke-with-response-stream");
        assert_eq!(Route::unstreamed(&other), "/model/arn:x%2Fz%3F/invoke");
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
}
