//! Who answers a request: the proxy itself, the pages, or an upstream.

use std::borrow::Cow;
use std::convert::Infallible;
use std::future::ready;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use http::{Method, Request, Response, Uri};
use hyper::body::Incoming;

use crate::handle::{handle, refuse_at_once};
use crate::own::{
    claims_recall, claims_score, own_path, pages_are_off, refuse_navigation, respond_to_recall,
    respond_to_score,
};
use crate::pages::{PageBody, is_navigation, is_page_path};
use crate::refusal::Refusal;
use crate::response_body::ClientBody;
use crate::route::{Route, misaddressed};
use crate::shared::Held;
use crate::wire::normal_path::{Ambiguous, normal_path};

/// A response that is there or comes later. Always boxed: the server moves it about, and every request
/// would make room for the largest of its kinds.
pub(super) type Reply =
    Pin<Box<dyn Future<Output = Result<Response<ClientBody>, Infallible>> + Send>>;

fn at_once(response: Response<ClientBody>) -> Reply {
    Box::pin(ready(Ok(response)))
}

pub(super) fn respond(shared: Held, peer: SocketAddr, mut request: Request<Incoming>) -> Reply {
    if let Some(refusal) = misaddressed(&request) {
        return at_once(refuse_at_once(&shared, &request, &refusal));
    }
    if normalize(&mut request).is_err() {
        return at_once(refuse_at_once(&shared, &request, &Refusal::AmbiguousPath));
    }
    if let Some(response) = own_path(&shared, &request) {
        return at_once(response);
    }
    if let Some(pages) = shared
        .pages
        .as_ref()
        .filter(|pages| pages.claims(request.uri().path()))
    {
        // Pages tell by it who tries their token too often.
        request.extensions_mut().insert(peer);
        let pace = shared.config.load().timeouts.own_body_pace();
        let request = PageBody::of(request, pace);
        let pages = Arc::clone(pages);
        return Box::pin(async move { Ok(pages.respond(request).await.map(ClientBody::full)) });
    }
    if shared.pages.is_none() && is_page_path(request.uri().path()) {
        return at_once(pages_are_off(&shared.no_pages));
    }
    if shared.pages.is_some() && is_navigation(request.headers()) {
        return at_once(refuse_navigation());
    }
    if claims_score(&request) {
        return Box::pin(async move { Ok(respond_to_score(&shared, request).await) });
    }
    if claims_recall(&request) {
        return Box::pin(async move { Ok(respond_to_recall(&shared, request).await) });
    }
    let handled = handle(shared, request);
    Box::pin(async move { Ok(handled.await) })
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

/// On a connection beyond the limits: health, and for all others when to come back.
pub(super) fn respond_to_health(shared: &Held, request: &Request<Incoming>) -> Reply {
    at_once(own_path(shared, request).unwrap_or_else(|| {
        let route = Route::of(request.method(), request.uri(), request.headers());
        let refusal = Refusal::TooManyConnections;
        refusal.response(route.error_shape()).map(ClientBody::full)
    }))
}
