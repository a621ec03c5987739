//! Paths of providers: known ones go to their own upstream, others nowhere.

use std::sync::Arc;

use bytes::Bytes;
use secateur_core::Dialect;
use secateur_mock::{MockOptions, Received, Scripted};
use secateur_proxy::hash_key;

use crate::stage::{Stage, chat, conversation};

const BEDROCK: &str = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/invoke";
const ARN: &str =
    "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.anthropic.claude-x/invoke";
const VERTEX: &str = "/v1/projects/p/locations/l/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict";
const VERTEX_GEMINI: &str =
    "/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro:generateContent";
const CODE_ASSIST: &str = "/v1internal:generateContent";
const AZURE: &str = "/openai/deployments/gpt-5/chat/completions?api-version=2024-10-21";

/// Upstreams for all of them, in a workload that prunes.
const CLOUDS: &str = "[workload.p]\npreset = \"tessera\"\nbudget_ms = 20000\nupstream.bedrock = \"{mock}\"\nupstream.vertex = \"{mock}\"\nupstream.code_assist = \"{mock}\"\nupstream.azure = \"{mock}\"\n";

/// Answers everything.
fn answers() -> MockOptions {
    let script = |_: &Received| {
        Some(Scripted {
            status: 200,
            headers: vec![("content-type", "application/json".to_owned())],
            body: Bytes::from_static(b"{}"),
        })
    };
    MockOptions {
        script: Some(Arc::new(script)),
        ..MockOptions::default()
    }
}

/// They went to OpenAI's upstream, with the credential of another provider.
#[tokio::test]
async fn a_path_that_no_upstream_is_known_for_goes_nowhere() {
    let stage = Stage::with("", answers(), |_| {}).await;
    for (path, setting) in [
        (CODE_ASSIST, "`code_assist` under [upstream]"),
        (
            "/v1internal:loadCodeAssist",
            "`code_assist` under [upstream]",
        ),
        (BEDROCK, "`bedrock` under [upstream]"),
        (ARN, "`bedrock` under [upstream]"),
        (
            "/model/amazon.nova/converse-stream",
            "`bedrock` under [upstream]",
        ),
        (VERTEX, "`vertex` under [upstream]"),
        (VERTEX_GEMINI, "`vertex` under [upstream]"),
        (
            "/projects/p/locations/l/publishers/anthropic/models/c:rawPredict",
            "`vertex` under [upstream]",
        ),
        (AZURE, "`azure` under [upstream]"),
        (
            "/openai/v1/responses?api-version=preview",
            "`azure` under [upstream]",
        ),
        ("/api/chat", "`provider` in [workload.NAME]"),
        ("/", "`provider` in [workload.NAME]"),
        ("/favicon.ico", "`provider` in [workload.NAME]"),
    ] {
        let answer = stage
            .post(path, &[("authorization", "Bearer theirs")], "{}")
            .await;
        assert_eq!(answer.status, 404, "{path}");
        let words = answer.json()["error"]["message"].to_string();
        assert!(words.contains(setting), "{path}: {words}");
    }
    assert_eq!(stage.mock.requests(), 0);
    let amazon = stage.post(BEDROCK, &[], "{}").await.json();
    assert!(amazon["message"].is_string() && amazon["error"]["type"] == "not_found_error");
    let google = stage.post(CODE_ASSIST, &[], "{}").await.json();
    assert_eq!(google["error"]["status"], "NOT_FOUND");
}

#[tokio::test]
async fn a_workload_can_say_whose_its_paths_are_but_not_take_those_of_clouds() {
    let stage = Stage::with("[workload.o]\nprovider = \"openai\"\n", answers(), |_| {}).await;
    assert_eq!(stage.post("/w/o/api/chat", &[], "{}").await.status, 200);
    assert_eq!(stage.mock.received().pop().unwrap().uri.path(), "/api/chat");
    let path = format!("/w/o{BEDROCK}");
    assert_eq!(stage.post(&path, &[], "{}").await.status, 404);
}

#[tokio::test]
async fn bodies_of_clouds_are_pruned_where_their_dialect_is_known() {
    let stage = Stage::with(CLOUDS, answers(), |_| {}).await;
    let model = "\"model\":\"claude-sonnet-4-5\",";
    let version = "\"anthropic_version\":\"bedrock-2023-05-31\",";
    let claude = conversation(Dialect::AnthropicMessages, 21, false).replace(model, version);
    let gemini = conversation(Dialect::GeminiGenerateContent, 21, false);
    let openai = conversation(Dialect::OpenaiChat, 21, false);
    for (path, body) in [
        (BEDROCK, &claude),
        (ARN, &claude),
        (VERTEX, &claude),
        (VERTEX_GEMINI, &gemini),
        (AZURE, &openai),
    ] {
        let answer = stage.post(&format!("/w/p{path}"), &[], body.clone()).await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.headers["x-secateur-stack"], "m7", "{path}");
        let received = stage.mock.received().pop().unwrap();
        let sent = std::str::from_utf8(&received.body).unwrap();
        assert!(sent.len() < body.len() && sent.contains("unknown_field\":1.50"));
        assert_eq!(sent.contains(version), body.contains(version), "{path}");
        let asked = path.replace("%3A", ":");
        assert_eq!(received.uri.path_and_query().unwrap().as_str(), asked);
    }
    // Another model's body is not looked at.
    let nova = "/w/p/model/amazon.nova-pro-v1:0/invoke";
    stage.post(nova, &[], claude.clone()).await;
    assert_eq!(stage.mock.received().pop().unwrap().body, claude);
}

#[tokio::test]
async fn code_assist_is_pruned_inside_of_its_wrapping() {
    let stage = Stage::with(CLOUDS, answers(), |_| {}).await;
    let path = format!("/w/p{CODE_ASSIST}");
    let inner = conversation(Dialect::GeminiGenerateContent, 21, false);
    let (before, after) = (
        "{ \"model\":\"gemini-2.5-pro\", \"project\" : \"p\",\"request\": ",
        " ,\"user_prompt_id\":1.50 }",
    );
    let answer = stage
        .post(&path, &[], format!("{before}{inner}{after}"))
        .await;
    assert_eq!(answer.headers["x-secateur-stack"], "m7");
    let received = stage.mock.received().pop().unwrap();
    let sent = std::str::from_utf8(&received.body).unwrap();
    let kept = sent
        .strip_prefix(before)
        .and_then(|sent| sent.strip_suffix(after));
    let kept: serde_json::Value = serde_json::from_str(kept.unwrap()).unwrap();
    assert!(kept["contents"].as_array().unwrap().len() < 21);
    let event = stage.events.last(1).await;
    assert_eq!(event.model.as_deref(), Some("gemini-2.5-pro"));
    // What is not wrapped passes as it is.
    stage.post(&path, &[], inner.clone()).await;
    assert_eq!(stage.mock.received().pop().unwrap().body, inner);
}

#[tokio::test]
async fn a_keys_credential_goes_to_its_own_provider() {
    let key = |name: &str, provider: &str| {
        format!(
            "[[key]]\nname = \"{name}\"\nsha256 = \"{}\"\nworkload = \"p\"\ncredential_env = {{ {provider} = \"VALUE_real-{provider}\" }}\n",
            hash_key(name)
        )
    };
    let text = [
        CLOUDS.to_owned(),
        key("sk-openai", "openai"),
        key("sk-bedrock", "bedrock"),
        key("sk-azure", "azure"),
    ];
    let stage = Stage::with(&text.concat(), answers(), |_| {}).await;
    let with = |key: &str| format!("Bearer {key}");
    for path in [BEDROCK, VERTEX, CODE_ASSIST, AZURE] {
        let bearer = with("sk-openai");
        let answer = stage
            .post(path, &[("authorization", &bearer)], chat())
            .await;
        assert_eq!(answer.status, 403, "{path}");
    }
    assert_eq!(stage.mock.requests(), 0);
    let bearer = with("sk-bedrock");
    stage
        .post(BEDROCK, &[("authorization", &bearer)], chat())
        .await;
    let received = stage.mock.received().pop().unwrap();
    assert_eq!(received.headers["authorization"], "Bearer real-bedrock");
    stage.post(AZURE, &[("api-key", "sk-azure")], chat()).await;
    let received = stage.mock.received().pop().unwrap();
    assert_eq!(received.headers["api-key"], "real-azure");
    let managed = "/model/amazon.nova/other";
    let answer = stage
        .post(managed, &[("authorization", &bearer)], "{}")
        .await;
    assert_eq!(answer.status, 403);
}
