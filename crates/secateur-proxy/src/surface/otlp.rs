//! Traces by OTLP over HTTP, in its JSON encoding: one span a request, one for its upstream call.
//!
//! Spans wait in a bounded queue and go out in batches from a task of their own. A collector that is
//! slow or away costs spans, never a request.

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

const WAITING: usize = 4096;
const BATCH: usize = 256;
const EVERY: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub(crate) struct Traces {
    sender: mpsc::Sender<Value>,
}

impl Traces {
    pub(crate) fn start(otlp: Otlp, client: UpstreamClient) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        tokio::spawn(export(otlp, client, receiver));
        Self { sender }
    }

    pub(super) fn record(&self, event: &AuditEvent) {
        for span in spans(event) {
            // A full queue drops the span.
            let _ = self.sender.try_send(span);
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
    if event.upstream_head.is_some() {
        spans.push(json!({
            "traceId": trace, "spanId": fresh_id(), "parentSpanId": span, "name": "secateur.upstream", "kind": 3,
            "startTimeUnixNano": nanos(start + event.added), "endTimeUnixNano": nanos(start + event.total),
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

async fn export(otlp: Otlp, client: UpstreamClient, mut receiver: mpsc::Receiver<Value>) {
    let mut batch = Vec::new();
    loop {
        if receiver.recv_many(&mut batch, BATCH).await == 0 {
            return;
        }
        tokio::time::sleep(EVERY).await;
        while batch.len() < BATCH
            && let Ok(span) = receiver.try_recv()
        {
            batch.push(span);
        }
        let spans = std::mem::take(&mut batch);
        if let Some(request) = request(&otlp, &spans) {
            let sent = tokio::time::timeout(Duration::from_secs(10), async {
                let response = client.send(request).await.ok()?;
                response.into_body().collect().await.ok()
            });
            // A batch that could not be delivered is lost.
            let _ = sent.await;
        }
    }
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
