//! What a visitor is told when there is no page.

use bytes::Bytes;
use http::{Response, StatusCode, header};

use crate::pages::message::MessagePage;
use crate::portal::Portal;
use crate::refused::Refused;
use crate::reply;
use crate::shell::Section;
use crate::visit::Visit;

impl Portal {
    pub(crate) fn message(
        &self,
        visit: &Visit,
        status: StatusCode,
        title: &str,
        text: &str,
        hint: &str,
        link: Option<(&'static str, &'static str)>,
    ) -> Response<Bytes> {
        let page = MessagePage {
            shell: self.shell(visit, Section::None),
            title: title.to_owned(),
            text: text.to_owned(),
            hint: hint.to_owned(),
            link,
        };
        reply::page(status, &page)
    }

    pub(crate) fn refuse(&self, visit: &Visit, refused: Refused) -> Response<Bytes> {
        let home = Some(("/portal", "To the start page"));
        match refused {
            Refused::NotFound(text) => self.message(visit, StatusCode::NOT_FOUND, "Not found", text, "", home),
            Refused::Method(allowed) => {
                let text = "This address does not take such a request.";
                let page = self.message(visit, StatusCode::METHOD_NOT_ALLOWED, "Not done this way", text, "", home);
                reply::with(page, header::ALLOW, allowed)
            }
            Refused::BadForm(text) => self.message(visit, StatusCode::BAD_REQUEST, "Nothing was changed", text, "Go back, load the page again and retry.", home),
            Refused::ForeignForm => self.message(
                visit,
                StatusCode::FORBIDDEN,
                "Nothing was changed",
                "The form did not come from a page of this portal, or the page had been open for too long.",
                "Go back, load the page again and retry.",
                home,
            ),
            Refused::Ledger(error) => self.message(
                visit,
                StatusCode::SERVICE_UNAVAILABLE,
                "The ledger does not answer",
                &format!("The pages are made from the ledger, and it could not be asked: {error}."),
                "Requests go on through the proxy. Try again in a moment.",
                home,
            ),
        }
    }
}
