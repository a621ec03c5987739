//! What a form has just done, told on the page that follows: once, and only by who did it.
//!
//! It travels in a signed cookie that holds for a minute and is taken back when the page shows it. An
//! address alone brings about no notice.

use secateur_ledger::Millis;

use crate::access::Sessions;

/// Longer on its way than this, nobody waits for it.
const LASTS: Millis = 60_000;

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    SwitchedOn,
    SwitchedOff,
    Cleared,
    Resumed,
    WasOn,
    Left,
}

impl Deed {
    const ALL: [Self; 6] = [
        Self::SwitchedOn,
        Self::SwitchedOff,
        Self::Cleared,
        Self::Resumed,
        Self::WasOn,
        Self::Left,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::SwitchedOn => "on",
            Self::SwitchedOff => "off",
            Self::Cleared => "cleared",
            Self::Resumed => "resumed",
            Self::WasOn => "was-on",
            Self::Left => "left",
        }
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::SwitchedOn => "Switched on. The next request of the workload takes it over.",
            Self::SwitchedOff => {
                "Switched off. The next request of the workload passes without it."
            }
            Self::Cleared => "The configuration file decides again.",
            Self::Resumed => "Resumed. The stack is used again from the next request on.",
            Self::WasOn => "Nothing to resume: that stack is not switched off.",
            Self::Left => "You are signed out.",
        }
    }
}

/// What a form has just done, for the notice on the next page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) deed: Deed,
    /// Which workload it was done to; empty for none.
    pub(crate) workload: String,
}

impl Done {
    pub(crate) fn new(deed: Deed, workload: &str) -> Self {
        Self {
            deed,
            workload: workload.to_owned(),
        }
    }

    /// The name of its cookie, beside the session's.
    pub(crate) fn cookie_name(session: &str) -> String {
        format!("{session}-done")
    }

    /// Seconds that the cookie holds.
    pub(crate) const SECONDS: i64 = LASTS / 1000;

    pub(crate) fn seal(&self, sessions: &Sessions, now: Millis) -> String {
        let workload = crate::link::segment(&self.workload);
        sessions.sign(&format!(
            "done/{}/{}/{workload}",
            self.deed.name(),
            now + LASTS
        ))
    }

    pub(crate) fn read(sessions: &Sessions, cookie: &str, now: Millis) -> Option<Self> {
        let payload = sessions.verify(cookie)?;
        let mut fields = payload.strip_prefix("done/")?.splitn(3, '/');
        let name = fields.next()?;
        let until: Millis = fields.next()?.parse().ok()?;
        let workload = crate::link::read_segment(fields.next()?)?;
        let deed = Deed::ALL.into_iter().find(|deed| deed.name() == name)?;
        (until > now).then_some(Self { deed, workload })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_read_back_for_a_minute_and_cannot_be_made_up() {
        let sessions = Sessions::new(None, 1000).unwrap();
        let done = Done::new(Deed::SwitchedOff, "a/b; ü");
        let cookie = done.seal(&sessions, 5);
        assert!(!cookie.contains([';', ' ', ',']) && cookie.is_ascii());
        assert_eq!(Done::read(&sessions, &cookie, 10), Some(done));
        assert_eq!(Done::read(&sessions, &cookie, 5 + LASTS), None);
        let other = Sessions::new(None, 1000).unwrap();
        assert_eq!(Done::read(&other, &cookie, 10), None);
        let session = sessions.seal(&sessions.begin(true, "", 0).unwrap());
        assert_eq!(Done::read(&sessions, &session, 10), None);
        assert_eq!(sessions.read(&cookie, 10), None);
        for deed in Deed::ALL {
            let cookie = Done::new(deed, "").seal(&sessions, 0);
            assert_eq!(Done::read(&sessions, &cookie, 1).unwrap().deed, deed);
        }
    }
}
