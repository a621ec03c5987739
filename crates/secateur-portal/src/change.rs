//! The forms: switch, resume, sign in, sign out. Origin and form key were checked before.

use bytes::Bytes;
use http::{Response, StatusCode, header};
use secateur_ledger::Switch;

use crate::done::{Deed, Done};
use crate::pages::message::LoginPage;
use crate::portal::{Portal, allowed};
use crate::refused::{Made, Refused};
use crate::shell::Section;
use crate::visit::{Visit, cookie_lines};
use crate::{chip, link, reply};

/// The notice on a page; going there shows it and moves the keyboard's place to it.
const NOTICE: &str = "done";

impl Portal {
    pub(crate) async fn change(&self, visit: &mut Visit, path: &str) -> Made {
        match path {
            "/portal/switch" => self.switch(visit).await,
            "/portal/resume" => self.resume(visit).await,
            "/portal/logout" => {
                self.sessions.end(&visit.session, visit.now);
                // A ledger that is away does not keep anybody signed in here.
                let (id, ends_at) = (&visit.session.id, visit.session.ends_at);
                let _ = self.ledger.end_session(id, ends_at).await;
                let response = self.done(visit, "/portal/login", &Done::new(Deed::Left, ""));
                let lines = cookie_lines(&visit.cookie_name, "", 0, visit.is_tls);
                Ok(lines.iter().fold(response, |response, line| {
                    reply::with(response, header::SET_COOKIE, line)
                }))
            }
            _ => Err(Refused::Method(allowed(path))),
        }
    }

    /// Leads to a page that tells what was done.
    fn done(&self, visit: &Visit, place: &str, done: &Done) -> Response<Bytes> {
        let response = reply::see_other(&format!("{place}#{NOTICE}"));
        let value = done.seal(&self.sessions, visit.now);
        Self::keep_done(visit, response, &value, Done::SECONDS)
    }

    /// Who does it, as the ledger keeps it.
    fn author(&self, visit: &Visit) -> String {
        match (visit.session.name.as_str(), &self.token) {
            ("", Some(_)) => "portal".to_owned(),
            ("", None) => "portal, this machine".to_owned(),
            (name, _) => name.to_owned(),
        }
    }

    async fn switch(&self, visit: &Visit) -> Made {
        let (workload, to) = (visit.field("workload"), visit.field("to"));
        let Some(mechanic) = chip::mechanic(&visit.field("mechanic")) else {
            return Err(Refused::BadForm("There is no such mechanic."));
        };
        let catalog = self.catalog.workloads();
        let Some(info) = catalog.iter().find(|info| info.name == workload) else {
            return Err(Refused::BadForm(
                "There is no such workload in the configuration.",
            ));
        };
        let is_ready = info
            .mechanics
            .iter()
            .any(|known| known.mechanic == mechanic && known.is_ready);
        let deed = match to.as_str() {
            "on" if !is_ready => {
                return Err(Refused::BadForm(
                    "The configuration does not say what this mechanic should do.",
                ));
            }
            "on" | "off" => {
                let switch = Switch {
                    workload: workload.clone(),
                    mechanic: mechanic.name().to_owned(),
                    is_on: to == "on",
                    at: visit.now,
                    by: self.author(visit),
                };
                self.ledger.set_switch(&switch).await?;
                if switch.is_on {
                    Deed::SwitchedOn
                } else {
                    Deed::SwitchedOff
                }
            }
            "file" => {
                self.ledger.clear_switch(&workload, mechanic.name()).await?;
                Deed::Cleared
            }
            _ => {
                return Err(Refused::BadForm(
                    "A mechanic is switched on, off, or left to the file.",
                ));
            }
        };
        let done = Done::new(deed, &workload);
        Ok(self.done(visit, "/portal/workloads", &done))
    }

    async fn resume(&self, visit: &Visit) -> Made {
        let (workload, stack) = (visit.field("workload"), visit.field("stack"));
        if !self.known_workloads().await?.contains(&workload) {
            return Err(Refused::BadForm(
                "There is no such workload, neither in the configuration nor in the ledger.",
            ));
        }
        let was_off = self
            .ledger
            .resume(&workload, &stack, &self.author(visit), visit.now)
            .await?;
        let deed = if was_off { Deed::Resumed } else { Deed::WasOn };
        let done = Done::new(deed, &workload);
        Ok(self.done(visit, &link::quality(&workload), &done))
    }

    pub(crate) fn login_page(&self, visit: &Visit, problem: Option<String>) -> Response<Bytes> {
        if self.may_see(visit) {
            return reply::see_other("/portal");
        }
        let next = visit.asked("next").unwrap_or_else(|| visit.field("next"));
        let status = if problem.is_some() {
            StatusCode::UNAUTHORIZED
        } else {
            StatusCode::OK
        };
        let page = LoginPage {
            shell: self.shell(visit, Section::None),
            next: if link::is_own_page(&next) {
                next
            } else {
                String::new()
            },
            name: visit.field("name"),
            problem,
        };
        reply::page(status, &page)
    }

    pub(crate) fn log_in(&self, visit: &mut Visit) -> Response<Bytes> {
        let Some(token) = &self.token else {
            return reply::see_other("/portal");
        };
        if let Some(seconds) = self.attempts.wait(visit.peer, visit.now) {
            let problem = format!("Too many wrong tokens. Try again in {seconds} seconds.");
            let mut response = self.login_page(visit, Some(problem));
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            return reply::with(response, header::RETRY_AFTER, &seconds.to_string());
        }
        if !token.is(&visit.field("token")) {
            self.attempts.failed(visit.peer, visit.now);
            return self.login_page(visit, Some("That is not the token.".to_owned()));
        }
        // A new id: what a guest's form key was made from is worth nothing now.
        let Ok(session) = self.sessions.begin(true, &visit.field("name"), visit.now) else {
            return self.login_page(
                visit,
                Some("No session could be made. Try again.".to_owned()),
            );
        };
        self.sessions.end(&visit.session, visit.now);
        visit.session = session;
        visit.is_new = true;
        let next = visit.field("next");
        reply::see_other(if link::is_own_page(&next) {
            &next
        } else {
            "/portal"
        })
    }
}
