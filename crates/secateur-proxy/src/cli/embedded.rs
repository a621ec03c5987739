//! A proxy inside another command: it listens as long as that command runs, and writes nothing to the terminal.

use std::sync::Arc;
use std::time::Duration;

use secateur_ledger::Ledger;

use super::CommandError;
use super::keeping::attach;
use crate::audit::AuditSink;
use crate::config::Config;
use crate::pages::MakePages;
use crate::server::{Proxy, ProxyParts};
use crate::surface::Log;

/// Requests that are still under way when the command ends have this long.
const GRACE: Duration = Duration::from_secs(2);

/// A running proxy with its ledger.
#[derive(Debug)]
pub struct Embedded {
    proxy: Proxy,
    ledger: Option<Ledger>,
}

impl Embedded {
    /// Starts a proxy. Every request is also given to `sink`.
    ///
    /// # Errors
    /// The ledger cannot be opened, or the proxy cannot start.
    pub async fn start(
        config: Config,
        sink: Arc<dyn AuditSink>,
        pages: &MakePages,
    ) -> Result<Self, CommandError> {
        let log = Log::off();
        let mut parts = ProxyParts::new(config);
        parts.sink = sink;
        let ledger = attach(&mut parts, Some(pages), &log).await?;
        let proxy = Proxy::start(parts).await?;
        Ok(Self { proxy, ledger })
    }

    /// Its base URL.
    #[must_use]
    pub fn url(&self) -> String {
        self.proxy.url()
    }

    /// Stops; when this returns, all requests are recorded.
    pub async fn stop(self) {
        let cut_off = self.proxy.cut_off();
        let mut stopping = std::pin::pin!(self.proxy.shutdown());
        tokio::select! {
            () = &mut stopping => {}
            () = tokio::time::sleep(GRACE) => {
                cut_off.now();
                stopping.await;
            }
        }
        if let Some(ledger) = self.ledger {
            ledger.close().await;
        }
    }
}
