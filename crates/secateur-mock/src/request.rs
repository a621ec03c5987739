//! What came in: which API it is for, and a copy for tests to look at.

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};

/// The four APIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Api {
    /// OpenAI chat completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
    /// Gemini `generateContent`.
    Gemini,
}

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// Method.
    pub method: Method,
    /// Path and query.
    pub uri: Uri,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub body: Bytes,
}

impl Received {
    /// The API that a POST to this path is for, and whether it only counts tokens.
    #[must_use]
    pub fn api(&self) -> Option<(Api, bool)> {
        let path = self.uri.path();
        if self.method != Method::POST {
            None
        } else if path.ends_with("/chat/completions") {
            Some((Api::Chat, false))
        } else if path.ends_with("/responses") {
            Some((Api::Responses, false))
        } else if path.ends_with("/messages") {
            Some((Api::Messages, false))
        } else if path.ends_with("/messages/count_tokens") {
            Some((Api::Messages, true))
        } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
            Some((Api::Gemini, false))
        } else if path.ends_with(":countTokens") {
            Some((Api::Gemini, true))
        } else {
            None
        }
    }

    /// The model that a Gemini path names.
    #[must_use]
    pub fn model_in_path(&self) -> Option<&str> {
        let (_, rest) = self.uri.path().rsplit_once("/models/")?;
        Some(rest.split(':').next().unwrap_or(rest))
    }

    /// The error shape that a client of this path expects.
    #[must_use]
    pub fn error_api(&self) -> Api {
        match self.api() {
            Some((api, _)) => api,
            None if self.uri.path().starts_with("/v1beta") => Api::Gemini,
            None if self.headers.contains_key("anthropic-version") => Api::Messages,
            None => Api::Chat,
        }
    }
}
