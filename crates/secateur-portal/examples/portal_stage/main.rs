//! The portal on a stage: real proxies in front of the strict provider, with a real ledger.
//!
//! Prints one line of JSON with the addresses, then obeys lines on its standard input (`breach`)
//! until it ends.

mod plant;

use std::error::Error;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use secateur_ledger::{Ledger, LedgerOptions};
use secateur_mock::{Mock, MockOptions};
use secateur_portal::{Portal, PortalOptions, PortalToken, WorkloadInfo};
use secateur_proxy::{Config, LedgerSink, Proxy, ProxyParts};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

/// Long enough, and nobody's.
const TOKEN: &str = "a token for the stage only";

async fn ledger(folder: &Path, name: &str) -> Result<Ledger, Box<dyn Error>> {
    let url = format!("sqlite:{}", folder.join(format!("{name}.db")).display());
    let mut options = LedgerOptions::new(url, folder.join(format!("{name}-spool")));
    options.capture_key = Some([7; 32]);
    Ok(Ledger::open(options).await?)
}

/// A ledger whose database is never there.
async fn broken(folder: &Path) -> Result<Ledger, Box<dyn Error>> {
    let url = "postgres://nobody@127.0.0.1:1/nothing";
    Ok(Ledger::open(LedgerOptions::new(url, folder.join("broken-spool"))).await?)
}

async fn proxy(
    config: &Config,
    ledger: &Ledger,
    token: Option<PortalToken>,
) -> Result<Proxy, Box<dyn Error>> {
    let loopback: SocketAddr = ([127, 0, 0, 1], 0).into();
    let mut options = PortalOptions::new(loopback);
    options.token = token;
    let info = |workload: &Arc<secateur_proxy::config::Workload>| WorkloadInfo {
        floor: Some(0.95),
        holdout_pct: 10.0,
        captures: true,
        ..WorkloadInfo::of(workload)
    };
    let catalog: Vec<WorkloadInfo> = config.workloads.values().map(info).collect();
    let portal = Portal::new(ledger.clone(), Arc::new(catalog), options)?;
    let mut parts = ProxyParts::new(config.clone());
    parts.sink = Arc::new(LedgerSink(ledger.clone()));
    parts.canary = Arc::new(ledger.clone());
    parts.ledger = Some(ledger.clone());
    parts.pages = Some(Arc::new(portal));
    Ok(Proxy::start(parts).await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mock = Mock::start(MockOptions::default()).await?;
    let folder = tempfile::tempdir()?;
    let url = mock.url();
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[upstream]\nopenai = \"{url}\"\nanthropic = \"{url}\"\ngemini = \"{url}\"\n[workload.coding]\npreset = \"openclaw-aggressive\"\nbudget_ms = 5000\n[workload.history]\npreset = \"tessera\"\n"
    );
    let config = Config::read("stage", &text, Path::new("."), &|_| None)?;
    let full = ledger(folder.path(), "full").await?;
    let history = plant::history(&full).await?;
    plant::evil(&full).await?;
    let captured = plant::captured(&full).await?;
    full.flush().await;
    let token = Some(PortalToken::from_text(TOKEN)?);
    let open = proxy(&config, &full, None).await?;
    let locked = proxy(&config, &full, token).await?;
    let empty = proxy(&config, &ledger(folder.path(), "empty").await?, None).await?;
    let broken = proxy(&config, &broken(folder.path()).await?, None).await?;
    say(&json!({
        "open": open.url(), "locked": locked.url(), "empty": empty.url(), "broken": broken.url(),
        "token": TOKEN, "history": history, "captured": captured,
        "evil": plant::EVIL, "evil_row": plant::EVIL,
    }))?;
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        if line == "breach" {
            plant::breach(&full, "coding").await?;
        }
        say(&json!({ "done": line }))?;
    }
    Ok(())
}

fn say(value: &serde_json::Value) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{value}")?;
    out.flush()
}
