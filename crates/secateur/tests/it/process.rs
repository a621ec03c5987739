//! `serve` as a process of its own: signals, reload, the end.

use std::path::Path;
use std::time::Duration;

use http::Method;
use secateur_core::Dialect;
use secateur_ledger::{Filter, Ledger, LedgerOptions};
use secateur_mock::client::{conversation, request, whole};

use crate::served::{Served, folder};
use secateur_mock::{Mock, MockOptions};

#[tokio::test]
async fn a_changed_file_is_taken_over_and_an_invalid_one_refused() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let folder = folder("reload");
    let path = folder.join("secateur.toml");
    let with = |more: &str| {
        format!(
            "listen = \"127.0.0.1:0\"\n[workload.p]\nbudget_ms = 20000\nupstream.openai = \"{}\"\n{more}",
            mock.url()
        )
    };
    std::fs::write(&path, with("")).unwrap();
    let served = Served::start(&path).await;
    assert_eq!(served.stack().await, "off");
    std::fs::write(&path, with("policy_file = \"p.toml\"\n")).unwrap();
    let refused = served.wait_for("config_refused").await;
    assert!(
        refused.contains("secateur.toml:5: ") && refused.contains("p.toml"),
        "{refused}"
    );
    assert_eq!(served.stack().await, "off");
    std::fs::write(folder.join("p.toml"), "preset = \"tessera\"\n").unwrap();
    served.signal("-HUP");
    served.wait_for("config_reloaded").await;
    assert_eq!(served.stack().await, "m7");
    // An editor's way: a new file in the old one's place. And a file that the file names.
    std::fs::write(
        folder.join("p.toml"),
        "preset = \"tessera\"\nm7.enabled = false\n",
    )
    .unwrap();
    served.wait_for("config_reloaded").await;
    assert_eq!(served.stack().await, "none");
    std::fs::write(folder.join("new"), with("preset = \"tessera\"\n")).unwrap();
    std::fs::rename(folder.join("new"), &path).unwrap();
    served.wait_for("config_reloaded").await;
    assert_eq!(served.stack().await, "m7");
    std::fs::write(&path, "listen = 5\n[[[").unwrap();
    served.wait_for("config_refused").await;
    assert_eq!(served.stack().await, "m7");
    drop(served);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A file that was cut off, or empty for a moment, was taken over: keys gone, clients' keys sent upstream.
#[tokio::test]
async fn a_reload_takes_no_protection_away_and_names_what_it_ignores() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let folder = folder("guard");
    let path = folder.join("secateur.toml");
    let tables = format!(
        "[upstream]\nopenai = \"{}\"\n[workload.p]\npreset = \"tessera\"\nbudget_ms = 20000\n",
        mock.url()
    );
    let key = format!(
        "[[key]]\nname = \"k\"\nsha256 = \"{}\"\nworkload = \"p\"\n",
        secateur_proxy::hash_key("sk-virtual")
    );
    let whole_file = format!("listen = \"127.0.0.1:0\"\n{tables}{key}");
    std::fs::write(&path, &whole_file).unwrap();
    let served = Served::start(&path).await;
    let cut = whole_file.split("[[key]]").next().unwrap();
    for (text, named) in [(cut, "[[key]]"), ("", "[workload.NAME]")] {
        std::fs::write(&path, text).unwrap();
        let refused = served.wait_for("config_refused").await;
        assert!(
            refused.contains(named) && refused.contains("restart"),
            "{refused}"
        );
        served.signal("-HUP");
        served.wait_for("config_refused").await;
        let sent = request(
            &served.client,
            &served.url,
            Method::POST,
            "/w/p/v1/chat/completions",
            &[("authorization", "Bearer sk-virtual-but-not-quite")],
            conversation(Dialect::OpenaiChat, 3, false),
        );
        assert_eq!(sent.await.unwrap().status(), 401);
    }
    assert_eq!(mock.requests(), 0);
    let moved = whole_file.replace("127.0.0.1:0", "127.0.0.1:1");
    std::fs::write(&path, format!("max_connections = 7\n{moved}")).unwrap();
    served.wait_for("config_reloaded").await;
    let ignored = served.wait_for("config_ignored").await;
    assert!(ignored.contains("listen, max_connections"), "{ignored}");
    drop(served);
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn sigterm_finishes_streams_and_ends_well() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let folder = folder("stop");
    let path = folder.join("secateur.toml");
    std::fs::write(
        &path,
        format!(
            "listen = \"127.0.0.1:0\"\n[upstream]\nopenai = \"{}\"\n",
            mock.url()
        ),
    )
    .unwrap();
    let mut served = Served::start(&path).await;
    let body = conversation(Dialect::OpenaiChat, 3, true);
    let headers = [("x-mock-conduct", "gap=40;chunk=200")];
    let response = request(
        &served.client,
        &served.url,
        Method::POST,
        "/v1/chat/completions",
        &headers,
        body,
    )
    .await
    .unwrap();
    served.signal("-TERM");
    served.wait_for("\"event\":\"stopping\"").await;
    let answer = whole(response).await;
    assert!(answer.body.ends_with(b"data: [DONE]\n\n"));
    served.wait_for("\"event\":\"stopped\"").await;
    for _ in 0..250 {
        if let Some(status) = served.child.try_wait().unwrap() {
            assert!(status.success());
            std::fs::remove_dir_all(folder).unwrap();
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("still running");
}

/// The ledger was closed before the streams that were cut off had recorded themselves, both at the end of the time that
/// they have and at a second signal.
#[tokio::test]
async fn streams_that_sigterm_cuts_off_are_in_the_ledger() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    for (shutdown_s, signals) in [(0.3, 1), (120.0, 2)] {
        let folder = folder(&format!("cut-{signals}"));
        let path = folder.join("secateur.toml");
        let text = format!(
            "listen = \"127.0.0.1:0\"\n[upstream]\nopenai = \"{}\"\n[timeouts]\nshutdown_s = {shutdown_s}\n",
            mock.url()
        );
        std::fs::write(&path, text).unwrap();
        let mut served = Served::start(&path).await;
        let body = conversation(Dialect::OpenaiChat, 3, true);
        let headers = [("x-mock-conduct", "gap=60000;chunk=200")];
        let mut streams = Vec::new();
        for _ in 0..3 {
            let (client, url) = (&served.client, &served.url);
            let path = "/v1/chat/completions";
            let sent = request(client, url, Method::POST, path, &headers, body.clone());
            streams.push(sent.await.unwrap());
        }
        served.signal("-TERM");
        served.wait_for("\"event\":\"stopping\"").await;
        for _ in 1..signals {
            served.signal("-TERM");
        }
        served.wait_for("\"event\":\"stopped\"").await;
        let _ = served.child.wait();
        assert_eq!(ends_in_ledger(&folder, 3).await, ["cut-off"; 3]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// How the requests ended that the ledger has, once it has so many.
async fn ends_in_ledger(folder: &Path, count: usize) -> Vec<String> {
    let folder = folder.join("secateur");
    let url = format!("sqlite:{}", folder.join("secateur-ledger.db").display());
    let options = LedgerOptions::new(&url, folder.join("secateur-spool"));
    let ledger = Ledger::open(options).await.unwrap();
    let mut rows = Vec::new();
    // Some may be in the spool.
    for _ in 0..100 {
        rows = ledger.rows(&Filter::default(), None, 9).await.unwrap();
        if rows.len() >= count {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    ledger.close().await;
    rows.into_iter().map(|row| row.ended).collect()
}

/// It refused to start.
#[cfg(unix)]
#[tokio::test]
async fn a_proxy_on_a_full_disk_serves_and_says_that_nothing_is_recorded() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("secateur.toml");
    let text = format!(
        "listen = \"127.0.0.1:0\"\nlog = \"json\"\n[ledger]\nurl = \"sqlite:rows.db\"\n[summaries]\nfolder = \"summaries\"\n[workload.p]\npreset = \"tessera\"\nbudget_ms = 20000\n[upstream]\nopenai = \"{}\"\n",
        mock.url()
    );
    std::fs::write(&config, text).unwrap();
    let mut served = Served::start_on_a_full_disk(&config).await;
    let away = served.wait_for("\"event\":\"ledger_unavailable\"").await;
    assert!(away.contains("rows.db"), "{away}");
    served
        .wait_for("\"event\":\"ledger_spool_unavailable\"")
        .await;
    let get = |path: &'static str| {
        let (client, url) = (served.client.clone(), served.url.clone());
        async move {
            let response = request(&client, &url, Method::GET, path, &[], "").await;
            whole(response.unwrap()).await
        }
    };
    let ready = get("/readyz").await;
    assert_eq!(ready.status, 200);
    let answer = String::from_utf8_lossy(&ready.body).into_owned();
    assert!(answer.contains("ledger: nothing is recorded"), "{answer}");
    let page = get("/metrics").await;
    let page = String::from_utf8_lossy(&page.body).into_owned();
    for line in ["secateur_ledger_up 0\n", "secateur_ledger_spool_up 0\n"] {
        assert!(page.contains(line), "{page}");
    }
    assert_eq!(served.stack().await, "m7");
    served.signal("-TERM");
    assert!(served.child.wait().unwrap().success());
    let stopped = served.wait_for("\"event\":\"stopped\"").await;
    assert!(stopped.contains("\"lost_rows\":1"), "{stopped}");
}

/// It refused to start.
#[cfg(unix)]
#[tokio::test]
async fn a_proxy_whose_ledger_file_is_no_database_serves_and_says_so() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let rows = folder.path().join("rows.db");
    std::fs::write(&rows, "no database at all ".repeat(300)).unwrap();
    let config = folder.path().join("secateur.toml");
    let text = format!(
        "listen = \"127.0.0.1:0\"\nlog = \"json\"\n[ledger]\nurl = \"sqlite:rows.db\"\nspool_dir = \"spool\"\n[workload.p]\npreset = \"tessera\"\nbudget_ms = 20000\n[upstream]\nopenai = \"{}\"\n",
        mock.url()
    );
    std::fs::write(&config, text).unwrap();
    let mut served = Served::start(&config).await;
    let away = served.wait_for("\"event\":\"ledger_unavailable\"").await;
    assert!(away.contains("not a database"), "{away}");
    assert_eq!(served.stack().await, "m7");
    served.signal("-TERM");
    assert!(served.child.wait().unwrap().success());
    let stopped = served.wait_for("\"event\":\"stopped\"").await;
    assert!(stopped.contains("\"spooled_rows\":1"), "{stopped}");
    assert!(stopped.contains("\"lost_rows\":0"), "{stopped}");
}
