//! The ways to all upstreams.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use http::Uri;

use super::connect::Connector;
use super::lane::Lane;

/// How long a connection that the other side closed lies about.
const SWEEP_EVERY: Duration = Duration::from_secs(15);

/// See the module. There are as many as upstreams were ever configured: few, and seldom a new one. An empty one
/// stays, it is small.
#[derive(Debug)]
pub(super) struct Pool {
    connector: Arc<Connector>,
    lanes: ArcSwap<Vec<Arc<Lane>>>,
}

impl Pool {
    pub(super) fn new(connector: Connector) -> Self {
        Self {
            connector: Arc::new(connector),
            lanes: ArcSwap::default(),
        }
    }

    /// `None`: that is not the address of a server.
    pub(super) fn lane(&self, uri: &Uri) -> Option<Arc<Lane>> {
        let known = |lanes: &[Arc<Lane>]| lanes.iter().find(|lane| lane.leads_to(uri)).cloned();
        if let Some(lane) = known(&self.lanes.load()) {
            return Some(lane);
        }
        let new = Arc::new(Lane::to(uri, Arc::clone(&self.connector))?);
        self.lanes.rcu(|lanes| {
            let mut lanes = Vec::clone(lanes);
            // Somebody else may have been faster.
            if known(&lanes).is_none() {
                lanes.push(Arc::clone(&new));
            }
            lanes
        });
        Some(known(&self.lanes.load()).unwrap_or(new))
    }

    fn sweep(&self) {
        let now = Instant::now();
        for lane in self.lanes.load().iter() {
            lane.sweep(now);
        }
    }
}

/// Closes what waited too long, for as long as the pool is there.
pub(super) fn sweep_from_time_to_time(pool: &Arc<Pool>) {
    let pool = Arc::downgrade(pool);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(SWEEP_EVERY).await;
            match pool.upgrade() {
                Some(pool) => pool.sweep(),
                None => return,
            }
        }
    });
}
