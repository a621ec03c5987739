//! With mechanics on: what goes out is accepted, and when anything is wrong the original goes out.

use std::sync::Arc;
use std::time::Duration;

use secateur_core::Dialect;
use secateur_core::policy::Policy;
use secateur_core::{Outcome, Request};
use secateur_mock::{MockOptions, Received, Scripted};
use secateur_proxy::audit::FailOpen;
use secateur_proxy::{CoreEngine, Engine};

use crate::stage::{PRUNES, Stage, conversation, path};

#[tokio::test]
async fn long_conversations_are_pruned_in_every_dialect_and_the_provider_accepts_them() {
    let stage = Stage::new(PRUNES).await;
    for dialect in Dialect::ALL {
        for stream in [false, true] {
            let body = conversation(dialect, 21, stream);
            let answer = stage
                .post(&format!("/w/p{}", path(dialect, stream)), &[], body.clone())
                .await;
            assert_eq!(
                answer.status,
                200,
                "{}",
                String::from_utf8_lossy(&answer.body)
            );
            assert_eq!(
                answer.headers["x-tessera-context-pruned"],
                "turns_removed=12,rag_kept=0"
            );
            assert_eq!(answer.headers["x-secateur-stack"], "m7");
            assert!(
                answer.headers["x-secateur-receipt"]
                    .to_str()
                    .unwrap()
                    .starts_with("chars_before=")
            );
            let received = stage.mock.received().pop().unwrap();
            let sent = String::from_utf8(received.body.to_vec()).unwrap();
            assert!(sent.len() < body.len() / 2 + 200 && sent.contains("\\u00e9 \\/ answer 13\""));
            assert_eq!(received.headers["content-length"], sent.len().to_string());
        }
    }
    assert_eq!(stage.mock.rejected(), 0);
    let events = stage.events.wait(8).await;
    assert!(events.iter().all(
        |event| event.receipt.tokens_saved > Some(0) && event.bytes_after < event.bytes_before
    ));
}

#[tokio::test]
async fn short_conversations_and_bypassed_requests_go_out_as_they_came() {
    let stage = Stage::new(PRUNES).await;
    let path = "/w/p/v1/chat/completions";
    let short = conversation(Dialect::OpenaiChat, 3, false);
    let answer = stage.post(path, &[], short.clone()).await;
    assert_eq!(answer.headers["x-secateur-stack"], "none");
    assert!(!answer.headers.contains_key("x-tessera-context-pruned"));
    let long = conversation(Dialect::OpenaiChat, 21, false);
    stage
        .post(path, &[("x-secateur-bypass", "1")], long.clone())
        .await;
    let signed = stage
        .post(path, &[("content-digest", "sha-256=:x:")], long.clone())
        .await;
    assert_eq!(signed.headers["x-secateur-stack"], "none");
    let received = stage.mock.received();
    assert_eq!(received[0].body, short);
    assert_eq!(
        (&received[1].body, &received[2].body),
        (&long.clone().into(), &long.into())
    );
    assert!(!received[1].headers.contains_key("x-secateur-bypass"));
    let events = stage.events.wait(3).await;
    assert!(events[1].bypassed);
    assert_eq!(events[2].failed_open, Some(FailOpen::SignedBody));
}

/// Rejects every body that misses the turn in the middle.
fn rejects_pruned(status: u16) -> MockOptions {
    let script = move |received: &Received| {
        let is_pruned = !String::from_utf8_lossy(&received.body).contains("question 6\"");
        is_pruned.then(|| Scripted {
            status,
            headers: Vec::new(),
            body: "{}".into(),
        })
    };
    MockOptions {
        script: Some(Arc::new(script)),
        ..MockOptions::default()
    }
}

#[tokio::test]
async fn the_original_goes_out_once_when_the_provider_blames_the_body() {
    let stage = Stage::with(PRUNES, rejects_pruned(400), |_| {}).await;
    let body = conversation(Dialect::OpenaiChat, 21, false);
    let answer = stage
        .post("/w/p/v1/chat/completions", &[], body.clone())
        .await;
    assert_eq!(
        (answer.status.as_u16(), &answer.headers["x-secateur-stack"]),
        (200, &"none".parse::<http::HeaderValue>().unwrap())
    );
    assert!(!answer.headers.contains_key("x-tessera-context-pruned"));
    let received = stage.mock.received();
    assert_eq!((received.len(), &received[1].body), (2, &body.into()));
    let event = stage.events.wait(1).await.pop().unwrap();
    assert!(event.retried_original && event.struck_stack == ["m7"] && event.stack.is_empty());
    assert!(
        stage
            .proxy
            .metrics_page()
            .contains("secateur_retried_original_total{workload=\"p\",stack=\"m7\"} 1")
    );
}

#[tokio::test]
async fn other_errors_and_a_workload_that_says_no_are_not_retried() {
    for (status, more) in [
        (429, ""),
        (401, ""),
        (500, ""),
        (400, "retry_original = false\n"),
    ] {
        let stage = Stage::with(&format!("{PRUNES}{more}"), rejects_pruned(status), |_| {}).await;
        let answer = stage
            .post(
                "/w/p/v1/chat/completions",
                &[],
                conversation(Dialect::OpenaiChat, 21, false),
            )
            .await;
        assert_eq!((answer.status.as_u16(), stage.mock.requests()), (status, 1));
    }
}

#[derive(Debug)]
struct Stalls;

impl Engine for Stalls {
    fn prune<'a>(&self, body: &'a [u8], request: &Request<'_>, policy: &Policy) -> Outcome<'a> {
        std::thread::sleep(Duration::from_millis(200));
        CoreEngine.prune(body, request, policy)
    }
}

#[tokio::test]
async fn a_stalled_engine_costs_the_budget_and_nothing_else() {
    let more = PRUNES.replace("20000", "10");
    let stage = Stage::with(&more, MockOptions::default(), |parts| {
        parts.engine = Arc::new(Stalls);
    })
    .await;
    let body = conversation(Dialect::OpenaiChat, 21, false);
    let answer = stage
        .post("/w/p/v1/chat/completions", &[], body.clone())
        .await;
    assert_eq!(
        (answer.status.as_u16(), &stage.mock.received()[0].body),
        (200, &body.into())
    );
    assert_eq!(
        stage.events.wait(1).await[0].failed_open,
        Some(FailOpen::OverBudget)
    );
}

#[tokio::test]
async fn m1_moves_small_requests_to_the_cheaper_model() {
    let more = "[workload.r.route]\nmodels = { \"gpt-5\" = \"gpt-5-mini\", \"gemini-2.5-pro\" = \"gemini-2.5-flash\" }\n[workload.r]\nbudget_ms = 20000\n";
    let stage = Stage::new(more).await;
    let body = conversation(Dialect::OpenaiChat, 3, false);
    let answer = stage
        .post("/w/r/v1/chat/completions", &[], body.clone())
        .await;
    assert_eq!(
        (
            answer.json()["model"].as_str(),
            &answer.headers["x-secateur-stack"]
        ),
        (
            Some("gpt-5-mini"),
            &"m1".parse::<http::HeaderValue>().unwrap()
        )
    );
    assert_eq!(
        stage.mock.received()[0].body,
        body.replace("gpt-5", "gpt-5-mini")
    );
    let body = conversation(Dialect::GeminiGenerateContent, 3, false);
    stage
        .post(
            &format!("/w/r{}", path(Dialect::GeminiGenerateContent, false)),
            &[],
            body.clone(),
        )
        .await;
    let received = stage.mock.received().pop().unwrap();
    assert_eq!(
        (received.uri.path(), &received.body),
        (
            "/v1beta/models/gemini-2.5-flash:generateContent",
            &body.into()
        )
    );
    let events = stage.events.wait(2).await;
    assert_eq!(events[0].routed_to.as_deref(), Some("gpt-5-mini"));
    assert_eq!(events[0].model.as_deref(), Some("gpt-5"));
}

#[tokio::test]
async fn m8_gets_answers_of_the_schema_in_every_dialect() {
    let more = "[workload.s]\nbudget_ms = 20000\n[workload.s.expected_schema]\nname = \"city\"\nschema = '{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}}}'\n";
    let stage = Stage::new(more).await;
    for dialect in Dialect::ALL {
        let answer = stage
            .post(
                &format!("/w/s{}", path(dialect, false)),
                &[],
                conversation(dialect, 3, false),
            )
            .await;
        assert_eq!(answer.headers["x-secateur-stack"], "m8");
        assert!(
            String::from_utf8_lossy(&answer.body).contains(r#"{\"city\":\"Zürich\"}"#),
            "{dialect}"
        );
    }
    assert_eq!(stage.mock.rejected(), 0);
}

#[tokio::test]
async fn a_body_that_lets_the_provider_drop_thinking_goes_out_with_its_beta_header() {
    let config = r#"
        [workload.p]
        policy = { thinking_binding = "drop_block", m7 = { enabled = true, min_messages = 0, min_body_chars = 0, strategies = ["old-tool-results"] }, old-tool-results = { mode = "aggressive", keep_last_assistants = 1 } }
    "#;
    let stage = Stage::new(config).await;
    let call = |id: &str| {
        serde_json::json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "tool_use", "id": id, "name": "read", "input": {"path": "a"}}]})
    };
    let result = |id: &str| {
        serde_json::json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": "line\n".repeat(400)}]})
    };
    let body = serde_json::json!({"model": "claude-fable-5-1", "max_tokens": 10, "messages": [
        {"role": "user", "content": "q"}, call("a"), result("a"), call("b"), result("b")],
        "tools": [{"name": "read", "input_schema": {"type": "object"}}]});
    for (sent, expected) in [
        ("", "thinking-binding-controls-2026-08-01"),
        ("other-1", "other-1,thinking-binding-controls-2026-08-01"),
    ] {
        let headers = [("anthropic-beta", sent)];
        stage
            .post("/w/p/v1/messages", &headers, body.to_string().into_bytes())
            .await;
        let received = stage.mock.received().pop().unwrap();
        assert_eq!(received.headers["anthropic-beta"], expected);
        assert!(String::from_utf8_lossy(&received.body).contains("drop_block"));
    }
}
