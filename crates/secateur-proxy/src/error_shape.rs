//! Errors of the proxy itself, in the shape that the client's library understands.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};

use crate::config::Provider;

/// Why the proxy answers in place of the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    TooLarge { limit_bytes: usize },
    NoKey,
    WrongKey,
    NoCredential,
    RateLimited { retry_after_s: u64 },
    NoConnect,
    BadTarget,
    RequestStalled,
    RequestBroke,
    UpstreamUnreachable,
    UpstreamTimeout,
    UpstreamBroke,
}

impl Refusal {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NoKey | Self::WrongKey => StatusCode::UNAUTHORIZED,
            Self::NoCredential => StatusCode::FORBIDDEN,
            Self::RateLimited { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::NoConnect => StatusCode::METHOD_NOT_ALLOWED,
            Self::BadTarget | Self::RequestBroke => StatusCode::BAD_REQUEST,
            Self::RequestStalled => StatusCode::REQUEST_TIMEOUT,
            Self::UpstreamUnreachable | Self::UpstreamBroke => StatusCode::BAD_GATEWAY,
            Self::UpstreamTimeout => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// Its name in logs and metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "too-large",
            Self::NoKey => "no-key",
            Self::WrongKey => "wrong-key",
            Self::NoCredential => "no-credential",
            Self::RateLimited { .. } => "rate-limited",
            Self::NoConnect => "no-connect",
            Self::BadTarget => "bad-target",
            Self::RequestStalled => "request-stalled",
            Self::RequestBroke => "request-broke",
            Self::UpstreamUnreachable => "upstream-unreachable",
            Self::UpstreamTimeout => "upstream-timeout",
            Self::UpstreamBroke => "upstream-broke",
        }
    }

    fn message(self) -> String {
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
            Self::UpstreamUnreachable => "secateur: the upstream could not be reached".to_owned(),
            Self::UpstreamTimeout => "secateur: the upstream did not answer in time".to_owned(),
            Self::UpstreamBroke => "secateur: the connection to the upstream broke".to_owned(),
        }
    }

    pub(crate) fn response(self, shape: Provider) -> Response<Bytes> {
        let status = self.status();
        let code = status.as_u16();
        let message = self.message();
        let body = match shape {
            Provider::Openai => format!(
                r#"{{"error":{{"message":"{message}","type":"{}","param":null,"code":"{}"}}}}"#,
                openai_type(code),
                self.name()
            ),
            Provider::Anthropic => format!(
                r#"{{"type":"error","error":{{"type":"{}","message":"{message}"}}}}"#,
                anthropic_type(code)
            ),
            Provider::Gemini => format!(
                r#"{{"error":{{"code":{code},"message":"{message}","status":"{}"}}}}"#,
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
        if let Self::RateLimited { retry_after_s } = self {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(retry_after_s));
        }
        if matches!(
            self,
            Self::TooLarge { .. } | Self::RequestStalled | Self::RequestBroke
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
        413 => "request_too_large",
        429 => "rate_limit_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

fn gemini_status(code: u16) -> &'static str {
    match code {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        429 => "RESOURCE_EXHAUSTED",
        502 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INVALID_ARGUMENT",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_is_json_in_every_shape() {
        for refusal in [
            Refusal::TooLarge { limit_bytes: 5 },
            Refusal::NoKey,
            Refusal::RateLimited { retry_after_s: 3 },
            Refusal::UpstreamUnreachable,
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
