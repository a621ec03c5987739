//! A proxy in front of a strict provider, and a client.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use secateur_core::Dialect;
use secateur_mock::{Mock, MockOptions};
use secateur_proxy::audit::{AuditEvent, AuditSink};
use secateur_proxy::config::LogFormat;
use secateur_proxy::{Captured, Config, Log, Proxy, ProxyParts};

#[derive(Clone, Debug, Default)]
pub(crate) struct Events(Arc<Mutex<Vec<AuditEvent>>>);

impl AuditSink for Events {
    fn record(&self, event: &AuditEvent) {
        self.0.lock().unwrap().push(event.clone());
    }
}

impl Events {
    /// The events so far, once there are `count` of them.
    pub(crate) async fn wait(&self, count: usize) -> Vec<AuditEvent> {
        for _ in 0..500 {
            if self.0.lock().unwrap().len() >= count {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let events = self.0.lock().unwrap().clone();
        assert_eq!(events.len(), count, "{events:#?}");
        events
    }

    /// The event number `count`, once it is there.
    pub(crate) async fn last(&self, count: usize) -> AuditEvent {
        for _ in 0..500 {
            if let Some(event) = self.0.lock().unwrap().get(count - 1) {
                return event.clone();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("no event number {count}");
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

pub(crate) type TestClient = Client<HttpConnector, Full<Bytes>>;

pub(crate) struct Stage {
    pub(crate) mock: Mock,
    pub(crate) proxy: Proxy,
    pub(crate) events: Events,
    pub(crate) log: Captured,
    pub(crate) client: TestClient,
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A configuration that leads to the mock; `{mock}` in it stands for its address.
pub(crate) fn config(mock_url: &str, more: &str) -> Config {
    let more = more.replace("{mock}", mock_url);
    let text = format!(
        "listen = \"127.0.0.1:0\"\n{more}\n[upstream]\nopenai = \"{mock_url}\"\nanthropic = \"{mock_url}\"\ngemini = \"{mock_url}\"\n"
    );
    let env = |name: &str| name.strip_prefix("VALUE_").map(str::to_owned);
    Config::read("test", &text, Path::new("."), &env)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A workload that prunes, with time enough for a busy machine.
pub(crate) const PRUNES: &str = "[workload.p]\npreset = \"tessera\"\nbudget_ms = 20000\n";

impl Stage {
    pub(crate) async fn new(more: &str) -> Self {
        Self::with(more, MockOptions::default(), |_| {}).await
    }

    pub(crate) async fn with(
        more: &str,
        options: MockOptions,
        set: impl FnOnce(&mut ProxyParts),
    ) -> Self {
        let mock = Mock::start(MockOptions {
            keep_requests: true,
            ..options
        })
        .await
        .unwrap();
        let (events, log) = (Events::default(), Captured::default());
        let mut parts = ProxyParts::new(config(&mock.url(), more));
        parts.sink = Arc::new(events.clone());
        parts.log = Log::to(LogFormat::Json, log.clone());
        set(&mut parts);
        let proxy = Proxy::start(parts).await.unwrap();
        Self {
            mock,
            proxy,
            events,
            log,
            client: client(),
        }
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Response<Incoming> {
        request(&self.client, &self.proxy.url(), method, path, headers, body)
            .await
            .unwrap()
    }

    pub(crate) async fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        whole(self.send(Method::POST, path, headers, body).await).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        whole(self.send(Method::GET, path, &[], Bytes::new()).await).await
    }

    pub(crate) async fn direct(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        whole(
            request(
                &self.client,
                &self.mock.url(),
                Method::POST,
                path,
                headers,
                body,
            )
            .await
            .unwrap(),
        )
        .await
    }
}

pub(crate) fn client() -> TestClient {
    Client::builder(TokioExecutor::new()).build_http()
}

pub(crate) async fn request(
    client: &TestClient,
    base: &str,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Result<Response<Incoming>, hyper_util::client::legacy::Error> {
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

pub(crate) async fn whole(response: Response<Incoming>) -> Answer {
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer {
        status: head.status,
        headers: head.headers,
        body,
    }
}

pub(crate) fn path(dialect: Dialect, stream: bool) -> &'static str {
    match (dialect, stream) {
        (Dialect::OpenaiChat, _) => "/v1/chat/completions",
        (Dialect::OpenaiResponses, _) => "/v1/responses",
        (Dialect::AnthropicMessages, _) => "/v1/messages",
        (_, false) => "/v1beta/models/gemini-2.5-pro:generateContent",
        (_, true) => "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
    }
}

/// The body of a short chat.
pub(crate) fn chat() -> String {
    conversation(Dialect::OpenaiChat, 3, false)
}

/// A conversation of so many turns, spelled in an unusual way so that a body which was parsed and
/// serialised again would differ.
pub(crate) fn conversation(dialect: Dialect, turns: usize, stream: bool) -> String {
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
