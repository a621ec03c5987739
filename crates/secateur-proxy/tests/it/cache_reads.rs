//! Growing conversations through the proxy: what is predicted of the provider's cache, and what is billed.

use std::sync::{Arc, Mutex};

use secateur_core::Dialect;
use secateur_core::cost::Terms;
use secateur_core::cost::cache::{BlockList, CacheKind, SimulatedCache};
use secateur_core::report::CacheHit;
use secateur_mock::{MockOptions, Received, Scripted};
use secateur_proxy::audit::{AuditEvent, MissCause};
use serde_json::{Value, json};

use crate::stage::Stage;

const STEADY: &str = "[workload.p]\npreset = \"steady\"\nbudget_ms = 20000\n";
const MODEL: &str = "claude-sonnet-4-5";
const REQUESTS: usize = 20;

/// An agent's request after so many calls, marked after its instructions and on its last block.
fn body(steps: usize, state: &str, tool: &str) -> Value {
    let text = |text: &str| json!({"type": "text", "text": text});
    let mut messages = vec![json!({"role": "user", "content": [text("find the bug")]})];
    for step in 0..steps {
        let id = format!("toolu_{step}");
        let lines = 115 * (1 + step * 7 % 5);
        let line = |n: usize| format!("line {n} of step {step}: value {}\n", n * 31 % 977);
        let result: String = (0..lines).map(line).collect();
        messages.push(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": "run", "input": {"step": step}}]}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": result}]}));
    }
    let marker = json!({"type": "ephemeral"});
    messages[2 * steps]["content"][0]["cache_control"] = marker.clone();
    let mut system = json!([
        text("You are an agent."),
        text(&"Be careful. ".repeat(2_500)),
        text(state)
    ]);
    system[2]["cache_control"] = marker;
    let schema = json!({"type": "object"});
    json!({"model": MODEL, "max_tokens": 50, "system": system, "messages": messages,
        "metadata": {"session_id": "one"},
        "tools": [{"name": "see", "input_schema": schema},
            {"name": "run", "description": tool, "input_schema": schema}]})
}

/// Plays a conversation whose client may change its instructions or its tools at the middle. The provider takes its
/// time around the change, as real ones do: the proxy hashes a body's blocks beside the request, and a request that is
/// over before its blocks are hashed has no known cause of a miss.
async fn play(stage: &Stage, states: [&str; 2], tools: [&str; 2]) -> Vec<AuditEvent> {
    for steps in 0..REQUESTS {
        let half = usize::from(steps >= REQUESTS / 2);
        let body = body(steps, states[half], tools[half]).to_string();
        let is_near_change = (REQUESTS / 2 - 1..=REQUESTS / 2).contains(&steps);
        let conduct = if is_near_change { "delay=500" } else { "" };
        let headers = [("x-mock-conduct", conduct)];
        let answer = stage.post("/w/p/v1/messages", &headers, body).await;
        assert_eq!(answer.status, 200, "{:?}", answer.body);
        stage.events.last(steps + 1).await;
    }
    assert_eq!(stage.mock.rejected(), 0);
    stage.events.wait(REQUESTS).await
}

fn reads(events: &[AuditEvent]) -> (f64, f64) {
    let reads = events.iter().filter_map(|event| event.receipt.cache_read);
    reads.fold((0.0, 0.0), |(predicted, billed), read| {
        (
            predicted + read.predicted as f64,
            billed + read.billed as f64,
        )
    })
}

fn assert_agree(events: &[AuditEvent]) {
    let hits = events.iter().filter_map(|event| event.receipt.cache_read);
    let anchors = hits.filter(|read| matches!(read.hit, CacheHit::Anchor { .. }));
    assert!(anchors.count() > 0, "no round with an anchor");
    let (predicted, billed) = reads(events);
    assert!(billed > 50_000.0, "{billed}");
    let off = (predicted / billed - 1.0).abs();
    assert!(off < 0.03, "{predicted} predicted, {billed} billed");
}

#[tokio::test]
async fn predicted_and_billed_reads_of_a_session_agree() {
    let stage = Stage::new(STEADY).await;
    let events = play(&stage, ["a", "a"], ["runs", "runs"]).await;
    assert!(!events.iter().any(|event| event.retried_original));
    assert_agree(&events);
    let log = stage.log.text();
    assert!(
        log.contains("the marker reached an entry at message"),
        "{log}"
    );
    assert!(log.contains("an added marker reached an entry"), "{log}");
}

/// A provider whose tokens have 3.5 bytes, where the table of models says 2.6.
fn coarse_provider() -> MockOptions {
    let cache = Mutex::new(SimulatedCache::default());
    let script = move |received: &Received| {
        let dialect = Dialect::AnthropicMessages;
        let prompt = BlockList::of(&received.body, dialect, CacheKind::Marked).unwrap();
        let tokens = |bytes: usize| (bytes as f64 / 3.5).ceil();
        let rules = Terms::of(Some(MODEL), None).rules;
        let mut cache = cache.lock().unwrap();
        let bill = cache.request(&rules, MODEL, &prompt, 0.0, tokens).bill;
        let answer = json!({"id": "m", "type": "message", "role": "assistant", "model": MODEL,
            "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn",
            "usage": {"input_tokens": bill.plain as u64, "cache_read_input_tokens": bill.read as u64,
                "cache_creation_input_tokens": bill.written as u64, "output_tokens": 1}});
        Some(Scripted {
            status: 200,
            headers: vec![("content-type", "application/json".into())],
            body: answer.to_string().into(),
        })
    };
    MockOptions {
        script: Some(Arc::new(script)),
        ..MockOptions::default()
    }
}

#[tokio::test]
async fn the_ratio_of_another_tokenizer_is_learned_from_the_first_bill() {
    let stage = Stage::with(STEADY, coarse_provider(), |_| {}).await;
    let events = play(&stage, ["a", "a"], ["runs", "runs"]).await;
    assert_agree(&events);
}

#[tokio::test]
async fn a_miss_is_blamed_on_the_block_that_the_client_changed() {
    for (states, tools, cause, words) in [
        (
            ["a", "b"],
            ["runs", "runs"],
            "client-change",
            "the client changed system[2]",
        ),
        (
            ["a", "a"],
            ["runs", "walks"],
            "tools-changed",
            "the client changed its tool list at tools[1]",
        ),
    ] {
        let stage = Stage::new(STEADY).await;
        let events = play(&stage, states, tools).await;
        let changed = &events[REQUESTS / 2];
        let read = changed.receipt.cache_read.unwrap();
        assert_eq!(read.miss.map(MissCause::name), Some(cause), "{read:?}");
        assert!(read.describe().ends_with(words), "{}", read.describe());
        let metric = format!("secateur_cache_misses_total{{workload=\"p\",cause=\"{cause}\"}} 1");
        assert!(stage.proxy.metrics_page().contains(&metric));
        assert!(
            changed.receipt.saved_usd.unwrap() >= 0.0,
            "{:?}",
            changed.receipt
        );
    }
}
