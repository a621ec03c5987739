//! Traces by OTLP over HTTP, in its JSON encoding: one span a request, one for its upstream call.
//!
//! Spans wait in a bounded queue and go out in batches from a task of their own. A collector that is
//! slow or away costs spans, which are counted, and never a request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::audit::{AuditEvent, Ended};
use crate::config::Otlp;
use crate::upstream::{OutBody, UpstreamClient};
use crate::wire::identity::fresh_id;

/// Spans that may wait.
const WAITING: usize = 8192;
/// Spans that go out together.
const BATCH: usize = 512;
/// How long spans wait for a batch to fill up.
const EVERY: Duration = Duration::from_secs(1);
/// How long a collector may take.
const WITHIN: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug)]
pub(crate) struct Traces {
    sender: mpsc::Sender<Value>,
    dropped: Arc<AtomicU64>,
}

impl Traces {
    pub(crate) fn start(otlp: Otlp, client: UpstreamClient) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        let dropped = Arc::<AtomicU64>::default();
        tokio::spawn(export(otlp, client, receiver, Arc::clone(&dropped)));
        Self { sender, dropped }
    }

    /// Spans that the collector did not take.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn record(&self, event: &AuditEvent) {
        for span in spans(event) {
            if self.sender.try_send(span).is_err() {
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

fn spans(event: &AuditEvent) -> Vec<Value> {
    let (trace, parent) = match &event.trace {
        Some((trace, parent)) => (trace.clone(), parent.clone()),
        None => (format!("{}{}", fresh_id(), fresh_id()), String::new()),
    };
    let span = fresh_id();
    let start = event.at;
    let is_error = event.status >= 500 || event.ended != Ended::Complete;
    let mut request = json!({
        "traceId": trace, "spanId": span, "parentSpanId": parent, "name": "secateur.request", "kind": 2,
        "startTimeUnixNano": nanos(start), "endTimeUnixNano": nanos(start + event.total),
        "attributes": [
            text("secateur.request_id", &event.id),
            text("secateur.workload", &event.workload),
            text("secateur.stack", &event.stack_name()),
            text("secateur.ended", event.ended.name()),
            text("gen_ai.provider.name", event.provider.name()),
            text("gen_ai.request.model", event.model.as_deref().unwrap_or("unknown")),
            number("http.response.status_code", event.status.into()),
            number("secateur.bytes_before", event.bytes_before),
            number("secateur.bytes_after", event.bytes_after),
            number("gen_ai.usage.input_tokens", event.usage.as_ref().and_then(|usage| usage.input_tokens).unwrap_or(0)),
            number("gen_ai.usage.output_tokens", event.usage.as_ref().and_then(|usage| usage.output_tokens).unwrap_or(0)),
        ],
        "status": {"code": if is_error { 2 } else { 1 }}
    });
    if parent.is_empty()
        && let Some(object) = request.as_object_mut()
    {
        object.remove("parentSpanId");
    }
    let mut spans = vec![request];
    if let Some(upstream) = event.upstream_total {
        spans.push(json!({
            "traceId": trace, "spanId": fresh_id(), "parentSpanId": span, "name": "secateur.upstream", "kind": 3,
            "startTimeUnixNano": nanos(start + event.total.saturating_sub(upstream)), "endTimeUnixNano": nanos(start + event.total),
            "attributes": [number("http.response.status_code", event.upstream_status.unwrap_or(0).into())],
            "status": {"code": 0}
        }));
    }
    spans
}

fn nanos(at: SystemTime) -> String {
    at.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos()
        .to_string()
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

/// Sends what waits once a second, and at once where a whole batch waits.
async fn export(
    otlp: Otlp,
    client: UpstreamClient,
    mut receiver: mpsc::Receiver<Value>,
    dropped: Arc<AtomicU64>,
) {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        if receiver.recv_many(&mut batch, BATCH).await == 0 {
            return;
        }
        let due = tokio::time::Instant::now() + EVERY;
        while batch.len() < BATCH {
            let room = BATCH - batch.len();
            let more = receiver.recv_many(&mut batch, room);
            if matches!(tokio::time::timeout_at(due, more).await, Err(_) | Ok(0)) {
                break;
            }
        }
        if !deliver(&otlp, &client, &batch).await {
            dropped.fetch_add(batch.len() as u64, Ordering::Relaxed);
        }
        batch.clear();
    }
}

/// Whether the collector took the spans.
async fn deliver(otlp: &Otlp, client: &UpstreamClient, spans: &[Value]) -> bool {
    let Some(request) = request(otlp, spans) else {
        return false;
    };
    let sent = async {
        let response = client.send(request).await.ok()?;
        let status = response.status();
        response.into_body().collect().await.ok()?;
        Some(status)
    };
    let status = tokio::time::timeout(WITHIN, sent).await;
    matches!(status, Ok(Some(status)) if status.is_success())
}

fn request(otlp: &Otlp, spans: &[Value]) -> Option<Request<OutBody>> {
    let body = json!({"resourceSpans": [{
        "resource": {"attributes": [text("service.name", "secateur")]},
        "scopeSpans": [{"scope": {"name": "secateur-proxy", "version": env!("CARGO_PKG_VERSION")}, "spans": spans}]
    }]});
    let uri = crate::upstream::upstream_uri(&otlp.endpoint, "/v1/traces", None).ok()?;
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(uri)
        .header(header::CONTENT_TYPE, "application/json");
    for (name, value) in &otlp.headers {
        request = request.header(name, value.reveal());
    }
    request
        .body(OutBody::Full(Full::new(Bytes::from(body.to_string()))))
        .ok()
}
