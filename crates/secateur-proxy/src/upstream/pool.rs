//! The ways to all upstreams.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use http::Uri;

use super::connect::Connector;
use super::lane::Lane;

/// How long a connection that the other side closed lies about.
const SWEEP_EVERY: Duration = Duration::from_secs(15);

/// See the module. There are as many as upstreams are configured: few, and seldom a new one.
#[derive(Debug)]
pub(super) struct Pool {
    connector: Arc<Connector>,
    lanes: ArcSwap<Vec<Arc<Lane>>>,
    /// Ways to other addresses are not kept. `None`: all are.
    named: ArcSwapOption<Vec<Uri>>,
}

impl Pool {
    pub(super) fn new(connector: Connector) -> Self {
        Self {
            connector: Arc::new(connector),
            lanes: ArcSwap::default(),
            named: ArcSwapOption::empty(),
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

    /// Keeps the ways to these addresses alone, from now on. Requests that are on another way get to its end.
    pub(super) fn keep_only(&self, named: Vec<Uri>) {
        self.named.store(Some(Arc::new(named)));
        self.drop_others();
    }

    fn drop_others(&self) {
        let Some(named) = self.named.load_full() else {
            return;
        };
        let is_named = |lane: &Arc<Lane>| named.iter().any(|uri| lane.leads_to(uri));
        if self.lanes.load().iter().all(is_named) {
            return;
        }
        let before = self.lanes.rcu(|lanes| {
            let kept = lanes.iter().filter(|lane| is_named(lane));
            kept.cloned().collect::<Vec<_>>()
        });
        let others = before.iter().filter(|lane| !is_named(lane));
        others.for_each(|lane| lane.close());
    }

    fn sweep(&self) {
        // A request that came before a new configuration may have opened a way that is no longer wanted.
        self.drop_others();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &'static str) -> Uri {
        Uri::from_static(text)
    }

    #[test]
    fn ways_that_nobody_names_any_more_are_gone_and_stay_away() {
        let pool = Pool::new(Connector::new(Duration::from_secs(5), &[]).unwrap());
        let ways = || pool.lanes.load().len();
        let (old, kept) = (uri("http://old.example/v1"), uri("http://kept.example"));
        let in_use = pool.lane(&old).unwrap();
        let same = pool.lane(&kept).unwrap();
        pool.sweep();
        assert_eq!(ways(), 2, "all are kept until somebody says which");
        pool.keep_only(vec![uri("http://kept.example/other/path")]);
        assert_eq!(ways(), 1);
        assert!(Arc::ptr_eq(&pool.lane(&kept).unwrap(), &same));
        // A request that still has the old configuration is served, and what it opened goes later.
        let late = pool.lane(&old).unwrap();
        assert!(!Arc::ptr_eq(&late, &in_use));
        pool.sweep();
        assert_eq!(ways(), 1);
        assert!(pool.lane(&uri("https://kept.example")).is_some());
        pool.sweep();
        assert_eq!(ways(), 1, "another scheme is another way");
    }
}
