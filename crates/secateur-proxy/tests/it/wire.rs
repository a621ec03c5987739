//! Recorded exchanges of real providers, where the data is there: mechanics off, every byte passes.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use secateur_core::Dialect;
use secateur_mock::{MockOptions, Received, Scripted};
use serde_json::Value;

use crate::stage::{Stage, path};

fn recordings() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let root = std::env::var_os("SECATEUR_DATA").map_or(root, PathBuf::from);
    Some(root.join("wire/recordings.jsonl.gz")).filter(|path| path.exists())
}

#[tokio::test]
async fn recorded_exchanges_pass_byte_for_byte() {
    let Some(path_of_data) = recordings() else {
        println!("skipped: no wire/recordings.jsonl.gz (set SECATEUR_DATA to the data's folder)");
        return;
    };
    let next: Arc<Mutex<Option<Scripted>>> = Arc::default();
    let scripted = Arc::clone(&next);
    let script = move |_: &Received| scripted.lock().unwrap().clone();
    let options = MockOptions {
        script: Some(Arc::new(script)),
        ..MockOptions::default()
    };
    let stage = Stage::with("", options, |_| {}).await;
    let file = std::fs::File::open(path_of_data).unwrap();
    let lines = BufReader::new(flate2::read::MultiGzDecoder::new(file)).lines();
    let (mut exchanges, mut with_usage, mut unread) = (0, 0, Vec::new());
    for line in lines {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let dialect = Dialect::from_name(line["dialect"].as_str().unwrap()).unwrap();
        let (body, kind) = match &line["response"] {
            Value::String(text) if text.starts_with('{') => (text.clone(), "application/json"),
            Value::String(text) => (text.clone(), "text/event-stream; charset=utf-8"),
            other => (other.to_string(), "application/json"),
        };
        let status = u16::try_from(line["status"].as_u64().unwrap()).unwrap();
        let headers = vec![
            ("content-type", kind.to_owned()),
            ("x-recorded", "a, b".to_owned()),
        ];
        *next.lock().unwrap() = Some(Scripted {
            status,
            headers,
            body: Bytes::from(body.clone()),
        });
        let request = line["request"].to_string();
        // Cut into small chunks now and then, as networks do.
        let conduct = if exchanges % 5 == 0 { "chunk=37" } else { "" };
        let answer = stage
            .post(
                path(dialect, false),
                &[("x-mock-conduct", conduct)],
                request.clone(),
            )
            .await;
        assert_eq!(
            (answer.status.as_u16(), &answer.body[..]),
            (status, body.as_bytes()),
            "{}",
            line["id"]
        );
        assert_eq!(
            (
                &answer.headers["content-type"],
                &answer.headers["x-recorded"]
            ),
            (
                &kind.parse::<http::HeaderValue>().unwrap(),
                &"a, b".parse::<http::HeaderValue>().unwrap()
            )
        );
        assert_eq!(
            stage.mock.received().pop().unwrap().body,
            request,
            "{}",
            line["id"]
        );
        exchanges += 1;
        let event = stage.events.last(exchanges).await;
        let names = [
            "\"prompt_tokens\":",
            "\"input_tokens\":",
            "\"promptTokenCount\":",
        ];
        let says = names.iter().any(|name| body.contains(name));
        let counted = event
            .usage
            .as_ref()
            .is_some_and(|usage| usage.input_tokens.is_some());
        with_usage += usize::from(counted);
        if says && status == 200 && !counted {
            unread.push(line["id"].to_string());
        }
    }
    // Responses that were only queued or blocked count nothing but name the fields elsewhere.
    println!("{exchanges} exchanges, usage read from {with_usage}; without: {unread:?}");
    assert!(
        exchanges > 700 && unread.len() <= 2,
        "{exchanges} exchanges, {with_usage} with usage"
    );
}
