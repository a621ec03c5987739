//! `secateur mcp`: a model asks for what was cut.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use http::Method;
use secateur_mock::client::{recall_ids, request, tool_session, whole};
use secateur_mock::{Mock, MockOptions};
use serde_json::{Value, json};

use crate::SECATEUR;
use crate::served::{Served, folder};

fn result_text(at: usize) -> String {
    format!("result {at} caf\u{e9}\n").repeat(160)
}

/// Prunes the session, and waits until what was cut can be recalled; the ids in the placeholders.
async fn prune(served: &Served, mock: &Mock) -> Vec<String> {
    let post = |path: &'static str, body: String| async move {
        let sent = request(&served.client, &served.url, Method::POST, path, &[], body).await;
        whole(sent.unwrap()).await
    };
    let answer = post("/w/keeps/v1/messages", tool_session(result_text)).await;
    assert_eq!(answer.headers["x-secateur-stack"], "m7");
    let ids = recall_ids(&mock.received().pop().unwrap().body);
    for _ in 0..500 {
        let asked = json!({"id": ids[1]}).to_string();
        if post("/w/keeps/v1/secateur/recall", asked).await.status == 200 {
            return ids;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{} was not captured", ids[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_asks_for_a_cut_text_over_mcp() {
    let options = MockOptions {
        keep_requests: true,
        ..MockOptions::default()
    };
    let mock = Mock::start(options).await.unwrap();
    let folder = folder("mcp");
    let config = folder.join("secateur.toml");
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[workload.keeps]\npreset = \"openclaw-aggressive\"\nbudget_ms = 20000\n\
         upstream.anthropic = \"{}\"\npolicy = {{ m7 = {{ min_messages = 0, min_body_chars = 0 }} }}\n\
         [workload.keeps.capture]\nmax_age_hours = 1\n\
         [ledger]\ncapture_key_env = \"CAPTURE_KEY\"\n",
        mock.url()
    );
    std::fs::write(&config, text).unwrap();
    let served = Served::start(&config).await;
    let ids = prune(&served, &mock).await;
    let call = |id: u32, arguments: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "secateur_recall", "arguments": arguments}})
        .to_string()
    };
    let client = json!({"name": "t", "version": "1"});
    let hello = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": client});
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).to_string(),
        call(3, json!({"id": ids[1]})),
        call(4, json!({"id": "zzzz"})),
        "not json".to_owned(),
        json!({"jsonrpc": "2.0", "id": 5, "method": "no/such"}).to_string(),
        call(6, json!({"id": ids[1], "max_chars": 10})),
    ];
    let mut child = Command::new(SECATEUR)
        .args(["mcp", "--url", &served.url, "--workload", "keeps"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(lines.join("\n").as_bytes()).unwrap();
    drop(input);
    let output = tokio::task::spawn_blocking(|| child.wait_with_output());
    let output = output.await.unwrap().unwrap();
    assert!(output.status.success(), "{output:?}");
    let output = String::from_utf8(output.stdout).unwrap();
    let answers = output
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let answers: Vec<Value> = answers.collect();
    assert_eq!(answers.len(), 7, "a notification has no answer: {output}");
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-03-26");
    assert_eq!(answers[1]["result"]["tools"][0]["name"], "secateur_recall");
    assert_eq!(answers[2]["result"]["content"][0]["text"], result_text(1));
    assert_eq!(answers[3]["result"]["isError"], true);
    assert_eq!(answers[4]["error"]["code"], -32700);
    assert_eq!(answers[5]["error"]["code"], -32601);
    let text = answers[6]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("result 1 c\n[characters 0 to 10 of "),
        "{text}"
    );
}
