//! The loop that accepts connections, and its end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use super::connection::serve;
use crate::limits::{Admission, Connections};
use crate::shared::Shared;

/// Whether the proxy is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    No,
    /// Once everything is done, or the time for it is over.
    WhenDone,
    Now,
}

/// How long requests that were cut off have to record themselves.
const RECORDING: Duration = Duration::from_secs(2);

pub(super) async fn accept(
    listener: TcpListener,
    shared: Arc<Shared>,
    connections: Arc<Connections>,
    mut stop: watch::Receiver<Stop>,
) {
    let graceful = GracefulShutdown::new();
    let (mut tasks, mut reserve) = (JoinSet::new(), Reserve::default());
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let place = connections.admit(peer.ip());
                    let admission = place.admission();
                    let shared = Arc::clone(&shared);
                    let task = tasks.spawn(serve(stream, peer, place, shared, graceful.watcher()));
                    if admission == Admission::HealthOnly {
                        reserve.add(task);
                    }
                }
                // Out of file descriptors, most likely: wait for some to come back.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
            // Nobody else takes finished tasks out of the set.
            Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
            _ = stop.changed() => break,
        }
    }
    drop(listener);
    let grace = shared.config.load().timeouts.shutdown;
    tokio::select! {
        () = graceful.shutdown() => {}
        () = tokio::time::sleep(grace) => {}
        _ = stop.wait_for(|stop| *stop == Stop::Now) => {}
    }
    // A request that is cut off records itself when it is dropped; the ledger is open for as long.
    shared.is_cutting_off.store(true, Ordering::Relaxed);
    tasks.shutdown().await;
    let metrics = &shared.surfaces.metrics;
    let recorded = async {
        while metrics.in_flight() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    // Streams of HTTP/2 have tasks of their own, which end when they hear of their connection's end.
    let _ = tokio::time::timeout(RECORDING, recorded).await;
}

/// Connections beyond the limits, which are there for a health check. The newest ones stay: who floods the proxy with silent
/// ones pushes its own out.
#[derive(Debug, Default)]
struct Reserve(VecDeque<AbortHandle>);

impl Reserve {
    const SIZE: usize = 64;

    fn add(&mut self, task: AbortHandle) {
        if self.0.len() >= Self::SIZE
            && let Some(oldest) = self.0.pop_front()
        {
            oldest.abort();
        }
        self.0.push_back(task);
    }
}
