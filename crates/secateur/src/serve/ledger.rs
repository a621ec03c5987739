//! The ledger behind a proxy, and the pages over it.

use std::path::Path;
use std::sync::Arc;

use secateur_ledger::{Ledger, LedgerOptions};

use crate::command_error::CommandError;
use crate::portal::pages_over;
use secateur_proxy::LedgerSink;
use secateur_proxy::Log;
use secateur_proxy::PagesParts;
use secateur_proxy::ProxyParts;
use secateur_proxy::audit::Both;
use secateur_proxy::config::Config;

/// Opens the configured ledger and attaches it, and the pages over it, to the proxy's parts.
pub(crate) async fn attach(
    parts: &mut ProxyParts,
    log: &Log,
) -> Result<Option<Ledger>, CommandError> {
    let config = parts.config.load_full();
    let Some(ledger) = open(&config).await? else {
        parts.no_pages = "no ledger is kept ([ledger] enabled = false)".to_owned();
        return Ok(None);
    };
    let also = Arc::clone(&parts.sink);
    parts.sink = Arc::new(Both(also, Arc::new(LedgerSink(ledger.clone()))));
    set_limits(&ledger, &config);
    parts.canary = Arc::new(ledger.clone());
    parts.ledger = Some(ledger.clone());
    if let Some(portal) = &config.portal {
        let made = pages_over(PagesParts {
            ledger: ledger.clone(),
            config: Arc::clone(&parts.config),
            portal: portal.clone(),
            listen: config.listen,
            untouched: Arc::clone(&parts.untouched),
        });
        match made {
            Ok(pages) => parts.pages = Some(pages),
            Err(error) => {
                let reason = error.to_string();
                log.line("warn", "portal_off", &[("reason", reason.as_str().into())]);
                parts.no_pages = reason;
            }
        }
    } else {
        parts.no_pages = "[portal] enabled = false".to_owned();
    }
    Ok(Some(ledger))
}

/// Sets how much cut text each workload may keep in the ledger.
pub(super) fn set_limits(ledger: &Ledger, config: &Config) {
    for workload in config.workloads.values() {
        if let Some(capture) = workload.capture {
            ledger.set_capture_limits(&workload.name, capture.limits);
        }
    }
}

/// The folder of a ledger that is a file.
fn sqlite_folder(url: &str) -> Option<&Path> {
    let folder = Path::new(url.strip_prefix("sqlite:")?).parent()?;
    (!folder.as_os_str().is_empty()).then_some(folder)
}

/// Creates a folder that only its owner can read; an existing one stays as it is.
fn create_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

async fn open(config: &Config) -> Result<Option<Ledger>, CommandError> {
    let Some(ledger) = &config.ledger else {
        return Ok(None);
    };
    if let Some(folder) = sqlite_folder(ledger.url.reveal()) {
        create_folder(folder).map_err(|source| CommandError::File {
            path: folder.to_owned(),
            source,
        })?;
    }
    let mut options = LedgerOptions::new(ledger.url.reveal(), &ledger.spool_dir);
    options.keep_days = ledger.keep_days;
    options.pass_through = ledger.pass_through;
    options.capture_key = ledger.capture_key.map(|key| key.0);
    Ok(Some(Ledger::open(options).await?))
}
