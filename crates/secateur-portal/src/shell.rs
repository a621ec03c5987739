//! What surrounds every page: head, navigation, a notice, the foot.

use secateur_ledger::moment::Moment;

/// Which part of the portal a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Start,
    Audit,
    Quality,
    Workloads,
    /// Login and errors.
    None,
}

/// A link of the navigation.
#[derive(Clone, Debug)]
pub(crate) struct NavLink {
    pub(crate) href: &'static str,
    pub(crate) name: &'static str,
    pub(crate) is_current: bool,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Shell {
    pub(crate) section: Section,
    /// Where the style sheet is.
    pub(crate) css: String,
    /// What forms carry.
    pub(crate) form_key: String,
    /// Whether there is a session to end.
    pub(crate) can_leave: bool,
    /// Whether the reader may see pages at all.
    pub(crate) may_see: bool,
    /// Who is signed in; may be empty.
    pub(crate) name: String,
    /// When the page was made.
    pub(crate) made: Moment,
    /// What was just done.
    pub(crate) notice: Option<&'static str>,
    /// What is wrong with the ledger.
    pub(crate) trouble: Option<String>,
    /// Seconds after which the page loads itself again.
    pub(crate) refresh: Option<u32>,
}

impl Shell {
    pub(crate) fn links(&self) -> Vec<NavLink> {
        if !self.may_see {
            return Vec::new();
        }
        let all = [
            (Section::Start, "/portal", "Today"),
            (Section::Audit, "/portal/audit", "Audit"),
            (Section::Quality, "/optimize/quality", "Quality"),
            (Section::Workloads, "/portal/workloads", "Workloads"),
        ];
        let link = |(section, href, name)| NavLink {
            href,
            name,
            is_current: section == self.section,
        };
        all.map(link).into()
    }
}

/// What was just done, by the name that the address carries.
pub(crate) fn notice(done: &str) -> Option<&'static str> {
    match done {
        "switched-on" => Some("Switched on. The next request of the workload takes it over."),
        "switched-off" => Some("Switched off. The next request of the workload passes without it."),
        "cleared" => Some("The configuration file decides again."),
        "resumed" => Some("Resumed. The stack is used again from the next request on."),
        "was-on" => Some("Nothing to resume: that stack is not switched off."),
        "left" => Some("You are signed out."),
        _ => None,
    }
}
