//! A request on a connection that requests share.

use std::sync::Arc;

use http::{Request, Version};
use hyper::client::conn::http2;

use super::body::{OutBody, UpstreamBody};
use super::lane::Lane;
use super::{SendError, Sent};

/// Sends on a shared connection; clones send on the same one.
pub(super) type Sender = http2::SendRequest<OutBody>;

pub(super) async fn send(
    mut sender: Sender,
    mut request: Request<OutBody>,
    lane: Arc<Lane>,
) -> Sent {
    // The connection's task asks for the body, whoever was to ask for it before.
    if let Some(fate) = request.body().fate() {
        fate.asked_by_its_own_task(false);
    }
    if let Err(error) = sender.ready().await {
        return Sent::not_taken(request, error, lane);
    }
    // One that came back from an HTTP/1.1 connection has lost its address.
    if request.uri().authority().is_none() {
        let path = request.uri().path_and_query();
        match lane.uri(path.map_or("/", |path| path.as_str())) {
            Ok(uri) => *request.uri_mut() = uri,
            Err(_) => return Sent::Failed(SendError::NoAddress),
        }
    }
    *request.version_mut() = Version::HTTP_2;
    match sender.try_send_request(request).await {
        Ok(response) => Sent::Answered(response.map(UpstreamBody::Shared)),
        Err(error) => Sent::without_a_response(error, lane),
    }
}
