//! What surrounds every page: head, navigation, a notice, the foot.

use secateur_ledger::moment::Moment;

use crate::done::Done;

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

/// What the layout of every page needs.
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
    pub(crate) done: Option<Done>,
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

    /// What was just done, where it belongs to no place on the page.
    pub(crate) fn notice(&self) -> Option<&'static str> {
        let done = self.done.as_ref()?;
        let has_place = self.section == Section::Workloads && !done.workload.is_empty();
        (!has_place).then(|| done.deed.words())
    }

    /// What was just done to this workload.
    pub(crate) fn notice_at(&self, workload: &str) -> Option<&'static str> {
        let done = self.done.as_ref()?;
        (done.workload == workload).then(|| done.deed.words())
    }
}
