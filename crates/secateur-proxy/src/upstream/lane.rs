//! What leads to one upstream: its address, and connections that wait for a request.
//!
//! Nobody looks after them while they wait: that one has ended shows when it is used, and otherwise when the pool
//! is swept.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::uri::{Authority, Scheme};
use http::{HeaderValue, Uri};
use tokio::sync::Notify;

use super::http1::Connection;
use super::http2::Sender;

/// How long a connection may wait.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// How many may wait.
const MAX_WAITING: usize = 256;

/// A connection for a request.
pub(super) enum Found {
    /// For this one alone.
    Own(Box<Connection>),
    /// For others as well.
    Shared(Sender),
}

/// See the module.
pub(super) struct Lane {
    scheme: Scheme,
    authority: Authority,
    host: HeaderValue,
    connections: Mutex<Connections>,
    /// Somebody shares a connection from now on.
    opened: Notify,
}

#[derive(Default)]
struct Connections {
    /// The last one that came is the first to go: those at the front are left to grow old.
    waiting: Vec<(Box<Connection>, Instant)>,
    /// And when it was last used.
    shared: Option<(Sender, Instant)>,
}

impl Connections {
    fn shared(&mut self) -> Option<Sender> {
        self.shared.take_if(|(sender, _)| sender.is_closed());
        let (sender, used) = self.shared.as_mut()?;
        *used = Instant::now();
        Some(sender.clone())
    }
}

impl Lane {
    /// `None`: that is not the address of a server.
    pub(super) fn to(uri: &Uri) -> Option<Self> {
        let (scheme, authority) = (uri.scheme()?.clone(), uri.authority()?.clone());
        let usual = if scheme == Scheme::HTTPS { 443 } else { 80 };
        let host = match authority.port() {
            Some(port) if port.as_u16() != usual => format!("{}:{port}", authority.host()),
            _ => authority.host().to_owned(),
        };
        Some(Self {
            host: HeaderValue::try_from(host).ok()?,
            scheme,
            authority,
            connections: Mutex::default(),
            opened: Notify::new(),
        })
    }

    pub(super) fn leads_to(&self, uri: &Uri) -> bool {
        uri.authority() == Some(&self.authority) && uri.scheme() == Some(&self.scheme)
    }

    /// What an HTTP/1.1 request says of where it goes.
    pub(super) fn host(&self) -> HeaderValue {
        self.host.clone()
    }

    /// The whole address of a path.
    pub(super) fn uri(&self, path: &str) -> Result<Uri, http::Error> {
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(path)
            .build()
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// One that waits.
    pub(super) fn take(&self) -> Option<Found> {
        let mut connections = self.connections();
        if let Some(sender) = connections.shared() {
            return Some(Found::Shared(sender));
        }
        let (connection, since) = connections.waiting.pop()?;
        if since.elapsed() < MAX_WAIT {
            return Some(Found::Own(connection));
        }
        // All that came before it are older.
        let old = std::mem::take(&mut connections.waiting);
        drop(connections);
        drop(old);
        None
    }

    /// This one waits from now on.
    pub(super) fn put(&self, connection: Box<Connection>) {
        let mut connections = self.connections();
        if connections.waiting.len() < MAX_WAITING {
            connections.waiting.push((connection, Instant::now()));
        }
    }

    /// Requests share this one from now on.
    pub(super) fn share(&self, sender: Sender) {
        let mut connections = self.connections();
        if connections.shared().is_none() {
            connections.shared = Some((sender, Instant::now()));
            self.opened.notify_waiters();
        }
    }

    /// Waits until somebody shares a connection.
    pub(super) async fn opened_by_others(&self) -> Sender {
        loop {
            let opened = self.opened.notified();
            if let Some(sender) = self.connections().shared() {
                return sender;
            }
            opened.await;
        }
    }

    /// Closes what has ended or waited too long.
    pub(super) fn sweep(&self, now: Instant) {
        let is_fresh = |since: &Instant| now.duration_since(*since) < MAX_WAIT;
        let mut connections = self.connections();
        connections
            .waiting
            .retain_mut(|(connection, since)| is_fresh(since) && connection.is_ready());
        connections
            .shared
            .take_if(|(sender, used)| sender.is_closed() || !is_fresh(used));
    }
}

impl std::fmt::Debug for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lane").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::connect::Connector;
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn what_ended_or_waited_too_long_is_swept_away() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri: Uri = format!("http://{}/x", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        let lane = Lane::to(&uri).unwrap();
        assert!(lane.leads_to(&uri));
        let connector = Connector::new(Duration::from_secs(5), &[]).unwrap();
        let mut far_ends = Vec::new();
        for _ in 0..3 {
            let Ok(Found::Own(connection)) = connector.open(&lane).await else {
                panic!("there is a listener");
            };
            lane.put(connection);
            far_ends.push(listener.accept().await.unwrap());
        }
        let waiting = || lane.connections().waiting.len();
        let now = Instant::now();
        lane.sweep(now);
        assert_eq!(waiting(), 3);
        far_ends.pop();
        for _ in 0..500 {
            lane.sweep(now);
            if waiting() < 3 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(waiting(), 2);
        lane.sweep(now + MAX_WAIT * 2);
        assert_eq!(waiting(), 0);
        assert!(lane.take().is_none());
    }

    #[test]
    fn the_host_has_a_port_unless_it_is_the_usual_one() {
        for (uri, host) in [
            ("http://example.org/v1", "example.org"),
            ("http://example.org:80", "example.org"),
            ("https://example.org:443/", "example.org"),
            ("https://example.org:80/", "example.org:80"),
            ("http://example.org:443/", "example.org:443"),
            ("http://[::1]:9000/", "[::1]:9000"),
        ] {
            let lane = Lane::to(&uri.parse().unwrap()).unwrap();
            assert_eq!(lane.host(), host);
        }
        assert!(Lane::to(&Uri::from_static("/v1/messages")).is_none());
    }
}
