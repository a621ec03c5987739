//! What a browser sends is for the pages of the proxy, and what a provider answers is not one of them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use secateur_ledger::{Ledger, LedgerOptions};
use secateur_mock::MockOptions;
use secateur_proxy::{LedgerSink, PageBody, Pages, is_page_path};

use crate::stage::{Stage, chat, whole};

#[derive(Debug)]
struct Stub;

impl Pages for Stub {
    fn claims(&self, path: &str) -> bool {
        path == "/" || is_page_path(path)
    }

    fn respond(
        &self,
        _: Request<PageBody>,
    ) -> Pin<Box<dyn Future<Output = Response<Bytes>> + Send + '_>> {
        Box::pin(async { Response::new(Bytes::from_static(b"a page")) })
    }
}

async fn with_pages() -> Stage {
    Stage::with("", MockOptions::default(), |parts| {
        parts.pages = Some(Arc::new(Stub));
    })
    .await
}

#[tokio::test]
async fn paths_of_the_pages_never_lead_to_a_provider() {
    let stage = Stage::with("", MockOptions::default(), |parts| {
        parts.no_pages = "for a reason".into();
    })
    .await;
    let cookie = [("cookie", "secateur-portal-8797=x")];
    for path in ["/portal", "/portal/audit", "/optimize/quality/a"] {
        let sent = stage.send(Method::GET, path, &cookie, "").await;
        let answer = whole(sent).await;
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.body, "the portal is off: for a reason\n");
    }
    let typed = stage.post("/portal/login", &[], "token=typed").await;
    assert_eq!((typed.status.as_u16(), stage.mock.requests()), (404, 0));
}

#[tokio::test]
async fn a_session_of_the_pages_is_not_sent_along_with_a_request() {
    let stage = with_pages().await;
    let cookie = [("cookie", "a=1; secateur-portal-8797=x")];
    stage.post("/v1/chat/completions", &cookie, chat()).await;
    let received = stage.mock.received().pop().unwrap();
    assert_eq!(received.headers["cookie"], "a=1");
}

#[tokio::test]
async fn a_browser_is_not_led_to_what_a_provider_answers() {
    let stage = with_pages().await;
    for header in [
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "iframe"),
        ("upgrade-insecure-requests", "1"),
    ] {
        let sent = stage.send(Method::GET, "/evil.html", &[header], "").await;
        let answer = whole(sent).await;
        assert_eq!(answer.status, 403, "{header:?}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        let page = stage.send(Method::GET, "/portal", &[header], "").await;
        assert_eq!(whole(page).await.body, "a page");
    }
    assert_eq!(stage.mock.requests(), 0);
    // Programs, also those that run in a page, go on as before.
    let fetched = [("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty")];
    let answer = stage.post("/v1/chat/completions", &fetched, chat()).await;
    assert_eq!((answer.status.as_u16(), stage.mock.requests()), (200, 1));
    // Without pages there is nothing to guard.
    let stage = Stage::new("").await;
    let navigates = [("sec-fetch-mode", "navigate")];
    stage.send(Method::GET, "/v1/models", &navigates, "").await;
    assert_eq!(stage.mock.requests(), 1);
}

#[tokio::test]
async fn metrics_on_loopback_are_for_names_of_this_machine() {
    let more = "[portal]\nhosts = [\"box.lan\"]\n";
    let stage = Stage::new(more).await;
    for (host, status) in [
        ("127.0.0.1:1", 200),
        ("localhost", 200),
        ("box.lan", 200),
        ("evil.example", 401),
    ] {
        let sent = stage
            .send(Method::GET, "/metrics", &[("host", host)], "")
            .await;
        assert_eq!(sent.status(), status, "{host}");
    }
    let keyed = format!(
        "[[key]]\nname = \"k\"\nsha256 = \"{}\"\nworkload = \"default\"\n",
        secateur_proxy::hash_key("sk-scrape")
    );
    let stage = Stage::new(&keyed).await;
    let foreign = ("host", "evil.example");
    let key = ("authorization", "Bearer sk-scrape");
    let sent = stage.send(Method::GET, "/metrics", &[foreign], "").await;
    assert_eq!(sent.status(), 401);
    let sent = stage
        .send(Method::GET, "/metrics", &[foreign, key], "")
        .await;
    assert_eq!(sent.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn trouble_of_the_ledger_is_told_and_requests_are_served() {
    let server = secateur_ledger::testing::Postgres::launch();
    let (folder, url) = (tempfile::tempdir().unwrap(), server.new_database());
    let options = LedgerOptions::new(url, folder.path().join("spool"));
    let ledger = Ledger::open(options).await.unwrap();
    let attached = ledger.clone();
    let stage = Stage::with("", MockOptions::default(), move |parts| {
        parts.sink = Arc::new(LedgerSink(attached.clone()));
        parts.ledger = Some(attached);
    })
    .await;
    let text = async |path: &str| String::from_utf8(stage.get(path).await.body.to_vec()).unwrap();
    let becomes = async |words: &str| {
        for _ in 0..500 {
            if text("/readyz").await.contains(words) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("not {words}: {}", text("/readyz").await);
    };
    assert_eq!(text("/readyz").await, "ready\n");
    server.stop_immediately();
    let answer = stage.post("/v1/chat/completions", &[], chat()).await;
    assert_eq!(answer.status, 200);
    becomes("ready\nledger: the database takes no rows, 1 wait in the spool").await;
    let page = text("/metrics").await;
    for line in [
        "secateur_ledger_up 0",
        "secateur_ledger_spooled 1",
        "secateur_ledger_written_total 0",
        "secateur_ledger_lost_total 0",
    ] {
        assert!(page.lines().any(|found| found == line), "{line}\n{page}");
    }
    // The log is looked at once a second.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    server.start();
    for _ in 0..500 {
        if text("/readyz").await == "ready\n" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(text("/metrics").await.contains("secateur_ledger_up 1\n"));
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let log = stage.log.clone();
    stage.proxy.shutdown().await;
    let log = log.text();
    for event in ["ledger_unavailable", "ledger_recovered"] {
        let found = log.matches(&format!("\"event\":\"{event}\"")).count();
        assert_eq!(found, 1, "{event} in {log}");
    }
    assert!(log.contains("does not answer"), "{log}");
}
