//! What the holder of a virtual key may do with the credential behind it.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use http::Method;
use secateur_core::Dialect;
use secateur_proxy::hash_key;

use crate::stage::{Stage, chat, conversation, whole};

const CHAT: &str = "/v1/chat/completions";
const BEARER: (&str, &str) = ("authorization", "Bearer sk-virtual");

/// A key of the workload `team`, beside another workload.
fn key(more: &str) -> String {
    format!(
        "[workload.team]\n[workload.other]\n[[key]]\nname = \"team-a\"\nsha256 = \"{}\"\nworkload = \"team\"\ncredential_env = {{ openai = \"VALUE_real-openai\", gemini = \"VALUE_real-gemini\", anthropic = \"VALUE_real-anthropic\" }}\n{more}",
        hash_key("sk-virtual")
    )
}

/// The status of an answer and the code of its error, in OpenAI's shape.
async fn refused(stage: &Stage, method: Method, path: &str, body: &str) -> (u16, String) {
    let sent = stage.send(method, path, &[BEARER], body.to_owned()).await;
    let answer = whole(sent).await;
    let code = answer.json()["error"]["code"].clone();
    (
        answer.status.as_u16(),
        code.as_str().unwrap_or_default().to_owned(),
    )
}

/// All of these went out with the real credential.
#[tokio::test]
async fn a_key_reaches_the_endpoints_of_models_only() {
    let stage = Stage::new(&key("")).await;
    for (method, path) in [
        (Method::GET, "/v1/files"),
        (Method::POST, "/v1/files"),
        (Method::GET, "/v1/organization/admin_api_keys"),
        (Method::POST, "/v1/organization/admin_api_keys"),
        (Method::DELETE, "/v1/models/ft:gpt-5:org"),
        (Method::GET, "/v1/chat/completions"),
        (Method::POST, "/v1/chat/completions/../files"),
        (Method::POST, "/v1/chat/completions/%2e%2e/%2E./files"),
        (Method::POST, "/w/team/../../v1//files"),
        (Method::POST, "/v1/batches"),
        (Method::POST, "/v1/embeddings"),
        (Method::POST, "/v1/threads/t/messages"),
    ] {
        let found = refused(&stage, method.clone(), path, &chat()).await;
        assert_eq!(
            found,
            (403, "path-not-allowed".to_owned()),
            "{method} {path}"
        );
    }
    for path in [
        "/v1/chat/completions/..%2f..%2ffiles",
        "/v1/chat/completions/%252e%252e/files",
        "/v1/files/..;/chat/completions",
    ] {
        let found = refused(&stage, Method::POST, path, &chat()).await;
        assert_eq!(found, (400, "ambiguous-path".to_owned()), "{path}");
    }
    for path in [
        "/v1beta/files?key=sk-virtual",
        "/v1beta/models/x/operations/y:generateContent?key=sk-virtual",
        "/v1beta/models/g:batchGenerateContent?key=sk-virtual",
    ] {
        let answer = stage.post(path, &[], "{}").await;
        assert_eq!(answer.status, 403, "{path}");
        assert_eq!(answer.json()["error"]["status"], "PERMISSION_DENIED");
    }
    let batches = [("x-api-key", "sk-virtual")];
    let answer = stage.post("/v1/messages/batches", &batches, "{}").await;
    assert_eq!(answer.json()["error"]["type"], "permission_error");
    assert_eq!(stage.mock.requests(), 0);
    let listed = stage.send(Method::GET, "/v1/models", &[BEARER], "").await;
    assert_eq!(listed.status(), 200);
    let headers = [BEARER, ("x-http-method-override", "DELETE")];
    assert_eq!(stage.post(CHAT, &headers, chat()).await.status, 200);
    let received = stage.mock.received().pop().unwrap();
    assert_eq!(received.headers["authorization"], "Bearer real-openai");
    assert!(!received.headers.contains_key("x-http-method-override"));
}

#[tokio::test]
async fn a_key_reaches_the_paths_that_it_lists_as_well() {
    let stage = Stage::new(&key("paths = [\"/v1/files*\", \"/v1/embeddings\"]\n")).await;
    for (path, is_allowed) in [
        ("/v1/files", true),
        ("/v1/files/f-1/content", true),
        ("/v1/embeddings", true),
        (CHAT, true),
        ("/v1/files/../batches", false),
        ("/v1/embeddings/x", false),
    ] {
        let before = stage.mock.requests();
        let answer = stage.post(path, &[BEARER], chat()).await;
        let is_sent = stage.mock.requests() > before;
        assert_eq!(is_sent, is_allowed, "{path}");
        assert_eq!(answer.status == 403, !is_allowed, "{path}");
    }
}

#[tokio::test]
async fn a_key_asks_its_models_only() {
    let stage = Stage::new(&key("models = [\"gpt-5\", \"gemini-2.5-*\"]\n")).await;
    let body = chat();
    let other = body.replace("gpt-5", "o3-pro");
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(other.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let twice = body.replace("\"model\":", "\"model\":\"o3-pro\",\"model\":");
    let spelled = body.replace("\"model\":", "\"Model\":\"o3-pro\",\"model\":");
    let list = body.replace("\"model\":", "\"models\":[\"o3-pro\"],\"model\":");
    for body in [&other, &twice, &spelled, &list] {
        let found = refused(&stage, Method::POST, CHAT, body).await;
        assert_eq!(found, (403, "model-not-allowed".to_owned()), "{body}");
    }
    let none = body.replace("\"model\"", "\"x\"");
    for body in [none.as_str(), "", "[", "{\"model\":5}"] {
        let found = refused(&stage, Method::POST, CHAT, body).await;
        assert_eq!(found, (403, "model-unreadable".to_owned()), "{body}");
    }
    let headers = [
        BEARER,
        ("content-encoding", "gzip"),
        ("x-secateur-bypass", "1"),
    ];
    let answer = stage.post(CHAT, &headers, packed).await;
    assert_eq!(answer.json()["error"]["code"], "model-not-allowed");
    let gemini = conversation(Dialect::GeminiGenerateContent, 3, false);
    let google = [("x-goog-api-key", "sk-virtual")];
    let ask = |model: &str| format!("/v1beta/models/{model}:generateContent");
    let answer = stage.post(&ask("gemini-9"), &google, gemini.clone()).await;
    assert_eq!(answer.status, 403);
    assert_eq!(stage.mock.requests(), 0);
    let answer = stage.post(&ask("gemini-2.5-pro"), &google, gemini).await;
    assert_eq!(answer.status, 200);
    let answer = stage.post(CHAT, &[BEARER], body.clone()).await;
    assert_eq!(answer.status, 200);
    assert_eq!(stage.mock.received().pop().unwrap().body, body);
}

/// The request ran as the key's own workload, and nobody was told.
#[tokio::test]
async fn a_key_on_the_path_of_another_workload_is_refused() {
    let stage = Stage::new(&key("")).await;
    let path = format!("/w/other{CHAT}");
    let answer = stage.post(&path, &[BEARER], chat()).await;
    let error = &answer.json()["error"];
    assert_eq!(
        (answer.status.as_u16(), &error["code"]),
        (403, &"other-workload".into())
    );
    let words = error["message"].as_str().unwrap();
    assert!(
        words.contains("`team`") && words.contains("`other`"),
        "{words}"
    );
    let headers = [BEARER, ("x-secateur-workload", "other")];
    assert_eq!(stage.post(CHAT, &headers, chat()).await.status, 403);
    let both = format!("/w/team{CHAT}");
    assert_eq!(stage.post(&both, &headers, chat()).await.status, 403);
    for own in ["recall", "scores"] {
        let path = format!("/w/other/v1/secateur/{own}");
        let body = r#"{"id":"x","request_id":"x","score":1}"#;
        let answer = stage.post(&path, &[BEARER], body).await;
        let words = answer.json()["error"]["message"].to_string();
        assert_eq!(answer.status, 403, "{own}");
        assert!(
            words.contains("`team`") && words.contains("`other`"),
            "{words}"
        );
    }
    assert_eq!(stage.mock.requests(), 0);
    assert_eq!(stage.post(&both, &[BEARER], chat()).await.status, 200);
}

#[tokio::test]
async fn the_one_spelling_of_a_path_is_what_goes_upstream() {
    let stage = Stage::new("").await;
    for path in [
        "/v1//chat/./completions",
        "/v1/x/../chat/%63ompletions?a=b",
        "//v1/chat/completions",
    ] {
        assert_eq!(stage.post(path, &[], chat()).await.status, 200, "{path}");
        let received = stage.mock.received().pop().unwrap();
        assert_eq!(received.uri.path(), CHAT, "{path}");
    }
    let answer = stage.post("/w/a/..%2fb/v1/messages", &[], "{}").await;
    assert_eq!(answer.status, 400);
}
