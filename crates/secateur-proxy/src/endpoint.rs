//! What a path leads to: whose API it is, the wire format of its body, and whether it asks a model.
//!
//! Shapes of paths, as the providers documented them in November 2026:
//! - Bedrock: `/model/{id}/invoke`, `…/invoke-with-response-stream`, `…/converse`, `…/converse-stream`, `…/count-tokens`. An id
//!   may be an ARN with escaped slashes (docs.aws.amazon.com, Bedrock API reference, "Amazon Bedrock Runtime").
//! - Vertex AI: `/v1/projects/{p}/locations/{l}/publishers/{publisher}/models/{m}:{verb}`, also from `/publishers/` on, with the
//!   verbs `rawPredict` and `streamRawPredict` for Claude (cloud.google.com/vertex-ai, "Request predictions with Claude models").
//! - Gemini Code Assist: `/v1internal:{verb}` (google-gemini/gemini-cli, `packages/core/src/code_assist/server.ts`).
//! - Azure OpenAI: `/openai/deployments/{deployment}/…?api-version=…`, and `/openai/v1/…` (learn.microsoft.com, "Azure OpenAI REST
//!   API reference").

use http::Method;
use secateur_core::Dialect;

use crate::config::Provider;

/// How sure it is that a provider serves a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The provider's public API has it.
    Public,
    /// It ends like one of the provider's paths. A configured upstream may have it; the provider's own host does not.
    ByShape,
    /// Nothing tells whose it is.
    Unknown,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint<'p> {
    /// Whose path it is, where the path alone tells.
    pub(crate) provider: Option<Provider>,
    pub(crate) standing: Standing,
    /// The format of a body that is posted to it.
    pub(crate) dialect: Option<Dialect>,
    /// The path before the model's name, the name, and the rest of the path.
    pub(crate) model: Option<(&'p str, &'p str, &'p str)>,
    asks: Asks,
}

/// What is asked of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asks {
    /// To generate, or to count tokens.
    Model,
    /// Which models there are.
    Listing,
    Other,
}

impl<'p> Endpoint<'p> {
    /// What a path without the workload's prefix leads to.
    pub(crate) fn of(path: &'p str) -> Self {
        cloud(path).unwrap_or_else(|| public(path))
    }

    /// Whether a request there asks a model, or which models there are.
    pub(crate) fn is_for_models(&self, method: &Method) -> bool {
        match self.asks {
            Asks::Model => method == Method::POST,
            Asks::Listing => matches!(*method, Method::GET | Method::HEAD),
            Asks::Other => false,
        }
    }

    fn unknown() -> Self {
        Self {
            provider: None,
            standing: Standing::Unknown,
            dialect: None,
            model: None,
            asks: Asks::Other,
        }
    }

    fn at(provider: Provider) -> Self {
        Self {
            provider: Some(provider),
            standing: Standing::Public,
            ..Self::unknown()
        }
    }

    /// The same below the path of a base URL. One that is known by its shape alone asks a model only right below a
    /// version: `/v1/files/f/completions` is no endpoint of a model.
    fn below(self, base: &str) -> Self {
        let mut segments = base.split('/').skip(1);
        let is_version = |segment: &str| {
            let mut letters = segment.bytes();
            letters.next() == Some(b'v') && letters.next().is_some_and(|it| it.is_ascii_digit())
        };
        let is_base =
            segments.find(|segment| is_version(segment)).is_some() && segments.next().is_none();
        // Azure's dated versions stand in the query.
        match self.standing == Standing::Public || is_base || base == "/openai" {
            true => self,
            false => Self {
                asks: Asks::Other,
                ..self
            },
        }
    }

    /// One that a model answers.
    fn asking(self, dialect: Option<Dialect>) -> Self {
        Self {
            dialect,
            asks: Asks::Model,
            ..self
        }
    }
}

/// Paths that a cloud's API has and no other.
fn cloud(path: &str) -> Option<Endpoint<'_>> {
    // The second character rules most paths out.
    match path.as_bytes().get(1)? {
        b'v' => code_assist(path).or_else(|| vertex(path)),
        b'p' => vertex(path),
        b'm' | b'a' | b'g' => bedrock(path),
        b'o' => azure(path),
        _ => None,
    }
}

fn code_assist(path: &str) -> Option<Endpoint<'_>> {
    let rest = path.strip_prefix("/v1internal")?;
    let at = Endpoint::at(Provider::CodeAssist);
    Some(match rest.strip_prefix(':') {
        Some("generateContent" | "streamGenerateContent") => {
            at.asking(Some(Dialect::GeminiGenerateContent))
        }
        Some("countTokens") => at.asking(None),
        Some(_) => at,
        None if rest.starts_with('/') => at,
        None => return None,
    })
}

fn bedrock(path: &str) -> Option<Endpoint<'_>> {
    let at = Endpoint::at(Provider::Bedrock);
    if path.starts_with("/async-invoke") || path.starts_with("/guardrail/") {
        return Some(at);
    }
    let rest = path.strip_prefix("/model/")?;
    let Some((id, action)) = rest.split_once('/') else {
        return Some(at);
    };
    let end = "/model/".len() + id.len();
    let at = Endpoint {
        model: Some((&path[..end - id.len()], id, &path[end..])),
        ..at
    };
    let is_claude = id.contains("anthropic.");
    Some(match action {
        "invoke" | "invoke-with-response-stream" if is_claude => {
            at.asking(Some(Dialect::AnthropicMessages))
        }
        "invoke"
        | "invoke-with-response-stream"
        | "converse"
        | "converse-stream"
        | "count-tokens" => at.asking(None),
        _ => at,
    })
}

fn vertex(path: &str) -> Option<Endpoint<'_>> {
    let versions = ["/v1/", "/v1beta1/", "/"];
    let rest = versions.iter().find_map(|version| {
        let rest = path.strip_prefix(version)?;
        (rest.starts_with("projects/") || rest.starts_with("publishers/")).then_some(rest)
    })?;
    let model = path_model(path);
    let at = Endpoint {
        model,
        ..Endpoint::at(Provider::Vertex)
    };
    if rest.contains("/endpoints/") && rest.ends_with("/chat/completions") {
        return Some(at.asking(Some(Dialect::OpenaiChat)));
    }
    let Some((before, name, verb)) = model else {
        return Some(at);
    };
    // Its body is a request to count, with the model in it.
    let counts = name == "count-tokens";
    Some(match verb {
        ":rawPredict" | ":streamRawPredict" => {
            let is_claude = before.ends_with("publishers/anthropic/models/") && !counts;
            at.asking(is_claude.then_some(Dialect::AnthropicMessages))
        }
        ":generateContent" | ":streamGenerateContent" => {
            at.asking(Some(Dialect::GeminiGenerateContent))
        }
        ":countTokens" => at.asking(None),
        _ => at,
    })
}

fn azure(path: &str) -> Option<Endpoint<'_>> {
    let rest = path.strip_prefix("/openai/deployments/")?;
    let at = Endpoint::at(Provider::Azure);
    let Some((deployment, action)) = rest.split_once('/') else {
        return Some(at);
    };
    let start = "/openai/deployments/".len();
    let end = start + deployment.len();
    let at = Endpoint {
        model: Some((&path[..start], deployment, &path[end..])),
        ..at
    };
    Some(match action {
        "chat/completions" => at.asking(Some(Dialect::OpenaiChat)),
        "responses" => at.asking(Some(Dialect::OpenaiResponses)),
        "completions" => at.asking(None),
        _ => at,
    })
}

/// What can be asked of a model in the Gemini API.
const VERBS: [&str; 9] = [
    ":generateContent",
    ":streamGenerateContent",
    ":countTokens",
    ":embedContent",
    ":batchEmbedContents",
    ":batchGenerateContent",
    ":generateAnswer",
    ":predict",
    ":predictLongRunning",
];

/// Paths of the providers' own APIs, and of what speaks like them.
fn public(path: &str) -> Endpoint<'_> {
    let version = ["/v1beta", "/v1alpha", "/upload/v1", "/download/v1"];
    let is_gemini = version.iter().any(|version| path.starts_with(version));
    // OpenAI's models have colons in their names, too.
    let is_verb = |verb: &str| is_gemini || VERBS.contains(&verb);
    let model = path_model(path).filter(|(_, _, verb)| is_verb(verb));
    if let Some((before, _, verb)) = model {
        let at = Endpoint {
            model,
            standing: match is_gemini || before == "/v1/models/" {
                true => Standing::Public,
                false => Standing::ByShape,
            },
            ..Endpoint::at(Provider::Gemini)
        };
        let found = match verb {
            ":generateContent" | ":streamGenerateContent" => {
                at.asking(Some(Dialect::GeminiGenerateContent))
            }
            ":countTokens" => at.asking(None),
            _ => at,
        };
        return found.below(before.trim_end_matches("/models/"));
    }
    let mut found = by_ending(path);
    if is_gemini {
        found.provider = Some(Provider::Gemini);
        found.standing = Standing::Public;
        if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
            found.dialect = Some(Dialect::GeminiGenerateContent);
            let rest = path.split_once("/tunedModels/").map(|(_, rest)| rest);
            if rest.is_some_and(|rest| !rest.contains('/')) {
                found.asks = Asks::Model;
            }
        }
    }
    found
}

/// What is found right below a base URL without a version.
const UNVERSIONED: [&str; 8] = [
    "/models",
    "/embeddings",
    "/moderations",
    "/files",
    "/batches",
    "/images/",
    "/audio/",
    "/responses/",
];

fn by_ending(path: &str) -> Endpoint<'_> {
    const POSTED: [(&str, Provider, Option<Dialect>); 7] = {
        use Dialect as D;
        use Provider::{Anthropic, Openai};
        [
            ("/chat/completions", Openai, Some(D::OpenaiChat)),
            ("/messages", Anthropic, Some(D::AnthropicMessages)),
            ("/responses", Openai, Some(D::OpenaiResponses)),
            ("/messages/count_tokens", Anthropic, None),
            ("/completions", Openai, None),
            ("/responses/compact", Openai, None),
            ("/responses/input_tokens", Openai, None),
        ]
    };
    if !path.contains("/threads/") {
        for (ending, provider, dialect) in POSTED {
            if let Some(before) = path.strip_suffix(ending) {
                let at = Endpoint {
                    standing: match before {
                        "" | "/v1" => Standing::Public,
                        _ => Standing::ByShape,
                    },
                    ..Endpoint::at(provider)
                };
                return at.asking(dialect).below(before);
            }
        }
    }
    let rest = path.strip_prefix("/v1").unwrap_or(path);
    if rest.starts_with("/messages/") || rest == "/complete" {
        return Endpoint::at(Provider::Anthropic);
    }
    // Several providers have the rest of `/v1`; headers tell them apart.
    let mut shared = Endpoint::unknown();
    let listed = path
        .strip_prefix("/v1beta/openai")
        .or_else(|| path.strip_prefix("/v1beta"))
        .unwrap_or(rest);
    let is_listing = match listed.strip_prefix("/models") {
        Some("") => true,
        Some(model) => model.starts_with('/') && !model[1..].contains('/'),
        None => false,
    };
    if is_listing {
        shared.asks = Asks::Listing;
    }
    if path.starts_with("/v1/") || UNVERSIONED.iter().any(|start| path.starts_with(start)) {
        shared.standing = Standing::Public;
    }
    shared
}

/// `/v1beta/models/`, `gemini-2.5-pro` and `:generateContent`.
fn path_model(path: &str) -> Option<(&str, &str, &str)> {
    // Few paths have a colon; looking for one is quick.
    memchr::memchr(b':', path.as_bytes())?;
    let at = path.rfind("/models/")? + "/models/".len();
    let colon = path[at..].rfind(':')? + at;
    let is_name = !path[at..].contains('/');
    is_name.then(|| (&path[..at], &path[at..colon], &path[colon..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whose it is, how sure, and whether it asks a model.
    #[track_caller]
    fn leads_to(path: &str, provider: Option<Provider>, standing: Standing, asks: Asks) {
        let found = Endpoint::of(path);
        let expected = (provider, standing, asks);
        assert_eq!(
            (found.provider, found.standing, found.asks),
            expected,
            "{path}"
        );
    }

    #[test]
    fn clouds_are_told_by_their_paths() {
        use Asks::{Model, Other};
        use Standing::Public;
        let bedrock = Some(Provider::Bedrock);
        leads_to("/model/anthropic.c/invoke", bedrock, Public, Model);
        leads_to(
            "/model/a/invoke-with-response-stream",
            bedrock,
            Public,
            Model,
        );
        leads_to(
            "/model/arn:aws:x%2Fy/converse-stream",
            bedrock,
            Public,
            Model,
        );
        leads_to("/model/a/b/invoke", bedrock, Public, Other);
        leads_to("/async-invoke", bedrock, Public, Other);
        let vertex = Some(Provider::Vertex);
        let models = "projects/p/locations/l/publishers/anthropic/models/c@1";
        leads_to(&format!("/v1/{models}:rawPredict"), vertex, Public, Model);
        leads_to(
            &format!("/{models}:streamRawPredict"),
            vertex,
            Public,
            Model,
        );
        leads_to(&format!("/v1/{models}:predict"), vertex, Public, Other);
        leads_to(
            "/v1/publishers/google/models/g:generateContent",
            vertex,
            Public,
            Model,
        );
        leads_to(
            "/v1/projects/p/locations/l/endpoints/openapi/chat/completions",
            vertex,
            Public,
            Model,
        );
        leads_to("/v1/projects/p/locations/l/datasets", vertex, Public, Other);
        let assist = Some(Provider::CodeAssist);
        leads_to("/v1internal:streamGenerateContent", assist, Public, Model);
        leads_to("/v1internal:onboardUser", assist, Public, Other);
        let azure = Some(Provider::Azure);
        leads_to(
            "/openai/deployments/d/chat/completions",
            azure,
            Public,
            Model,
        );
        leads_to("/openai/deployments/d/embeddings", azure, Public, Other);
    }

    #[test]
    fn a_shape_alone_is_not_enough_to_ask_a_model() {
        use Asks::{Listing, Model, Other};
        use Standing::{ByShape, Public, Unknown};
        let openai = Some(Provider::Openai);
        leads_to("/v1/chat/completions", openai, Public, Model);
        leads_to("/v1/responses/compact", openai, Public, Model);
        leads_to("/openai/v1/chat/completions", openai, ByShape, Model);
        leads_to("/api/paas/v4/chat/completions", openai, ByShape, Model);
        leads_to("/v1/files/f/completions", openai, ByShape, Other);
        leads_to("/v1/files/v1/completions", openai, ByShape, Other);
        leads_to("/backend-api/codex/responses", openai, ByShape, Other);
        leads_to(
            "/x/v1beta/models/g:generateContent",
            Some(Provider::Gemini),
            ByShape,
            Model,
        );
        leads_to(
            "/x/y/models/g:generateContent",
            Some(Provider::Gemini),
            ByShape,
            Other,
        );
        let gemini = Some(Provider::Gemini);
        leads_to(
            "/v1beta/tunedModels/t:generateContent",
            gemini,
            Public,
            Model,
        );
        leads_to(
            "/v1beta/models/x/operations/y:generateContent",
            gemini,
            Public,
            Other,
        );
        leads_to("/v1beta/models", Some(Provider::Gemini), Public, Listing);
        leads_to("/v1/models/gpt-5", None, Public, Listing);
        leads_to("/v1/models/ft:gpt-5:org::id", None, Public, Listing);
        leads_to("/v1/models/gpt-5/x", None, Public, Other);
        leads_to("/v1/organization/admin_api_keys", None, Public, Other);
        leads_to("/api/chat", None, Unknown, Other);
        leads_to("/v1internals", None, Unknown, Other);
        leads_to("/", None, Unknown, Other);
    }
}
