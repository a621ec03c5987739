//! Who answers a request. The only place that decides it.

use http::Request;

use crate::own::{OwnPath, claims_recall, claims_score};
use crate::pages::{Pages, is_navigation, is_page_path};
use crate::refusal::Refusal;
use crate::route::misaddressed;
use crate::wire::normal_path::Ambiguous;

/// Who answers a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// Nobody: it is refused whatever it asks for.
    Refused(Refusal),
    /// The proxy itself: health, readiness, metrics, status.
    Own(OwnPath),
    /// The pages.
    Page,
    /// A path of the pages, while there are none.
    PagesOff,
    /// A browser followed a link to a provider's path.
    Navigation,
    /// A client posts a score.
    Score,
    /// A model asks for text that was cut.
    Recall,
    /// A provider.
    Forward,
}

impl Endpoint {
    /// The first that applies, in this order. `normal` says whether the path has one spelling, in which the request
    /// has it by now; `pages` are those that are served on the same port.
    pub(super) fn of<B>(
        request: &Request<B>,
        normal: Result<(), Ambiguous>,
        pages: Option<&dyn Pages>,
    ) -> Self {
        if let Some(refusal) = misaddressed(request) {
            return Self::Refused(refusal);
        }
        if normal.is_err() {
            return Self::Refused(Refusal::AmbiguousPath);
        }
        let path = request.uri().path();
        if let Some(own) = OwnPath::of(request.method(), path) {
            return Self::Own(own);
        }
        match pages {
            Some(pages) if pages.claims(path) => return Self::Page,
            Some(_) if is_navigation(request.headers()) => return Self::Navigation,
            None if is_page_path(path) => return Self::PagesOff,
            _ => {}
        }
        if claims_score(request) {
            return Self::Score;
        }
        if claims_recall(request) {
            return Self::Recall;
        }
        Self::Forward
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::pin::Pin;

    use bytes::Bytes;
    use http::Response;

    use super::*;
    use crate::pages::PageBody;

    #[derive(Debug)]
    struct Portal;

    impl Pages for Portal {
        fn claims(&self, path: &str) -> bool {
            is_page_path(path)
        }

        fn respond(
            &self,
            _: Request<PageBody>,
        ) -> Pin<Box<dyn Future<Output = Response<Bytes>> + Send + '_>> {
            Box::pin(ready(Response::default()))
        }
    }

    fn request(line: &str, headers: &[(&str, &str)]) -> Request<()> {
        let (method, path) = line.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    const HOST: (&str, &str) = ("host", "a");

    #[test]
    fn every_request_has_one_endpoint() {
        for (line, with_pages, without) in [
            ("GET /healthz", Endpoint::Own(OwnPath::Health), None),
            ("GET /readyz", Endpoint::Own(OwnPath::Readiness), None),
            ("GET /metrics", Endpoint::Own(OwnPath::Metrics), None),
            ("GET /secateur/status", Endpoint::Own(OwnPath::Status), None),
            ("POST /healthz", Endpoint::Forward, None),
            ("GET /portal", Endpoint::Page, Some(Endpoint::PagesOff)),
            ("POST /optimize/x", Endpoint::Page, Some(Endpoint::PagesOff)),
            ("POST /v1/secateur/scores", Endpoint::Score, None),
            ("GET /v1/secateur/scores", Endpoint::Score, None),
            ("POST /w/a/v1/secateur/scores", Endpoint::Score, None),
            ("POST /v1/secateur/recall", Endpoint::Recall, None),
            ("POST /w/a/v1/secateur/recall", Endpoint::Recall, None),
            ("POST /x/v1/secateur/recall", Endpoint::Forward, None),
            ("POST /v1/messages", Endpoint::Forward, None),
            ("GET /", Endpoint::Forward, None),
        ] {
            let request = request(line, &[HOST]);
            let without = without.as_ref().unwrap_or(&with_pages);
            assert_eq!(&Endpoint::of(&request, Ok(()), None), without, "{line}");
            let found = Endpoint::of(&request, Ok(()), Some(&Portal));
            assert_eq!(found, with_pages, "{line}, with pages");
        }
    }

    #[test]
    fn what_is_wrong_with_the_address_comes_before_what_it_names() {
        let no_host = request("GET /healthz", &[]);
        let refused = Endpoint::Refused(Refusal::BadHost);
        assert_eq!(Endpoint::of(&no_host, Err(Ambiguous), None), refused);
        let refused = Endpoint::Refused(Refusal::AmbiguousPath);
        let ambiguous = request("GET /portal", &[HOST]);
        let found = Endpoint::of(&ambiguous, Err(Ambiguous), Some(&Portal));
        assert_eq!(found, refused);
    }

    #[test]
    fn a_browser_is_shown_no_providers_answer_beside_the_pages() {
        let shown = request("GET /v1/models", &[HOST, ("sec-fetch-mode", "navigate")]);
        let found = Endpoint::of(&shown, Ok(()), Some(&Portal));
        assert_eq!(found, Endpoint::Navigation);
        assert_eq!(Endpoint::of(&shown, Ok(()), None), Endpoint::Forward);
        let page = request("GET /portal/", &[HOST, ("sec-fetch-mode", "navigate")]);
        let found = Endpoint::of(&page, Ok(()), Some(&Portal));
        assert_eq!(found, Endpoint::Page);
    }
}
