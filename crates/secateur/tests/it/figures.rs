//! Billed, saved, spent and net are the same figures wherever they are shown.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use http::Method;
use secateur_core::Dialect;
use secateur_mock::client::{conversation, request, whole};
use secateur_mock::{Mock, MockOptions};
use serde_json::Value;

use crate::SECATEUR;
use crate::served::{Served, folder};

/// What a surface says of all requests.
#[derive(Debug, Default, PartialEq)]
struct Figures {
    billed_usd: f64,
    saved_usd: f64,
    spent_usd: f64,
    net_usd: f64,
    unpriced: u64,
}

impl Figures {
    fn of_json(json: &Value) -> Self {
        let usd = |name: &str| json[name].as_f64().unwrap();
        Self {
            billed_usd: usd("billed_usd"),
            saved_usd: usd("saved_usd"),
            spent_usd: usd("spent_usd"),
            net_usd: usd("net_usd"),
            unpriced: json["unpriced"].as_u64().unwrap(),
        }
    }

    /// The sums of a page of metrics over all labels.
    fn of_metrics(page: &str) -> Self {
        let sum = |name: &str| -> f64 {
            let of = page.lines().filter(|line| line.starts_with(name));
            let value = |line: &str| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap();
            of.map(value).sum()
        };
        let (saved_usd, spent_usd) = (
            sum("secateur_saved_usd_total{"),
            sum("secateur_spent_usd_total{"),
        );
        Self {
            billed_usd: sum("secateur_billed_usd_total{"),
            saved_usd,
            spent_usd,
            net_usd: saved_usd - spent_usd,
            unpriced: sum("secateur_unpriced_requests_total{") as u64,
        }
    }

    fn assert_like(&self, other: &Self, surface: &str) {
        let pairs = [
            (self.billed_usd, other.billed_usd),
            (self.saved_usd, other.saved_usd),
            (self.spent_usd, other.spent_usd),
            (self.net_usd, other.net_usd),
        ];
        let is_like = pairs.iter().all(|(one, two)| (one - two).abs() < 1e-9);
        assert!(
            is_like && self.unpriced == other.unpriced,
            "{surface}: {other:?}, not {self:?}"
        );
    }
}

/// The answer of a command that reads the ledger.
fn command(arguments: &[&str], ledger: &str) -> String {
    let output = Command::new(SECATEUR)
        .args(arguments)
        .args(["--ledger", ledger])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

async fn get(served: &Served, path: &str) -> String {
    let sent = request(
        &served.client,
        &served.url,
        Method::GET,
        path,
        &[],
        String::new(),
    );
    let answer = whole(sent.await.unwrap()).await;
    assert_eq!(answer.status, 200, "{path}");
    String::from_utf8(answer.body.to_vec()).unwrap()
}

/// Requests of two workloads: pruned ones whose answers are compared, ones that pass, and ones of a model without a price.
async fn send_requests(served: &Served) -> usize {
    let pruned = conversation(Dialect::OpenaiChat, 21, false);
    let passing = conversation(Dialect::OpenaiChat, 3, false);
    let json: Value = serde_json::from_str(&passing).unwrap();
    let model = json["model"].as_str().unwrap();
    let unknown = passing.replace(model, "model-without-a-price");
    let requests = [
        ("/w/agent/v1/chat/completions", pruned.clone()),
        ("/w/agent/v1/chat/completions", pruned.clone()),
        ("/w/plain/v1/chat/completions", passing.clone()),
        ("/w/plain/v1/chat/completions", unknown),
    ];
    let count = requests.len();
    for (path, body) in requests {
        let (client, url) = (&served.client, &served.url);
        let sent = request(client, url, Method::POST, path, &[], body);
        assert_eq!(whole(sent.await.unwrap()).await.status, 200);
    }
    count
}

fn config(upstream: &str, folder: &Path) -> String {
    format!(
        "listen = \"127.0.0.1:0\"\n[upstream]\nopenai = \"{upstream}\"\n[portal]\n\
         [ledger]\nurl = \"sqlite:{}\"\n\
         [workload.agent]\npreset = \"tessera\"\nbudget_ms = 20000\n\
         [workload.agent.canary]\nsample_pct = 100\n[workload.plain]\n",
        folder.join("figures.db").display()
    )
}

#[tokio::test]
async fn every_surface_has_the_same_dollars() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let folder = folder("figures");
    let path = folder.join("secateur.toml");
    std::fs::write(&path, config(&mock.url(), &folder)).unwrap();
    let served = Served::start(&path).await;
    let rows = send_requests(&served).await;
    let mut page = String::new();
    // Two calls of the canary follow the responses that they are compared with.
    for _ in 0..500 {
        page = get(&served, "/metrics").await;
        let written = format!("secateur_ledger_written_total {}", rows + 2 + 2);
        if page.lines().any(|line| line == written) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let metrics = Figures::of_metrics(&page);
    assert!(
        metrics.billed_usd > 0.0 && metrics.saved_usd != 0.0,
        "{metrics:?}"
    );
    assert!(metrics.spent_usd > 0.0, "{page}");
    assert_eq!(metrics.unpriced, 1);

    let ledger = format!("sqlite:{}", folder.join("figures.db").display());
    let stats: Value =
        serde_json::from_str(&command(&["audit", "stats", "--json"], &ledger)).unwrap();
    metrics.assert_like(&Figures::of_json(&stats["all"]), "audit stats");
    let savings: Value = serde_json::from_str(&command(&["savings", "--json"], &ledger)).unwrap();
    metrics.assert_like(&Figures::of_json(&savings["times"]["30_days"]), "savings");

    let file = folder.join("rows.jsonl");
    let output = file.to_str().unwrap();
    let arguments = ["audit", "export", "--format", "jsonl", "--output", output];
    command(&arguments, &ledger);
    let export = std::fs::read_to_string(&file).unwrap();
    let mut of_rows = Figures {
        spent_usd: metrics.spent_usd,
        ..Figures::default()
    };
    for line in export.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let billed = row["receipt"]["billed_usd"].as_f64();
        of_rows.billed_usd += billed.unwrap_or(0.0);
        of_rows.saved_usd += row["receipt"]["saved_usd"].as_f64().unwrap_or(0.0);
        of_rows.unpriced += u64::from(billed.is_none());
        let id = row["id"].as_str().unwrap();
        let page = get(&served, &format!("/portal/audit/{id}")).await;
        match billed {
            Some(billed) => assert!(page.contains(&format!("{billed:.4}")), "{id}: {billed}"),
            None => assert!(
                page.contains("no price") || page.contains("unknown"),
                "{id}"
            ),
        }
    }
    of_rows.net_usd = of_rows.saved_usd - of_rows.spent_usd;
    metrics.assert_like(&of_rows, "audit export, row by row");

    let start = get(&served, "/portal").await;
    for figure in [metrics.billed_usd, metrics.spent_usd, metrics.net_usd] {
        let shown = format!("${:.4}", figure.abs());
        assert!(start.contains(&shown), "{shown} is not on the start page");
    }
    assert!(start.contains("1 without a price"), "{start}");
    std::fs::remove_dir_all(folder).unwrap();
}
