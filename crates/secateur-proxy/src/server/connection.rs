//! One client's connection: HTTP/1.1 or HTTP/2, with deadlines for everything that the client can hold up.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::Watcher;
use tokio::net::TcpStream;

use super::respond::{respond, respond_to_health};
use crate::limits::{Admission, ClientIo, Place, StreamExecutor};
use crate::shared::{Held, Shared};

/// How long a connection lasts that was only let in for health checks.
const HEALTH_ONLY: Duration = Duration::from_secs(2);

/// Serves a connection to its end.
pub(super) async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    place: Place,
    shared: Arc<Shared>,
    watcher: Watcher,
) {
    // Events must not wait for each other.
    let _ = stream.set_nodelay(true);
    let timeouts = shared.config.load().timeouts;
    let open = OpenConnection::new(Arc::clone(&shared));
    let held = Held::new(shared);
    let mut server = auto::Builder::new(StreamExecutor(timeouts.write_pace()));
    server
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(timeouts.request_idle)
        .max_buf_size(256 << 10)
        .auto_date_header(false);
    server
        .http2()
        .timer(TokioTimer::new())
        .adaptive_window(true)
        .max_concurrent_streams(256)
        .keep_alive_interval(Duration::from_secs(60))
        .auto_date_header(false);
    let io = ClientIo::new(stream, timeouts.write_pace());
    let (state, admission) = (held.clone(), place.admission());
    let service = service_fn(move |request: Request<Incoming>| {
        held.has_request();
        match admission {
            Admission::Everything => respond(held.clone(), peer, request),
            Admission::HealthOnly => respond_to_health(&held, &request),
        }
    });
    let connection = server.serve_connection(io, service).into_owned();
    // A client that breaks off ends its own connection and nothing else.
    let served = watcher.watch(connection);
    match admission {
        Admission::Everything => with_a_first_request(served, &state, timeouts.request_head).await,
        Admission::HealthOnly => {
            state.surfaces.metrics.connection_refused("health-only");
            let _ = tokio::time::timeout(HEALTH_ONLY, served).await;
        }
    }
    drop((open, place));
}

/// Drives a connection, and ends it where the first request's head is not there in time: hyper has no deadline while it
/// does not know which protocol is spoken, nor for a client that speaks HTTP/2 and asks for nothing.
async fn with_a_first_request(served: impl Future, state: &Held, within: Duration) {
    let mut served = pin!(served);
    let mut timer = pin!(tokio::time::sleep(within));
    let mut is_waiting = true;
    poll_fn(|context| {
        if served.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        if is_waiting {
            is_waiting = !state.had_request();
        }
        if is_waiting && timer.as_mut().poll(context).is_ready() {
            state.surfaces.metrics.connection_refused("no-request");
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await;
}

struct OpenConnection(Arc<Shared>);

impl OpenConnection {
    fn new(shared: Arc<Shared>) -> Self {
        shared.surfaces.metrics.connections(1);
        Self(shared)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.surfaces.metrics.connections(-1);
    }
}
