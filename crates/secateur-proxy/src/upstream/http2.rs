//! HTTP/2 connections to one server. hyper-util's pool has one per server, on which requests wait once the peer's limit
//! of streams is reached; model responses last minutes, so here another connection is opened instead.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{Request, Response, Uri, Version};
use hyper::client::conn::http2;
use hyper_util::client::legacy::connect::Connection as _;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::Notify;
use tower_service::Service;

use super::body::{OutBody, UpstreamBody};
use super::connect::{Connector, Wire};
use super::send_error::SendError;
use super::stream_count::{OpenStream, StreamCount};

/// How long a connection may be idle before it is closed.
const MAX_IDLE: Duration = Duration::from_secs(60);
/// How often that is looked at.
const IDLE_CHECK: Duration = Duration::from_secs(15);

/// What became of a request.
pub(super) enum Http2Outcome {
    Answered(Response<UpstreamBody>),
    /// The server does not speak HTTP/2; the request was not sent.
    NoHttp2(Request<OutBody>),
}

type Sender = http2::SendRequest<OutBody>;
type Driver = http2::Connection<Wire, OutBody, TokioExecutor>;

#[derive(Clone, Debug)]
struct Connection {
    sender: Sender,
    streams: Arc<StreamCount>,
}

/// A stream that a request may use.
struct Stream {
    sender: Sender,
    open: OpenStream,
    is_first: bool,
}

/// The connections to one server; another one is opened when all streams that the peer allows are in use.
#[derive(Debug)]
pub(super) struct Http2Connections {
    connector: Connector,
    connections: Mutex<Vec<Connection>>,
    /// A stream was closed, or a peer allows more of them.
    changed: Arc<Notify>,
}

impl Http2Connections {
    pub(super) fn new(connector: Connector) -> Self {
        Self {
            connector,
            connections: Mutex::default(),
            changed: Arc::default(),
        }
    }

    /// Sends a request. If its connection ended before any of it was written, it goes to another one.
    pub(super) async fn send(
        &self,
        mut request: Request<OutBody>,
    ) -> Result<Http2Outcome, SendError> {
        loop {
            let Some(stream) = self.stream(request.uri()).await? else {
                return Ok(Http2Outcome::NoHttp2(request));
            };
            let Stream {
                mut sender,
                open,
                is_first,
            } = stream;
            *request.version_mut() = Version::HTTP_2;
            let mut error = match sender.try_send_request(request).await {
                Ok(response) => {
                    let response = response.map(|body| UpstreamBody::counted(body, open));
                    return Ok(Http2Outcome::Answered(response));
                }
                Err(error) => error,
            };
            request = match error.take_message() {
                Some(unsent) if !is_first => unsent,
                _ => return Err(error.into_error().into()),
            };
        }
    }

    /// A free stream of an open connection, or the first one of a new connection, whichever comes first. `None`: the
    /// server does not speak HTTP/2.
    async fn stream(&self, uri: &Uri) -> Result<Option<Stream>, SendError> {
        if let Some(stream) = self.free_stream() {
            return Ok(Some(stream));
        }
        tokio::select! {
            opened = self.open(uri) => opened,
            stream = self.next_free_stream() => Ok(Some(stream)),
        }
    }

    fn connections(&self) -> MutexGuard<'_, Vec<Connection>> {
        let connections = self.connections.lock();
        connections.unwrap_or_else(PoisonError::into_inner)
    }

    fn free_stream(&self) -> Option<Stream> {
        let mut connections = self.connections();
        connections.retain(|connection| !connection.sender.is_closed());
        connections.iter().find_map(|connection| {
            Some(Stream {
                open: connection.streams.try_open()?,
                sender: connection.sender.clone(),
                is_first: false,
            })
        })
    }

    async fn next_free_stream(&self) -> Stream {
        loop {
            let changed = self.changed.notified();
            if let Some(stream) = self.free_stream() {
                return stream;
            }
            changed.await;
        }
    }

    async fn open(&self, uri: &Uri) -> Result<Option<Stream>, SendError> {
        let wire = self.connector.clone().call(uri.clone()).await?;
        if !wire.connected().is_negotiated_h2() {
            return Ok(None);
        }
        let (sender, driver) = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .adaptive_window(true)
            .keep_alive_interval(Duration::from_secs(30))
            .keep_alive_timeout(Duration::from_secs(20))
            // Nothing is sent before the peer's settings say how many streams it allows.
            .initial_max_send_streams(0)
            .handshake(wire)
            .await?;
        let (streams, open) = StreamCount::new(Arc::clone(&self.changed));
        tokio::spawn(drive(driver, Arc::clone(&streams)));
        let stream = Stream {
            sender: sender.clone(),
            open,
            is_first: true,
        };
        self.connections().push(Connection { sender, streams });
        Ok(Some(stream))
    }
}

/// Runs a connection and keeps its limit up to date, until it ends or has been idle for long.
async fn drive(mut driver: Driver, streams: Arc<StreamCount>) {
    let mut idle_check = tokio::time::interval(IDLE_CHECK);
    loop {
        let running = poll_fn(|context| {
            let ended = Pin::new(&mut driver).poll(context);
            // Polled whenever a stream is opened, so also when the settings arrive that the first one waits for.
            streams.set_limit(driver.current_max_send_streams());
            ended
        });
        tokio::select! {
            _ = running => break,
            _ = idle_check.tick() => {
                if streams.is_idle_for(MAX_IDLE) {
                    break;
                }
            }
        }
    }
}
