//! A proxy in front of a strict provider, and a client.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response};
use hyper::body::Incoming;
use secateur_ledger::Spending;
pub(crate) use secateur_mock::client::{
    Answer, TestClient, chat, client, conversation, path, request, whole,
};
use secateur_mock::{Mock, MockOptions};
use secateur_proxy::audit::{AuditEvent, AuditSink};
use secateur_proxy::config::LogFormat;
use secateur_proxy::{Captured, Config, Log, Proxy, ProxyParts};

#[derive(Clone, Debug, Default)]
pub(crate) struct Events(Arc<Mutex<Vec<AuditEvent>>>, Arc<Mutex<Vec<Spending>>>);

impl AuditSink for Events {
    fn record(&self, event: &AuditEvent) {
        self.0.lock().unwrap().push(event.clone());
    }

    fn record_spending(&self, spending: Spending) {
        self.1.lock().unwrap().push(spending);
    }
}

impl Events {
    /// What the proxy's own calls cost so far.
    pub(crate) fn spending(&self) -> Vec<Spending> {
        self.1.lock().unwrap().clone()
    }

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

pub(crate) struct Stage {
    pub(crate) mock: Mock,
    pub(crate) proxy: Proxy,
    pub(crate) events: Events,
    pub(crate) log: Captured,
    pub(crate) client: TestClient,
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
