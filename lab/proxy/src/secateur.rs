//! Secateur as it is served, with audit events on.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use secateur_proxy::audit::{AuditEvent, AuditSink};
use secateur_proxy::config::LogFormat;
use secateur_proxy::{Config, Log, Proxy, ProxyParts};

use crate::Outcome;
use crate::process::announce;

/// Takes every event and keeps its size.
#[derive(Debug, Default)]
struct Counting(AtomicU64);

impl AuditSink for Counting {
    fn record(&self, event: &AuditEvent) {
        self.0.fetch_add(event.bytes_before, Ordering::Relaxed);
    }
}

/// Serves until the process ends. The workload `pruned` has M7 on.
pub(crate) async fn serve(upstream: &str, with_log: bool) -> Outcome<()> {
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[upstream]\nopenai = \"{upstream}\"\n[workload.pruned]\npreset = \"tessera\"\nbudget_ms = 1000\n"
    );
    let config = Config::read("lab", &text, Path::new("."), &|_| None)?;
    let mut parts = ProxyParts::new(config);
    parts.sink = Arc::new(Counting::default());
    if with_log {
        let nowhere = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
        parts.log = Log::to(LogFormat::Json, nowhere);
    }
    let proxy = Proxy::start(parts).await?;
    announce(proxy.addr())?;
    std::future::pending::<()>().await;
    proxy.shutdown().await;
    Ok(())
}
