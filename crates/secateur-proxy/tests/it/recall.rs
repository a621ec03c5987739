//! What was cut comes back by the id in its placeholder, over HTTP and as a tool.

use std::time::Duration;

use secateur_ledger::{CaptureLimits, Filter, Ledger, LedgerOptions};
use secateur_mock::MockOptions;
use secateur_mock::client::{LONG_RESULTS, recall_ids, tool_session};
use secateur_proxy::LedgerSink;
use serde_json::{Value, json};

use crate::stage::Stage;

const SECRET: &str = "planted-in-an-old-result";

/// Captures what it cuts, and forgets nothing for an hour.
const CAPTURES: &str = r#"
[workload.keeps]
preset = "openclaw-aggressive"
budget_ms = 20000
policy = { m7 = { min_messages = 0, min_body_chars = 0 } }
[workload.keeps.capture]
max_age_hours = 1
[workload.other]
[ledger]
capture_key_env = "VALUE_00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
"#;

struct Kept {
    stage: Stage,
    ledger: Ledger,
    folder: tempfile::TempDir,
}

impl Kept {
    async fn new() -> Self {
        Self::sealed_with([7; 32], tempfile::tempdir().unwrap()).await
    }

    async fn sealed_with(key: [u8; 32], folder: tempfile::TempDir) -> Self {
        let url = format!("sqlite:{}", folder.path().join("ledger.db").display());
        let mut options = LedgerOptions::new(url, folder.path().join("spool"));
        options.capture_key = Some(key);
        let ledger = Ledger::open(options).await.unwrap();
        let attached = ledger.clone();
        let stage = Stage::with(CAPTURES, MockOptions::default(), move |parts| {
            parts.sink = std::sync::Arc::new(LedgerSink(attached.clone()));
            parts.canary = std::sync::Arc::new(attached.clone());
            parts.ledger = Some(attached);
        })
        .await;
        Self {
            stage,
            ledger,
            folder,
        }
    }

    /// Sends a long session; the ids in its placeholders as the provider saw them.
    async fn prune(&self) -> Vec<String> {
        let answer = self
            .stage
            .post("/w/keeps/v1/messages", &[], tool_session(result_text))
            .await;
        assert_eq!(answer.headers["x-secateur-stack"], "m7");
        let received = self.stage.mock.received().pop().unwrap();
        let sent = String::from_utf8_lossy(&received.body);
        assert!(!sent.contains(SECRET));
        recall_ids(&received.body)
    }

    async fn recall(&self, workload: &str, body: &Value) -> (u16, Value) {
        let path = format!("/w/{workload}/v1/secateur/recall");
        let answer = self.stage.post(&path, &[], body.to_string()).await;
        (answer.status.as_u16(), answer.json())
    }

    /// Waits until an id is known.
    async fn captured(&self, id: &str) -> Value {
        for _ in 0..500 {
            let (status, body) = self.recall("keeps", &json!({ "id": id })).await;
            if status == 200 {
                return body;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{id} was not captured");
    }
}

fn result_text(at: usize) -> String {
    format!("result {at} {SECRET} caf\u{e9}\n").repeat(80)
}

#[tokio::test]
async fn a_cut_text_comes_back_whole_by_the_id_in_its_placeholder() {
    let kept = Kept::new().await;
    let ids = kept.prune().await;
    assert_eq!(ids.len(), LONG_RESULTS);
    for (at, id) in ids.iter().enumerate() {
        let body = kept.captured(id).await;
        assert_eq!(body["text"], result_text(at));
        assert_eq!(body["next_offset"], Value::Null);
    }
    let (_, page) = kept
        .recall(
            "keeps",
            &json!({"id": format!("[recall:{}]", ids[0]), "offset": 3, "max_chars": 5}),
        )
        .await;
    assert_eq!(
        (&page["text"], &page["next_offset"]),
        (&json!("ult 0"), &json!(8))
    );
}

#[tokio::test]
async fn ids_of_other_workloads_dead_ids_and_nonsense_are_told_apart() {
    let kept = Kept::new().await;
    let ids = kept.prune().await;
    kept.captured(&ids[0]).await;
    let (status, body) = kept.recall("other", &json!({"id": ids[0]})).await;
    assert_eq!(
        (status, &body["error"]["type"]),
        (404, &json!("unknown-id"))
    );
    let (status, body) = kept.recall("keeps", &json!({"id": "zzzz"})).await;
    assert_eq!(
        (status, &body["error"]["type"]),
        (404, &json!("unknown-id"))
    );
    let (status, body) = kept.recall("keeps", &json!({"nothing": 1})).await;
    assert_eq!((status, &body["error"]["type"]), (400, &json!("not-an-id")));
    // A text that is over its limits is gone, and its id says so.
    let none = CaptureLimits {
        max_bytes: 1,
        max_age: Duration::from_secs(3600),
    };
    kept.ledger.set_capture_limits("keeps", none);
    let next = secateur_ledger::CapturedCut {
        id: "fresh".to_owned(),
        request: "r".to_owned(),
        session: None,
        workload: "keeps".to_owned(),
        at: i64::MAX / 2,
        text: "fresh".to_owned(),
        after: None,
    };
    kept.ledger.capture(vec![next]).await.unwrap();
    let (status, body) = kept.recall("keeps", &json!({"id": ids[0]})).await;
    assert_eq!((status, &body["error"]["type"]), (410, &json!("expired")));
}

#[tokio::test]
async fn nothing_that_was_cut_lies_readable_on_disk_or_in_a_row() {
    let kept = Kept::new().await;
    let ids = kept.prune().await;
    for id in &ids {
        kept.captured(id).await;
    }
    kept.ledger.flush().await;
    let rows = kept
        .ledger
        .rows(&Filter::default(), None, 10)
        .await
        .unwrap();
    let row = kept.ledger.row(&rows[0].id).await.unwrap().unwrap();
    assert!(row.plan.as_ref().is_some_and(|plan| plan.contains(&ids[0])));
    assert!(!format!("{row:?}").contains(SECRET));
    let mut files = 0;
    for entry in std::fs::read_dir(kept.folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes
                .windows(SECRET.len())
                .any(|at| at == SECRET.as_bytes());
            assert!(!found, "{}", path.display());
            files += 1;
        }
    }
    assert!(files > 0);
}

#[tokio::test]
async fn a_text_that_the_limits_took_is_kept_again_when_it_is_cut_again() {
    let kept = Kept::new().await;
    let ids = kept.prune().await;
    for id in &ids {
        kept.captured(id).await;
    }
    // Other conversations take the room.
    let limits = |max_bytes| CaptureLimits {
        max_bytes,
        max_age: Duration::from_secs(3600),
    };
    kept.ledger.set_capture_limits("keeps", limits(1));
    let other = secateur_ledger::CapturedCut {
        id: "other".to_owned(),
        request: "r".to_owned(),
        session: None,
        workload: "keeps".to_owned(),
        at: secateur_ledger::moment::now(),
        text: "other".to_owned(),
        after: None,
    };
    kept.ledger.capture(vec![other]).await.unwrap();
    let (status, _) = kept.recall("keeps", &json!({"id": ids[0]})).await;
    assert_eq!(status, 410);
    kept.ledger.set_capture_limits("keeps", limits(1 << 20));
    assert_eq!(kept.prune().await, ids);
    for (at, id) in ids.iter().enumerate() {
        assert_eq!(kept.captured(id).await["text"], result_text(at));
    }
}

#[tokio::test]
async fn a_text_under_another_key_is_told_as_such_and_kept_anew_when_it_is_cut_again() {
    let before = Kept::new().await;
    let ids = before.prune().await;
    for id in &ids {
        before.captured(id).await;
    }
    before.ledger.close().await;
    let kept = Kept::sealed_with([8; 32], before.folder).await;
    let (status, body) = kept.recall("keeps", &json!({"id": ids[0]})).await;
    assert_eq!((status, &body["error"]["type"]), (410, &json!("other-key")));
    assert_eq!(kept.prune().await, ids);
    for (at, id) in ids.iter().enumerate() {
        assert_eq!(kept.captured(id).await["text"], result_text(at));
    }
}

#[tokio::test]
async fn a_workload_that_there_is_not_has_cut_nothing() {
    let kept = Kept::new().await;
    let (status, body) = kept.recall("misspelled", &json!({"id": "zzzz"})).await;
    assert_eq!(
        (status, &body["error"]["type"]),
        (404, &json!("unknown-workload"))
    );
}
