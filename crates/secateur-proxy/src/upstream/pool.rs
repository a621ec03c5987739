//! Connections that wait for a request.
//!
//! Nobody looks after them while they wait: that one has ended shows when it is used, and otherwise when the pool
//! is swept.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::Origin;
use super::http1::Connection;
use super::http2::Sender;

/// How long a connection may wait.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// How many may wait for one origin.
const MAX_WAITING: usize = 256;
/// How long one that the other side closed lies about.
const SWEEP_EVERY: Duration = Duration::from_secs(15);

/// A connection for a request.
pub(super) enum Found {
    /// For this one alone.
    Own(Box<Connection>),
    /// For others as well.
    Shared(Sender),
}

/// See the module.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<Lane>>);

/// What leads to one origin.
struct Lane {
    origin: Origin,
    /// The last one that came is the first to go: those at the front are left to grow old.
    waiting: Vec<(Box<Connection>, Instant)>,
    /// And when it was last used.
    shared: Option<(Sender, Instant)>,
    opened: Arc<Notify>,
}

impl Lane {
    fn new(origin: &Origin) -> Self {
        Self {
            origin: origin.clone(),
            waiting: Vec::new(),
            shared: None,
            opened: Arc::default(),
        }
    }

    fn shared(&mut self) -> Option<Sender> {
        self.shared.take_if(|(sender, _)| sender.is_closed());
        let (sender, used) = self.shared.as_mut()?;
        *used = Instant::now();
        Some(sender.clone())
    }

    fn sweep(&mut self, now: Instant) {
        let is_fresh = |since: &Instant| now.duration_since(*since) < MAX_WAIT;
        self.waiting
            .retain_mut(|(connection, since)| is_fresh(since) && connection.is_ready());
        self.shared
            .take_if(|(sender, used)| sender.is_closed() || !is_fresh(used));
    }

    fn is_idle(&self) -> bool {
        // Someone who waits for a connection holds it too.
        self.waiting.is_empty() && self.shared.is_none() && Arc::strong_count(&self.opened) == 1
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pool")
    }
}

impl Pool {
    fn lanes(&self) -> MutexGuard<'_, Vec<Lane>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that waits.
    pub(super) fn take(&self, origin: &Origin) -> Option<Found> {
        let mut lanes = self.lanes();
        let lane = lanes.iter_mut().find(|lane| lane.origin == *origin)?;
        if let Some(sender) = lane.shared() {
            return Some(Found::Shared(sender));
        }
        let (connection, since) = lane.waiting.pop()?;
        if since.elapsed() < MAX_WAIT {
            return Some(Found::Own(connection));
        }
        // All that came before it are older.
        let old = std::mem::take(&mut lane.waiting);
        drop(lanes);
        drop((connection, old));
        None
    }

    /// This one waits from now on.
    pub(super) fn put(&self, origin: &Origin, connection: Box<Connection>) {
        let mut lanes = self.lanes();
        let lane = lane_of(&mut lanes, origin);
        if lane.waiting.len() < MAX_WAITING {
            lane.waiting.push((connection, Instant::now()));
        }
    }

    /// Requests to this origin share this one from now on.
    pub(super) fn share(&self, origin: &Origin, sender: Sender) {
        let mut lanes = self.lanes();
        let lane = lane_of(&mut lanes, origin);
        if lane.shared().is_none() {
            lane.shared = Some((sender, Instant::now()));
            lane.opened.notify_waiters();
        }
    }

    /// Waits until somebody shares a connection to this origin.
    pub(super) async fn opened_by_others(&self, origin: &Origin) -> Sender {
        loop {
            let opened = Arc::clone(&lane_of(&mut self.lanes(), origin).opened);
            let notified = opened.notified();
            if let Some(sender) = lane_of(&mut self.lanes(), origin).shared() {
                return sender;
            }
            notified.await;
        }
    }

    fn sweep(&self) {
        let now = Instant::now();
        let mut lanes = self.lanes();
        for lane in lanes.iter_mut() {
            lane.sweep(now);
        }
        lanes.retain(|lane| !lane.is_idle());
    }
}

fn lane_of<'a>(lanes: &'a mut Vec<Lane>, origin: &Origin) -> &'a mut Lane {
    let at = lanes.iter().position(|lane| lane.origin == *origin);
    let at = at.unwrap_or_else(|| {
        lanes.push(Lane::new(origin));
        lanes.len() - 1
    });
    &mut lanes[at]
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
