//! What leads to one upstream: its address, and connections that wait for a request.
//!
//! Nobody looks after them while they wait: that one has ended shows when it is used, and otherwise when the pool
//! is swept.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::uri::{Authority, Scheme};
use http::{HeaderValue, Uri};
use tokio::sync::Notify;

use super::SendError;
use super::connect::Connector;
use super::http1::Connection;
use super::http2::Sender;

/// How long a connection may wait.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// How many may wait in one place.
const MAX_WAITING: usize = 64;
/// In how many places they wait.
const SHELVES: usize = 8;

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
    connector: Arc<Connector>,
    /// A connection goes to the place of the thread that used it last, where its memory is at hand.
    shelves: [Shelf; SHELVES],
    /// The one that requests share.
    shared: Mutex<Option<Shared>>,
    is_shared: AtomicBool,
    /// Somebody shares a connection from now on.
    opened: Notify,
    /// Nothing waits here any more: no configuration leads here.
    is_closed: AtomicBool,
}

/// Has cache lines of its own, so that threads do not wait for each other's.
#[derive(Default)]
#[repr(align(128))]
struct Shelf(Mutex<Vec<Waiting>>);

impl Shelf {
    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last one that came: those at the front are left to grow old.
    fn take(&self) -> Option<Box<Connection>> {
        let mut waiting = self.waiting();
        let last = waiting.pop()?;
        if last.since.elapsed() < MAX_WAIT {
            return Some(last.connection);
        }
        // All that came before it are older.
        let old = std::mem::take(&mut *waiting);
        drop(waiting);
        drop(old);
        None
    }
}

struct Waiting {
    connection: Box<Connection>,
    since: Instant,
}

struct Shared {
    sender: Sender,
    used: Instant,
}

/// The number of this thread, as far as places are told apart.
fn own_place() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static PLACE: usize = THREADS.fetch_add(1, Ordering::Relaxed) % SHELVES;
    }
    PLACE.with(|place| *place)
}

impl Lane {
    /// `None`: that is not the address of a server.
    pub(super) fn to(uri: &Uri, connector: Arc<Connector>) -> Option<Self> {
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
            connector,
            shelves: Default::default(),
            shared: Mutex::default(),
            is_shared: AtomicBool::new(false),
            opened: Notify::new(),
            is_closed: AtomicBool::new(false),
        })
    }

    pub(super) fn leads_to(&self, uri: &Uri) -> bool {
        uri.authority() == Some(&self.authority) && uri.scheme() == Some(&self.scheme)
    }

    /// What an HTTP/1.1 request says of where it goes.
    pub(super) fn host(&self) -> HeaderValue {
        self.host.clone()
    }

    /// The server's name, for people.
    pub(super) fn host_name(&self) -> &str {
        self.host.to_str().unwrap_or_default()
    }

    /// The whole address of a path.
    pub(super) fn uri(&self, path: &str) -> Result<Uri, http::Error> {
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(path)
            .build()
    }

    /// One that waits.
    pub(super) fn take(&self) -> Option<Found> {
        if self.is_shared.load(Ordering::Acquire)
            && let Some(sender) = self.shared()
        {
            return Some(Found::Shared(sender));
        }
        let (others, own_first) = self.shelves.split_at(own_place());
        let taken = own_first.iter().chain(others).find_map(Shelf::take);
        taken.map(Found::Own)
    }

    /// This one waits from now on.
    pub(super) fn put(&self, connection: Box<Connection>) {
        let mut waiting = self.shelves[own_place()].waiting();
        // Asked while the shelf is locked: whoever closes the lane empties it after this, or this is seen.
        if waiting.len() < MAX_WAITING && !self.is_closed.load(Ordering::Acquire) {
            waiting.push(Waiting {
                connection,
                since: Instant::now(),
            });
        }
    }

    fn lock_shared(&self) -> MutexGuard<'_, Option<Shared>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shared(&self) -> Option<Sender> {
        let mut shared = self.lock_shared();
        shared.take_if(|shared| shared.sender.is_closed());
        let shared = shared.as_mut()?;
        shared.used = Instant::now();
        Some(shared.sender.clone())
    }

    /// Requests share this one from now on.
    fn share(&self, sender: Sender) {
        if self.shared().is_some() {
            return;
        }
        let used = Instant::now();
        *self.lock_shared() = Some(Shared { sender, used });
        self.is_shared.store(true, Ordering::Release);
        self.opened.notify_waiters();
    }

    /// A new connection, or one that others opened first and share.
    pub(super) async fn connect(&self) -> Result<Found, SendError> {
        let opened = tokio::select! {
            opened = self.connector.open(self) => opened?,
            shared = self.opened_by_others() => return Ok(Found::Shared(shared)),
        };
        if let Found::Shared(sender) = &opened {
            self.share(sender.clone());
        }
        Ok(opened)
    }

    /// Waits until somebody shares a connection.
    async fn opened_by_others(&self) -> Sender {
        loop {
            let opened = self.opened.notified();
            if let Some(sender) = self.shared() {
                return sender;
            }
            opened.await;
        }
    }

    /// Closes all that wait. Those that carry a request go on, and are closed when they are done.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        for shelf in &self.shelves {
            let closed = std::mem::take(&mut *shelf.waiting());
            drop(closed);
        }
        let shared = self.lock_shared().take();
        drop(shared);
    }

    /// Closes what has ended or waited too long.
    pub(super) fn sweep(&self, now: Instant) {
        let is_fresh = |since: Instant| now.duration_since(since) < MAX_WAIT;
        for shelf in &self.shelves {
            shelf
                .waiting()
                .retain_mut(|waiting| is_fresh(waiting.since) && waiting.connection.is_ready());
        }
        self.lock_shared()
            .take_if(|shared| shared.sender.is_closed() || !is_fresh(shared.used));
    }
}

impl std::fmt::Debug for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lane").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    fn connector() -> Arc<Connector> {
        Arc::new(Connector::new(Duration::from_secs(5), &[]).unwrap())
    }

    #[tokio::test]
    async fn what_ended_or_waited_too_long_is_swept_away() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri: Uri = format!("http://{}/x", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        let lane = Lane::to(&uri, connector()).unwrap();
        assert!(lane.leads_to(&uri));
        let mut far_ends = Vec::new();
        for _ in 0..3 {
            let Ok(Found::Own(connection)) = lane.connect().await else {
                panic!("there is a listener");
            };
            lane.put(connection);
            far_ends.push(listener.accept().await.unwrap());
        }
        let waiting = || {
            lane.shelves
                .iter()
                .map(|shelf| shelf.waiting().len())
                .sum::<usize>()
        };
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

    #[tokio::test]
    async fn nothing_waits_in_a_closed_lane() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri: Uri = format!("http://{}/x", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        let lane = Lane::to(&uri, connector()).unwrap();
        let mut opened = Vec::new();
        for _ in 0..2 {
            let Ok(Found::Own(connection)) = lane.connect().await else {
                panic!("there is a listener");
            };
            opened.push(connection);
        }
        let mut connections = opened.into_iter();
        lane.put(connections.next().unwrap());
        lane.close();
        assert!(lane.take().is_none());
        lane.put(connections.next().unwrap());
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
            let lane = Lane::to(&uri.parse().unwrap(), connector()).unwrap();
            assert_eq!(lane.host(), host);
        }
        assert!(Lane::to(&Uri::from_static("/v1/messages"), connector()).is_none());
    }
}
