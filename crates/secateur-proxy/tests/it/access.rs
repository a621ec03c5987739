//! Who may use the proxy.

use http::Method;
use secateur_core::Dialect;
use secateur_mock::MockOptions;
use secateur_proxy::{Proxy, ProxyParts, ServeError, hash_key};

use crate::stage::{Stage, config, conversation};

fn keys(more: &str) -> String {
    format!(
        "[workload.team]\npreset = \"tessera\"\nbudget_ms = 20000\n[[key]]\nname = \"team-a\"\nsha256 = \"{}\"\nworkload = \"team\"\ncredential_env = {{ openai = \"VALUE_real-openai\", gemini = \"VALUE_real-gemini\" }}\n{more}",
        hash_key("sk-virtual")
    )
}

#[tokio::test]
async fn an_address_that_others_reach_needs_keys_or_consent() {
    let mut open = config("http://127.0.0.1:9", "");
    open.listen = "0.0.0.0:0".parse().unwrap();
    let refused = Proxy::start(ProxyParts::new(open.clone())).await;
    assert!(matches!(refused, Err(ServeError::Open(_))));
    let mut parts = ProxyParts::new(open);
    parts.open = true;
    Proxy::start(parts).await.unwrap().shutdown().await;
    let mut with_keys = config("http://127.0.0.1:9", &keys(""));
    with_keys.listen = "0.0.0.0:0".parse().unwrap();
    Proxy::start(ProxyParts::new(with_keys))
        .await
        .unwrap()
        .shutdown()
        .await;
}

#[tokio::test]
async fn a_virtual_key_picks_the_workload_and_becomes_the_real_credential() {
    let stage = Stage::new(&keys("")).await;
    let chat = conversation(Dialect::OpenaiChat, 21, false);
    let none = stage.post("/v1/chat/completions", &[], chat.clone()).await;
    assert_eq!(
        (none.status.as_u16(), none.json()["error"]["type"].as_str()),
        (401, Some("authentication_error"))
    );
    let wrong = stage
        .post("/v1/messages", &[("x-api-key", "sk-other")], chat.clone())
        .await;
    assert_eq!(
        (wrong.status.as_u16(), wrong.json()["type"].as_str()),
        (401, Some("error"))
    );
    assert_eq!(stage.mock.requests(), 0);
    let right = stage
        .post(
            "/v1/chat/completions",
            &[("authorization", "Bearer sk-virtual")],
            chat,
        )
        .await;
    assert_eq!(
        (right.status.as_u16(), &right.headers["x-secateur-stack"]),
        (200, &"m7".parse::<http::HeaderValue>().unwrap())
    );
    assert_eq!(
        stage.mock.received()[0].headers["authorization"],
        "Bearer real-openai"
    );
    let gemini = conversation(Dialect::GeminiGenerateContent, 3, false);
    stage
        .post(
            "/v1beta/models/g:generateContent?key=sk-virtual&alt=json",
            &[],
            gemini,
        )
        .await;
    let received = stage.mock.received().pop().unwrap();
    assert_eq!(
        (received.uri.query(), &received.headers["x-goog-api-key"]),
        (
            Some("alt=json"),
            &"real-gemini".parse::<http::HeaderValue>().unwrap()
        )
    );
    let missing = stage
        .post(
            "/v1/messages",
            &[("x-api-key", "sk-virtual")],
            conversation(Dialect::AnthropicMessages, 3, false),
        )
        .await;
    assert_eq!(missing.status, 403);
    let events = stage.events.wait(5).await;
    assert_eq!(events[2].key.as_deref(), Some("team-a"));
}

#[tokio::test]
async fn a_key_has_its_rate() {
    let stage = Stage::new(&keys("requests_per_minute = 3\n")).await;
    let mut statuses = Vec::new();
    for _ in 0..5 {
        let body = conversation(Dialect::OpenaiChat, 3, false);
        let answer = stage
            .post(
                "/v1/chat/completions",
                &[("authorization", "Bearer sk-virtual")],
                body,
            )
            .await;
        statuses.push(answer.status.as_u16());
        if answer.status == 429 {
            assert!(
                answer.headers["retry-after"]
                    .to_str()
                    .unwrap()
                    .parse::<u64>()
                    .unwrap()
                    > 0
            );
        }
    }
    assert_eq!(statuses, [200, 200, 200, 429, 429]);
}

#[tokio::test]
async fn the_clients_own_credential_passes_beside_a_key_without_one() {
    let more = format!(
        "[[key]]\nname = \"a\"\nsha256 = \"{}\"\nworkload = \"default\"\n",
        hash_key("sk-virtual")
    );
    let stage = Stage::with(&more, MockOptions::default(), |_| {}).await;
    let headers = [
        ("x-secateur-key", "sk-virtual"),
        ("authorization", "Bearer theirs"),
    ];
    let answer = stage.send(Method::GET, "/v1/models", &headers, "").await;
    assert_eq!(answer.status(), 200);
    let received = stage.mock.received().pop().unwrap();
    assert_eq!(received.headers["authorization"], "Bearer theirs");
    assert!(!received.headers.contains_key("x-secateur-key"));
}
