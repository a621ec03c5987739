//! Errors of the proxy itself, in the shape that the client's library understands.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};

use crate::config::Provider;
use crate::upstream::ConnectFailure;

/// Why the proxy answers in place of the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    TooLarge {
        limit_bytes: usize,
    },
    NoKey,
    WrongKey,
    NoCredential,
    /// The key belongs to one workload, the request names another; empty where that is not written like a name.
    OtherWorkload {
        own: Arc<str>,
        asked: String,
    },
    /// Not with this key.
    PathNotAllowed,
    ModelNotAllowed,
    /// The key has a list of models, and the body does not say which one it asks.
    ModelUnreadable,
    /// The path can be read in several ways.
    AmbiguousPath,
    /// Nothing tells whose API it is.
    UnknownPath,
    /// The provider's own host has no such path.
    ForeignPath(Provider),
    /// The client's credential is another provider's.
    ForeignCredential {
        owner: Provider,
        provider: Provider,
    },
    /// The configuration says nowhere to go.
    NoUpstream(Provider),
    RateLimited {
        retry_after_s: u64,
    },
    NoConnect,
    BadTarget,
    RequestStalled,
    RequestBroke,
    /// The memory for bodies is used up.
    NoRoom,
    /// No or several hosts.
    BadHost,
    NoWebSocket,
    TooManyConnections,
    UpstreamUnreachable(Box<ConnectFailure>),
    UpstreamTimeout,
    UpstreamBroke,
    /// The response is not valid HTTP, for this reason.
    UpstreamProtocol(&'static str),
}

impl Refusal {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NoKey | Self::WrongKey => StatusCode::UNAUTHORIZED,
            Self::NoCredential
            | Self::OtherWorkload { .. }
            | Self::PathNotAllowed
            | Self::ModelNotAllowed
            | Self::ModelUnreadable
            | Self::ForeignCredential { .. } => StatusCode::FORBIDDEN,
            Self::UnknownPath | Self::ForeignPath(_) | Self::NoUpstream(_) => StatusCode::NOT_FOUND,
            Self::RateLimited { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::NoConnect => StatusCode::METHOD_NOT_ALLOWED,
            Self::BadTarget | Self::RequestBroke | Self::BadHost | Self::AmbiguousPath => {
                StatusCode::BAD_REQUEST
            }
            Self::NoWebSocket => StatusCode::UPGRADE_REQUIRED,
            Self::RequestStalled => StatusCode::REQUEST_TIMEOUT,
            Self::NoRoom | Self::TooManyConnections => StatusCode::SERVICE_UNAVAILABLE,
            Self::UpstreamUnreachable(_) | Self::UpstreamBroke | Self::UpstreamProtocol(_) => {
                StatusCode::BAD_GATEWAY
            }
            Self::UpstreamTimeout => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// Its name in logs and metrics.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "too-large",
            Self::NoKey => "no-key",
            Self::WrongKey => "wrong-key",
            Self::NoCredential => "no-credential",
            Self::OtherWorkload { .. } => "other-workload",
            Self::PathNotAllowed => "path-not-allowed",
            Self::ModelNotAllowed => "model-not-allowed",
            Self::ModelUnreadable => "model-unreadable",
            Self::AmbiguousPath => "ambiguous-path",
            Self::UnknownPath => "unknown-path",
            Self::ForeignPath(_) => "foreign-path",
            Self::ForeignCredential { .. } => "foreign-credential",
            Self::NoUpstream(_) => "no-upstream",
            Self::RateLimited { .. } => "rate-limited",
            Self::NoConnect => "no-connect",
            Self::BadTarget => "bad-target",
            Self::RequestStalled => "request-stalled",
            Self::RequestBroke => "request-broke",
            Self::NoRoom => "no-room",
            Self::BadHost => "bad-host",
            Self::NoWebSocket => "no-websocket",
            Self::TooManyConnections => "too-many-connections",
            Self::UpstreamUnreachable(failure) => failure.kind.name(),
            Self::UpstreamProtocol(_) => "upstream-protocol",
            Self::UpstreamTimeout => "upstream-timeout",
            Self::UpstreamBroke => "upstream-broke",
        }
    }

    fn message(&self) -> String {
        match self {
            Self::TooLarge { limit_bytes } => {
                format!(
                    "secateur: the request body is larger than the limit of {limit_bytes} bytes (max_body_mb)"
                )
            }
            Self::NoKey => "secateur: this proxy wants a client key".to_owned(),
            Self::WrongKey => "secateur: the client key is not known here".to_owned(),
            Self::NoCredential => {
                "secateur: the client key has no credential for this provider".to_owned()
            }
            Self::OtherWorkload { own, asked } => {
                let asked = match asked.as_str() {
                    "" => "another workload".to_owned(),
                    asked => format!("the workload `{asked}`"),
                };
                format!("secateur: the request names {asked}, and the client key belongs to `{own}`")
            }
            Self::PathNotAllowed => {
                "secateur: the client key may call the endpoints of models only; others are listed under `paths` of its [[key]]"
                    .to_owned()
            }
            Self::ModelNotAllowed => {
                "secateur: the client key may not ask this model (`models` of its [[key]])"
                    .to_owned()
            }
            Self::ModelUnreadable => {
                "secateur: the client key may ask some models only, and the body does not say which one it asks"
                    .to_owned()
            }
            Self::AmbiguousPath => {
                "secateur: servers may read this path in different ways (escapes, dots, backslashes)"
                    .to_owned()
            }
            Self::UnknownPath => {
                "secateur: nothing tells which provider this path belongs to, so the request goes nowhere; where an upstream has paths of its own, set `provider` in [workload.NAME]"
                    .to_owned()
            }
            Self::ForeignPath(provider) => {
                let name = provider.name();
                format!(
                    "secateur: the built-in upstream of `{name}` has no such path; if another server is meant, set `{name}` under [upstream]"
                )
            }
            Self::ForeignCredential { owner, provider } => format!(
                "secateur: the credential is one of `{}`, and this path belongs to `{}`: it is not sent there",
                owner.name(),
                provider.name()
            ),
            Self::NoUpstream(provider) => {
                let name = provider.name();
                format!(
                    "secateur: this path belongs to `{name}`, for which there is no built-in upstream: set `{name}` under [upstream]"
                )
            }
            Self::RateLimited { retry_after_s } => {
                format!(
                    "secateur: too many requests with this client key; try again in {retry_after_s} s"
                )
            }
            Self::NoConnect => {
                "secateur: CONNECT is not served; set the base URL instead".to_owned()
            }
            Self::BadTarget => "secateur: the path makes no valid upstream URL".to_owned(),
            Self::RequestStalled => "secateur: the request body did not arrive in time".to_owned(),
            Self::RequestBroke => "secateur: the request body broke off".to_owned(),
            Self::NoRoom => {
                "secateur: too many request bodies are in memory (max_buffered_mb); try again soon"
                    .to_owned()
            }
            Self::BadHost => {
                "secateur: a request has one host header, and no other than its authority".to_owned()
            }
            Self::NoWebSocket => {
                "secateur: WebSockets are not served; send plain requests".to_owned()
            }
            Self::TooManyConnections => {
                "secateur: too many connections (max_connections, max_connections_per_address); try again soon"
                    .to_owned()
            }
            Self::UpstreamUnreachable(failure) => format!("secateur: {failure}"),
            Self::UpstreamProtocol(reason) => {
                format!("secateur: the upstream's response is not valid HTTP: {reason}")
            }
            Self::UpstreamTimeout => "secateur: the upstream did not answer in time".to_owned(),
            Self::UpstreamBroke => "secateur: the connection to the upstream broke".to_owned(),
        }
    }

    /// When it is worth trying again.
    fn retry_after_s(&self) -> Option<u64> {
        match self {
            Self::RateLimited { retry_after_s } => Some(*retry_after_s),
            Self::NoRoom | Self::TooManyConnections => Some(1),
            _ => None,
        }
    }

    pub(crate) fn response(&self, shape: Provider) -> Response<Bytes> {
        let status = self.status();
        let code = status.as_u16();
        // With its quotes.
        let message = serde_json::Value::from(self.message());
        let body = match shape {
            Provider::Openai | Provider::Azure => format!(
                r#"{{"error":{{"message":{message},"type":"{}","param":null,"code":"{}"}}}}"#,
                openai_type(code),
                self.name()
            ),
            Provider::Anthropic => format!(
                r#"{{"type":"error","error":{{"type":"{}","message":{message}}}}}"#,
                anthropic_type(code)
            ),
            // Amazon's clients look for `message`, Anthropic's for `error`.
            Provider::Bedrock => format!(
                r#"{{"message":{message},"type":"error","error":{{"type":"{}","message":{message}}}}}"#,
                anthropic_type(code)
            ),
            Provider::Gemini | Provider::Vertex | Provider::CodeAssist => format!(
                r#"{{"error":{{"code":{code},"message":{message},"status":"{}"}}}}"#,
                gemini_status(code)
            ),
        };
        let mut response = Response::new(Bytes::from(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        if let Some(seconds) = self.retry_after_s() {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if *self == Self::NoWebSocket {
            headers.insert(header::UPGRADE, HeaderValue::from_static("HTTP/1.1"));
            headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        }
        if matches!(
            self,
            Self::TooLarge { .. }
                | Self::RequestStalled
                | Self::RequestBroke
                | Self::NoRoom
                | Self::BadHost
                | Self::AmbiguousPath
                | Self::TooManyConnections
        ) {
            // What is left of the body is not read.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

fn openai_type(code: u16) -> &'static str {
    match code {
        401 => "authentication_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

fn anthropic_type(code: u16) -> &'static str {
    match code {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

fn gemini_status(code: u16) -> &'static str {
    match code {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        502 | 503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INVALID_ARGUMENT",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::ConnectFailureKind;

    #[test]
    fn every_error_is_json_in_every_shape() {
        for refusal in [
            Refusal::TooLarge { limit_bytes: 5 },
            Refusal::NoKey,
            Refusal::RateLimited { retry_after_s: 3 },
            Refusal::NoRoom,
            Refusal::UpstreamUnreachable(Box::new(ConnectFailure {
                kind: ConnectFailureKind::Tls,
                host: "example.org".to_owned(),
                detail: "a \"quoted\" text".to_owned(),
            })),
            Refusal::BadHost,
            Refusal::OtherWorkload {
                own: "a".into(),
                asked: "b".to_owned(),
            },
            Refusal::NoUpstream(Provider::Bedrock),
            Refusal::UpstreamProtocol("for a reason"),
        ] {
            for shape in Provider::ALL {
                let response = refusal.response(shape);
                let body: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
                let message = body["error"]["message"].as_str().unwrap();
                assert!(message.starts_with("secateur: "), "{body}");
            }
        }
        let large = Refusal::TooLarge { limit_bytes: 5 }.response(Provider::Anthropic);
        assert_eq!(large.status(), 413);
        assert!(String::from_utf8_lossy(large.body()).contains("request_too_large"));
    }
}
