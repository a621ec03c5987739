//! A client for tests, and conversations for it to send.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;
use secateur_core::Dialect;
use serde_json::json;

/// An HTTP client.
pub type TestClient = Client<HttpConnector, Full<Bytes>>;

/// A whole response.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

impl Answer {
    /// The body as JSON.
    ///
    /// # Panics
    /// It is none.
    #[must_use]
    #[expect(clippy::unwrap_used, reason = "tests want to fail here")]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A client with a pool of its own.
#[must_use]
pub fn client() -> TestClient {
    Client::builder(TokioExecutor::new()).build_http()
}

/// Sends a request; the response may still be coming in.
///
/// # Errors
/// There is no response.
///
/// # Panics
/// A header or the URL is none.
#[expect(clippy::unwrap_used, reason = "tests want to fail here")]
pub async fn request(
    client: &TestClient,
    base: &str,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Result<Response<Incoming>, Error> {
    let mut request = Request::builder()
        .method(method)
        .uri(format!("{base}{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    client
        .request(request.body(Full::new(body.into())).unwrap())
        .await
}

/// Reads a response to its end.
///
/// # Panics
/// It breaks off.
#[expect(clippy::unwrap_used, reason = "tests want to fail here")]
pub async fn whole(response: Response<Incoming>) -> Answer {
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer {
        status: head.status,
        headers: head.headers,
        body,
    }
}

/// The path of a dialect.
#[must_use]
pub fn path(dialect: Dialect, stream: bool) -> &'static str {
    match (dialect, stream) {
        (Dialect::OpenaiChat, _) => "/v1/chat/completions",
        (Dialect::OpenaiResponses, _) => "/v1/responses",
        (Dialect::AnthropicMessages, _) => "/v1/messages",
        (_, false) => "/v1beta/models/gemini-2.5-pro:generateContent",
        (_, true) => "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
    }
}

/// The body of a short chat.
#[must_use]
pub fn chat() -> String {
    conversation(Dialect::OpenaiChat, 3, false)
}

/// How many results of [`tool_session`] are long.
pub const LONG_RESULTS: usize = 5;

/// A request of a coding agent with eight tool calls. `result_text` gives the first [`LONG_RESULTS`] results; those
/// after them are short.
#[must_use]
pub fn tool_session(result_text: impl Fn(usize) -> String) -> String {
    let mut messages = vec![json!({"role": "user", "content": "go"})];
    for at in 0..8 {
        let id = format!("t{at}");
        messages.push(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": "bash", "input": {"command": at.to_string()}}]}));
        let text = if at < LONG_RESULTS {
            result_text(at)
        } else {
            "new".to_owned()
        };
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": text}]}));
    }
    let tools = json!([{"name": "bash", "input_schema": {"type": "object"}}]);
    json!({"model": "claude-haiku-4-5", "max_tokens": 10, "messages": messages, "tools": tools})
        .to_string()
}

/// The ids of cut texts in a pruned body, in order.
#[must_use]
pub fn recall_ids(body: &[u8]) -> Vec<String> {
    let body = String::from_utf8_lossy(body);
    let ids = body.split("[recall:").skip(1);
    ids.filter_map(|rest| Some(rest.split_once(']')?.0.to_owned()))
        .collect()
}

/// A conversation of so many turns, spelled in an unusual way so that a body which was parsed and
/// serialised again would differ.
#[must_use]
pub fn conversation(dialect: Dialect, turns: usize, stream: bool) -> String {
    let turn = |at: usize| {
        let (role, text) = if at.is_multiple_of(2) {
            ("user", "question")
        } else {
            ("assistant", "caf\\u00e9 \\/ answer")
        };
        match dialect {
            Dialect::GeminiGenerateContent => {
                let role = if role == "assistant" { "model" } else { role };
                format!(r#"{{"role":"{role}", "parts":[{{"text":"{text} {at}"}}]}}"#)
            }
            _ => format!(r#"{{"role":"{role}", "content":"{text} {at}"}}"#),
        }
    };
    let turns: Vec<String> = (0..turns).map(turn).collect();
    let key = dialect.facts().list_key;
    let model = match dialect {
        Dialect::AnthropicMessages => {
            r#""model":"claude-sonnet-4-5","max_tokens":1e2,"#.replace("1e2", "100")
        }
        Dialect::GeminiGenerateContent => String::new(),
        _ => r#""model":"gpt-5","#.to_owned(),
    };
    let stream = match dialect {
        Dialect::GeminiGenerateContent => "",
        Dialect::OpenaiChat if stream => {
            r#","stream":true,"stream_options":{"include_usage":true}"#
        }
        _ if stream => r#","stream":true"#,
        _ => "",
    };
    format!(
        r#"{{ {model} "{key}" : [ {} ] , "unknown_field":1.50{stream} }}"#,
        turns.join(" , ")
    )
}
