//! The portal over a running proxy: its ledger, and its workloads as they are configured now.

use std::sync::Arc;

use secateur_portal::{Catalog, Portal, PortalOptions, PortalToken, WorkloadInfo};
use secateur_proxy::config::{LiveConfig, Workload};
use secateur_proxy::{MakePages, Pages, PagesParts, Untouched, UntouchedCount, UntouchedRequests};

#[derive(Debug)]
struct Running {
    config: LiveConfig,
    untouched: Arc<UntouchedRequests>,
}

impl Catalog for Running {
    fn workloads(&self) -> Vec<WorkloadInfo> {
        let config = self.config.load();
        let info = |workload: &Arc<Workload>| WorkloadInfo::of(workload);
        config.workloads.values().map(info).collect()
    }

    fn untouched(&self) -> Vec<(Untouched, UntouchedCount)> {
        self.untouched.all()
    }
}

pub(crate) fn make_pages() -> MakePages {
    Arc::new(|parts| pages(parts).map_err(|error| error.to_string()))
}

fn pages(parts: PagesParts) -> Result<Arc<dyn Pages>, secateur_portal::PortalError> {
    let token = parts.portal.token.as_ref();
    let token = token
        .map(|token| PortalToken::from_text(token.reveal()))
        .transpose()?;
    let options = PortalOptions {
        token,
        hosts: parts.portal.hosts,
        trusted_proxies: parts.portal.trusted_proxies,
        session_hours: parts.portal.session_hours,
        ..PortalOptions::new(parts.listen)
    };
    let catalog = Arc::new(Running {
        config: parts.config,
        untouched: parts.untouched,
    });
    Ok(Arc::new(Portal::new(parts.ledger, catalog, options)?))
}
