//! Names that clients choose: none of a request that was refused is kept.

use std::sync::Arc;

use secateur_core::Dialect;
use secateur_ledger::{Filter, GroupBy, Ledger, LedgerOptions};
use secateur_mock::MockOptions;
use secateur_proxy::{LedgerSink, hash_key};

use crate::stage::{PRUNES, Stage, conversation};

/// Random names of models in refused requests became rows of `daily` that stayed for good.
#[tokio::test]
async fn no_name_of_a_refused_request_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("ledger.db").display());
    let options = LedgerOptions::new(url, folder.path().join("spool"));
    let ledger = Ledger::open(options).await.unwrap();
    let attached = ledger.clone();
    let more = format!(
        "{PRUNES}[[key]]\nname = \"team\"\nsha256 = \"{}\"\nworkload = \"p\"\ncredential_env = {{ openai = \"VALUE_real\" }}\n",
        hash_key("client-key")
    );
    let stage = Stage::with(&more, MockOptions::default(), move |parts| {
        parts.sink = Arc::new(LedgerSink(attached.clone()));
        parts.ledger = Some(attached);
    })
    .await;
    let body = |model: &str| {
        conversation(Dialect::OpenaiChat, 21, false).replace("\"gpt-5\"", &format!("\"{model}\""))
    };
    let key = ("authorization", "Bearer client-key");
    for number in 0..20 {
        let name = format!("invented-{number}");
        // Without a key, with one but unknown to the provider, and gone before there was an answer.
        let path = format!("/v1beta/models/{name}:generateContent");
        let answer = stage.post(&path, &[], "{\"contents\":[]}").await;
        assert_eq!(answer.status, 401);
        let refused = [key, ("x-mock-conduct", "status=404")];
        let answer = stage
            .post("/v1/chat/completions", &refused, body(&name))
            .await;
        assert_eq!(answer.status, 404);
        let workload = [
            ("x-secateur-workload", name.as_str()),
            ("user-agent", &name),
        ];
        let answer = stage.post("/v1/chat/completions", &workload, "{}").await;
        assert_eq!(answer.status, 401);
    }
    for conduct in ["delay=0", "status=429"] {
        let headers = [key, ("x-mock-conduct", conduct)];
        stage
            .post("/v1/chat/completions", &headers, body("our-own-model"))
            .await;
    }
    secateur_ledger::testing::eventually("rows", std::time::Duration::from_secs(20), || {
        let stats = ledger.stats();
        stats.written == 62 && stats.spooled == 0
    });
    let totals = ledger
        .totals(&Filter::default(), GroupBy::Model)
        .await
        .unwrap();
    let mut found: Vec<(&str, u64)> = totals
        .iter()
        .map(|totals| (totals.group.as_str(), totals.requests))
        .collect();
    found.sort_unstable();
    assert_eq!(found, [("", 60), ("our-own-model", 2)]);
    let page = stage.proxy.metrics_page();
    assert!(!page.contains("invented"), "{page}");
    assert!(
        stage.log.text().contains("invented-7"),
        "the log still names what was asked for"
    );
    ledger.close().await;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let has = |word: &[u8]| memchr::memmem::find(&bytes, word).is_some();
            assert!(!has(b"invented"), "{}", path.display());
        }
    }
}
