//! The portal itself: options, and the way of a request through guards to its page.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use secateur_ledger::moment::{Moment, now};
use secateur_ledger::{Ledger, Millis};
use secateur_proxy::own_names::{host_of, is_known_host};
use secateur_proxy::{PageBody, Pages, is_page_path};

use crate::access::{Attempts, PortalToken, Session, Sessions, client, is_own_form, port};
use crate::catalog::Catalog;
use crate::done::Done;
use crate::portal_error::PortalError;
use crate::refused::{Made, Refused};
use crate::shell::{Section, Shell};
use crate::visit::{Visit, cookie_lines, cookie_name, cookies};
use crate::{link, reply};

const CSS: &str = include_str!("../assets/portal.css");
/// Forms are small.
const MAX_FORM_BYTES: usize = 16 << 10;
const HOUR: i64 = 3_600_000;

/// How the portal is reached.
#[derive(Clone, Debug)]
pub struct PortalOptions {
    /// Where the proxy listens.
    pub listen: SocketAddr,
    /// What opens the portal; `None`: everybody who reaches it, which must be this machine alone.
    pub token: Option<PortalToken>,
    /// Names that the portal answers to, besides those of this machine. With a token and no names it
    /// answers to all. Default none.
    pub hosts: Vec<String>,
    /// Reverse proxies whose `x-forwarded-proto` and `x-forwarded-for` are believed. Default none.
    pub trusted_proxies: Vec<IpAddr>,
    /// How long a session lasts, in hours. Default 12.
    pub session_hours: u32,
}

impl PortalOptions {
    /// The options with their defaults.
    #[must_use]
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            token: None,
            hosts: Vec::new(),
            trusted_proxies: Vec::new(),
            session_hours: 12,
        }
    }
}

/// Serves the pages over one ledger.
#[derive(Debug)]
pub struct Portal {
    pub(crate) ledger: Ledger,
    pub(crate) catalog: Arc<dyn Catalog>,
    pub(crate) token: Option<PortalToken>,
    pub(crate) sessions: Sessions,
    pub(crate) attempts: Attempts,
    hosts: Vec<String>,
    trusted_proxies: Vec<IpAddr>,
    css: String,
}

impl Portal {
    /// Opens a portal.
    ///
    /// # Errors
    /// It has no token and can be reached from other machines.
    pub fn new(
        ledger: Ledger,
        catalog: Arc<dyn Catalog>,
        options: PortalOptions,
    ) -> Result<Self, PortalError> {
        if options.token.is_none() && !options.listen.ip().is_loopback() {
            return Err(PortalError::Open(options.listen));
        }
        let sessions = Sessions::new(
            options.token.as_ref(),
            i64::from(options.session_hours.max(1)) * HOUR,
        )?;
        let digest = ring::digest::digest(&ring::digest::SHA256, CSS.as_bytes());
        let mut name = hex::encode(digest);
        name.truncate(12);
        Ok(Self {
            ledger,
            catalog,
            token: options.token,
            sessions,
            attempts: Attempts::default(),
            hosts: options.hosts,
            trusted_proxies: options.trusted_proxies,
            css: format!("/portal/style-{name}.css"),
        })
    }

    pub(crate) fn may_see(&self, visit: &Visit) -> bool {
        self.token.is_none() || visit.session.is_member
    }

    pub(crate) fn shell(&self, visit: &Visit, section: Section) -> Shell {
        let may_see = self.may_see(visit);
        Shell {
            section,
            css: self.css.clone(),
            form_key: self.sessions.form_key(&visit.session),
            can_leave: self.token.is_some() && may_see,
            may_see,
            name: visit.session.name.clone(),
            made: Moment(visit.now),
            done: visit.done.clone(),
            trouble: self.ledger.stats().trouble().filter(|_| may_see),
            refresh: None,
        }
    }

    /// Answers a request. A `SocketAddr` among its extensions is taken as the peer's address.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Bytes>
    where
        B: http_body::Body + Send,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        let path = head.uri.path();
        if path == "/" {
            return reply::see_other("/portal");
        }
        if path == self.css && head.method == Method::GET {
            return reply::style(CSS);
        }
        let now = now();
        let (peer, is_tls) = client(
            &head.headers,
            &head.uri,
            head.extensions.get().copied(),
            &self.trusted_proxies,
        );
        let host_name = host_of(&head.headers, &head.uri);
        let cookie_name = cookie_name(host_name.and_then(port), is_tls);
        let known = self
            .session(cookies(&head.headers, &cookie_name), now)
            .await;
        let is_new = known.is_none();
        let Some(session) = known.or_else(|| self.sessions.begin(false, "", now).ok()) else {
            return reply::see_other("/portal");
        };
        let is_known_host = is_known_host(host_name, self.token.is_none(), &self.hosts);
        let form = if head.method == Method::POST {
            Limited::new(body, MAX_FORM_BYTES)
                .collect()
                .await
                .ok()
                .map(http_body_util::Collected::to_bytes)
        } else {
            Some(Bytes::new())
        };
        let done = cookies(&head.headers, &Done::cookie_name(&cookie_name))
            .find_map(|cookie| Done::read(&self.sessions, cookie, now));
        let mut visit = Visit {
            method: head.method,
            uri: head.uri,
            headers: head.headers,
            body: form.clone().unwrap_or_default(),
            now,
            session,
            is_new,
            peer,
            is_tls,
            cookie_name,
            done,
        };
        if !is_known_host {
            return self.message(
                &visit,
                StatusCode::FORBIDDEN,
                "Not served under this name",
                "The portal was asked for under a name that it does not know. Without a token it answers only to this machine's own names.",
                "Use 127.0.0.1 or localhost, or list the name under [portal] hosts.",
                None,
            );
        }
        let made = if form.is_some() {
            self.route(&mut visit).await
        } else {
            Err(Refused::BadForm("The form is too large or broke off."))
        };
        let response = made.unwrap_or_else(|refused| self.refuse(&visit, refused));
        let response = self.keep_session(&visit, response);
        // A page has told it; a redirect leads to the page that will.
        if visit.done.is_some() && visit.method == Method::GET && response.status().is_success() {
            return Self::keep_done(&visit, response, "", 0);
        }
        response
    }

    /// Sets the cookie that tells the next page what was done.
    pub(crate) fn keep_done(
        visit: &Visit,
        response: Response<Bytes>,
        value: &str,
        seconds: i64,
    ) -> Response<Bytes> {
        let name = Done::cookie_name(&visit.cookie_name);
        let lines = cookie_lines(&name, value, seconds, visit.is_tls);
        lines.iter().fold(response, |response, line| {
            reply::with(response, header::SET_COOKIE, line)
        })
    }

    /// The first session among these cookies that is still one. While the ledger is away, only what was
    /// ended in this process is known.
    async fn session<'c>(
        &self,
        cookies: impl Iterator<Item = &'c str>,
        now: Millis,
    ) -> Option<Session> {
        for session in cookies.filter_map(|cookie| self.sessions.read(cookie, now)) {
            let is_ended = session.is_member
                && self
                    .ledger
                    .is_session_ended(&session.id)
                    .await
                    .unwrap_or(false);
            if !is_ended {
                return Some(session);
            }
        }
        None
    }

    /// Sets the cookie of a session that the browser does not have yet.
    fn keep_session(&self, visit: &Visit, mut response: Response<Bytes>) -> Response<Bytes> {
        if !visit.is_new {
            return response;
        }
        let seconds = Sessions::seconds_left(&visit.session, visit.now);
        let value = self.sessions.seal(&visit.session);
        for line in cookie_lines(&visit.cookie_name, &value, seconds, visit.is_tls) {
            response = reply::with(response, header::SET_COOKIE, &line);
        }
        response
    }

    async fn route(&self, visit: &mut Visit) -> Made {
        if visit.method == Method::POST {
            let host_name = host_of(&visit.headers, &visit.uri);
            if !is_own_form(&visit.headers, host_name, &self.hosts)
                || !self
                    .sessions
                    .takes_form(&visit.session, &visit.field("form_key"))
            {
                return Err(Refused::ForeignForm);
            }
        } else if !visit.is_get() {
            return Err(Refused::Method(allowed(visit.path())));
        }
        let path = visit.path().to_owned();
        if path == "/portal/login" {
            return if visit.is_get() {
                Ok(self.login_page(visit, None))
            } else {
                Ok(self.log_in(visit))
            };
        }
        if !self.may_see(visit) {
            let wanted = visit
                .uri
                .path_and_query()
                .map_or("/portal", http::uri::PathAndQuery::as_str);
            let next = if visit.is_get() && link::is_own_page(wanted) {
                wanted
            } else {
                "/portal"
            };
            let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
            return Ok(reply::see_other(&format!("/portal/login?next={next}")));
        }
        if visit.is_get() {
            self.show(visit, &path).await
        } else {
            self.change(visit, &path).await
        }
    }
}

/// The methods that an address takes.
pub(crate) fn allowed(path: &str) -> &'static str {
    match path {
        "/portal/login" => "GET, HEAD, POST",
        "/portal/switch" | "/portal/resume" | "/portal/logout" => "POST",
        _ => "GET, HEAD",
    }
}

impl Pages for Portal {
    fn claims(&self, path: &str) -> bool {
        path == "/" || is_page_path(path)
    }

    fn respond(
        &self,
        request: Request<PageBody>,
    ) -> Pin<Box<dyn Future<Output = Response<Bytes>> + Send + '_>> {
        Box::pin(self.answer(request))
    }
}
