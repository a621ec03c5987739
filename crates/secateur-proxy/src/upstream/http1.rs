//! A request on a connection of its own, driven by the request's task.
//!
//! A connection makes progress only while it is polled. It is polled by whoever waits for the response's head and
//! then by whoever asks for its body: the client's own task, which also writes what comes. So a chunk wakes one
//! task and not three, and a client that reads slowly slows the upstream down by itself.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::header::HOST;
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderValue, Request, Response, Uri, Version};
use hyper::body::{Body as _, Frame, Incoming};
use hyper::client::conn::http1;
use tokio::task::unconstrained;

use super::body::{OutBody, UpstreamBody};
use super::connect::Wire;
use super::pool::Pool;
use super::{Origin, Sent};

/// A connection that carries one exchange at a time.
pub(super) struct Connection {
    sender: http1::SendRequest<OutBody>,
    driver: http1::Connection<Wire, OutBody>,
}

impl Connection {
    pub(super) fn new(
        sender: http1::SendRequest<OutBody>,
        driver: http1::Connection<Wire, OutBody>,
    ) -> Self {
        Self { sender, driver }
    }

    /// Whether it could take a request, as far as this side has heard.
    pub(super) fn is_ready(&mut self) -> bool {
        let mut nobody = Context::from_waker(Waker::noop());
        Pin::new(&mut self.driver).poll(&mut nobody).is_pending() && self.sender.is_ready()
    }
}

pub(super) async fn send(
    mut connection: Box<Connection>,
    mut request: Request<OutBody>,
    origin: &Origin,
    pool: &Arc<Pool>,
) -> Sent {
    address(&mut request, origin);
    let fate = request.body().fate();
    let mut answered = pin!(unconstrained(connection.sender.try_send_request(request)));
    let mut is_over = false;
    let answer = poll_fn(|context| {
        if !is_over {
            is_over = Pin::new(&mut connection.driver).poll(context).is_ready();
        }
        // All that can bring the answer is done above: nobody needs to be woken for it.
        answered.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    });
    let response = match answer.await {
        Ok(response) => response,
        Err(mut error) => {
            return match error.take_message() {
                Some(request) => Sent::NotTaken(request, error.into_error()),
                None => Sent::Failed(error.into_error().into()),
            };
        }
    };
    let (head, incoming) = response.into_parts();
    let body = if fate.is_some_and(|fate| !fate.is_settled()) {
        // The upstream answers before it has the request. A client may read nothing before it has sent all, so
        // the sending must not wait for the reading.
        let Connection { driver, .. } = *connection;
        tokio::spawn(driver);
        UpstreamBody::Shared(incoming)
    } else {
        UpstreamBody::Driven(Driven {
            incoming,
            connection: (!is_over).then_some(connection),
            origin: origin.clone(),
            pool: Arc::clone(pool),
        })
    };
    Sent::Answered(Response::from_parts(head, body))
}

/// The path stands in the first line and the host in its header.
fn address(request: &mut Request<OutBody>, origin: &Origin) {
    *request.version_mut() = Version::HTTP_11;
    if !request.headers().contains_key(HOST) {
        let authority = &origin.authority;
        let is_usual = match authority.port_u16() {
            Some(80) => origin.scheme == Scheme::HTTP,
            Some(443) => origin.scheme == Scheme::HTTPS,
            _ => false,
        };
        let host = match authority.port() {
            Some(port) if !is_usual => {
                HeaderValue::try_from(format!("{}:{port}", authority.host()))
            }
            _ => HeaderValue::from_str(authority.host()),
        };
        if let Ok(host) = host {
            request.headers_mut().insert(HOST, host);
        }
    }
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
}

/// A response's body that drives the connection it comes from.
pub(crate) struct Driven {
    incoming: Incoming,
    /// `None`: it has ended.
    connection: Option<Box<Connection>>,
    origin: Origin,
    pool: Arc<Pool>,
}

impl std::fmt::Debug for Driven {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driven")
            .field("incoming", &self.incoming)
            .finish_non_exhaustive()
    }
}

impl Driven {
    pub(super) fn incoming(&self) -> &Incoming {
        &self.incoming
    }

    pub(super) fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        // Frames come from the connection alone, which is polled right here and wakes the task: nobody needs to be
        // woken for a frame.
        let mut nobody = Context::from_waker(Waker::noop());
        let there = Pin::new(&mut self.incoming).poll_frame(&mut nobody);
        let Some(connection) = self.connection.as_mut().filter(|_| there.is_pending()) else {
            return there;
        };
        if Pin::new(&mut connection.driver).poll(context).is_ready() {
            self.connection = None;
        }
        Pin::new(&mut self.incoming).poll_frame(&mut nobody)
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        // A connection is not ready before the whole body was read off it: where that is given up, it goes too.
        if let Some(mut connection) = self.connection.take()
            && connection.is_ready()
        {
            self.pool.put(&self.origin, connection);
        }
    }
}
