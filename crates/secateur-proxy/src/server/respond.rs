//! The response to a request, by its [`Endpoint`].

use std::borrow::Cow;
use std::convert::Infallible;
use std::future::ready;
use std::net::SocketAddr;
use std::pin::Pin;

use http::{Method, Request, Response, Uri};
use hyper::body::Incoming;

use super::endpoint::Endpoint;
use crate::handle::{handle, refuse_at_once};
use crate::own::{OwnPath, pages_are_off, refuse_navigation, respond_to_recall, respond_to_score};
use crate::pages::PageBody;
use crate::refusal::Refusal;
use crate::response_body::ClientBody;
use crate::route::Route;
use crate::shared::Held;
use crate::wire::normal_path::{Ambiguous, normal_path};

/// A response that is there or comes later. Always boxed: the server moves it about, and every request
/// would make room for the largest of its kinds.
pub(super) type Reply =
    Pin<Box<dyn Future<Output = Result<Response<ClientBody>, Infallible>> + Send>>;

fn at_once(response: Response<ClientBody>) -> Reply {
    Box::pin(ready(Ok(response)))
}

/// Answers a request.
pub(super) fn respond(shared: Held, peer: SocketAddr, mut request: Request<Incoming>) -> Reply {
    let normal = normalize(&mut request);
    match Endpoint::of(&request, normal, shared.pages.as_deref()) {
        Endpoint::Refused(refusal) => at_once(refuse_at_once(&shared, &request, &refusal)),
        Endpoint::Own(own) => at_once(own.respond(&shared, &request)),
        Endpoint::Page => respond_with_page(&shared, peer, request),
        Endpoint::PagesOff => at_once(pages_are_off(&shared.no_pages)),
        Endpoint::Navigation => at_once(refuse_navigation()),
        Endpoint::Score => Box::pin(async move { Ok(respond_to_score(&shared, request).await) }),
        Endpoint::Recall => Box::pin(async move { Ok(respond_to_recall(&shared, request).await) }),
        Endpoint::Forward => {
            let handled = handle(shared, request);
            Box::pin(async move { Ok(handled.await) })
        }
    }
}

fn respond_with_page(shared: &Held, peer: SocketAddr, mut request: Request<Incoming>) -> Reply {
    let Some(pages) = shared.pages.clone() else {
        return at_once(pages_are_off(&shared.no_pages));
    };
    // Pages tell by it who tries their token too often.
    request.extensions_mut().insert(peer);
    let pace = shared.config.load().timeouts.own_body_pace();
    let request = PageBody::of(request, pace);
    Box::pin(async move { Ok(pages.respond(request).await.map(ClientBody::full)) })
}

/// Gives the request's path its one spelling, which is looked at and sent on.
fn normalize(request: &mut Request<Incoming>) -> Result<(), Ambiguous> {
    let uri = request.uri();
    if request.method() == Method::CONNECT {
        return Ok(());
    }
    let Cow::Owned(path) = normal_path(uri.path())? else {
        return Ok(());
    };
    let target = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path,
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(target.parse().map_err(|_| Ambiguous)?);
    *request.uri_mut() = Uri::from_parts(parts).map_err(|_| Ambiguous)?;
    Ok(())
}

/// On a connection beyond the limits: the proxy's own paths, and for all others when to come back.
pub(super) fn respond_to_health(shared: &Held, request: &Request<Incoming>) -> Reply {
    at_once(match OwnPath::of(request.method(), request.uri().path()) {
        Some(own) => own.respond(shared, request),
        None => {
            let route = Route::of(request.method(), request.uri(), request.headers());
            let refusal = Refusal::TooManyConnections;
            refusal.response(route.error_shape()).map(ClientBody::full)
        }
    })
}
