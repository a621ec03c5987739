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
use http::uri::PathAndQuery;
use http::{Request, Response, Uri, Version};
use hyper::body::{Body as _, Frame, Incoming};
use hyper::client::conn::http1;
use tokio::task::unconstrained;

use super::Sent;
use super::body::{OutBody, UpstreamBody};
use super::connect::Wire;
use super::lane::Lane;
use super::quiet::Wakes;
use crate::wire::request_body::Fate;

/// A connection that carries one exchange at a time.
pub(super) struct Connection {
    sender: http1::SendRequest<OutBody>,
    driver: http1::Connection<Wire, OutBody>,
    wakes: Arc<Wakes>,
    waker: Waker,
}

impl Connection {
    pub(super) fn new(
        sender: http1::SendRequest<OutBody>,
        driver: http1::Connection<Wire, OutBody>,
    ) -> Self {
        let wakes = Arc::<Wakes>::default();
        Self {
            sender,
            driver,
            waker: Waker::from(Arc::clone(&wakes)),
            wakes,
        }
    }

    /// Drives it; ready once it has ended.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.wakes.wake_up(context.waker());
        let mut own = Context::from_waker(&self.waker);
        Pin::new(&mut self.driver).poll(&mut own).map(|_| ())
    }

    /// Whether it could take a request, as far as this side has heard.
    pub(super) fn is_ready(&mut self) -> bool {
        let mut nobody = Context::from_waker(Waker::noop());
        self.poll(&mut nobody).is_pending() && self.sender.is_ready()
    }
}

/// The request is handed over before there is a future, which has no room for it then.
pub(super) fn send(
    mut connection: Box<Connection>,
    mut request: Request<OutBody>,
    lane: Arc<Lane>,
) -> impl Future<Output = Sent> + Send {
    address(&mut request, &lane);
    let fate = request.body().fate();
    if let Some(fate) = &fate {
        fate.asked_by_its_own_task(true);
    }
    let answered = unconstrained(connection.sender.try_send_request(request));
    async move {
        let mut answered = pin!(answered);
        let mut connection = Some(connection);
        let answer = poll_fn(|context| {
            // One that ended gives a request that it did not take back when it goes.
            connection.take_if(|connection| connection.poll(context).is_ready());
            // All that can bring the answer is done above: nobody needs to be woken for it.
            answered
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
        });
        match answer.await {
            Ok(response) => {
                let (head, incoming) = response.into_parts();
                let body = body(incoming, connection, fate, lane);
                Sent::Answered(Response::from_parts(head, body))
            }
            Err(error) => Sent::without_a_response(error, lane),
        }
    }
}

fn body(
    incoming: Incoming,
    connection: Option<Box<Connection>>,
    fate: Option<Arc<Fate>>,
    lane: Arc<Lane>,
) -> UpstreamBody {
    let unsettled = fate.filter(|fate| !fate.is_settled());
    match (connection, unsettled) {
        // The upstream answers before it has the request. A client may read nothing before it has sent all, so the
        // sending must not wait for the reading.
        (Some(connection), Some(fate)) => {
            fate.asked_by_its_own_task(false);
            tokio::spawn(connection.driver);
            UpstreamBody::Shared(incoming)
        }
        (connection, _) => UpstreamBody::Driven(Driven {
            incoming,
            connection,
            lane,
        }),
    }
}

/// The path stands in the first line and the host in its header.
fn address(request: &mut Request<OutBody>, lane: &Lane) {
    *request.version_mut() = Version::HTTP_11;
    let host = request.headers_mut().entry(HOST);
    host.or_insert_with(|| lane.host());
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
}

/// A response's body that drives the connection it comes from.
pub(crate) struct Driven {
    incoming: Incoming,
    /// `None`: it has ended.
    connection: Option<Box<Connection>>,
    lane: Arc<Lane>,
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
        let Some(connection) = &mut self.connection else {
            // All that it brought is there already.
            return Pin::new(&mut self.incoming).poll_frame(context);
        };
        // Frames come from the connection alone, which is polled right here: nobody needs to be woken for a frame.
        let mut nobody = Context::from_waker(Waker::noop());
        let wakes = Arc::clone(&connection.wakes);
        let mut take = || wakes.quietly(|| Pin::new(&mut self.incoming).poll_frame(&mut nobody));
        if let (Poll::Ready(frame), _) = take() {
            return Poll::Ready(frame);
        }
        let is_over = connection.poll(context).is_ready();
        let (frame, was_woken) = take();
        if is_over {
            self.connection = None;
        }
        // Whoever gets a frame comes back for the next one. Whoever gets none is woken.
        if frame.is_pending() && was_woken {
            context.waker().wake_by_ref();
        }
        frame
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        // A connection is not ready before the whole body was read off it: where that is given up, it goes too.
        if let Some(mut connection) = self.connection.take()
            && connection.is_ready()
        {
            self.lane.put(connection);
        }
    }
}
