//! Which names of models are recorded.
//!
//! Clients choose these names, and the ledger keeps sums for each of them for good. A name is therefore recorded only if the
//! table of models has it or an upstream has accepted it, and only so many different ones a day.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use secateur_core::models;
use secateur_ledger::moment::{DAY_MS, millis};

use crate::audit::{AuditEvent, Ended};

/// Different names a day in this process, those of the table not counted.
const MAX_NAMES_A_DAY: usize = 1_000;
/// What is recorded in place of further ones.
const OTHER: &str = "other";

/// The names that upstreams accepted, today and on the last day with requests.
#[derive(Debug, Default)]
pub(crate) struct ModelNames(RwLock<Accepted>);

#[derive(Debug, Default)]
struct Accepted {
    /// Since 1970.
    day: i64,
    today: HashSet<String>,
    before: HashSet<String>,
}

impl Accepted {
    /// Starts a new day. Requests that began the day before are counted on this one.
    fn turn_to(&mut self, day: i64) {
        if day > self.day {
            self.day = day;
            self.before = std::mem::take(&mut self.today);
        }
    }

    /// Counts a name that was accepted; whether there was room for it.
    fn add(&mut self, name: &str) -> bool {
        if self.today.len() >= MAX_NAMES_A_DAY && !self.today.contains(name) {
            return false;
        }
        self.today.insert(name.to_owned());
        true
    }
}

impl ModelNames {
    /// Leaves in an event only a name that may be recorded.
    pub(crate) fn settle(&self, event: &mut AuditEvent) {
        let Some(name) = event.model.as_deref() else {
            return;
        };
        if models::find(name).is_some_and(|entry| entry.name == name) {
            return;
        }
        let day = millis(event.at).div_euclid(DAY_MS);
        match self.judge(name, is_accepted(event), day) {
            Verdict::Recorded => {}
            Verdict::Other => rename(event, Some(OTHER)),
            Verdict::Unknown => rename(event, None),
        }
    }

    fn judge(&self, name: &str, is_accepted: bool, day: i64) -> Verdict {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if known.day >= day && known.today.contains(name) {
            return Verdict::Recorded;
        }
        drop(known);
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.turn_to(day);
        if !is_accepted && !known.before.contains(name) && !known.today.contains(name) {
            return Verdict::Unknown;
        }
        match known.add(name) {
            true => Verdict::Recorded,
            false => Verdict::Other,
        }
    }
}

enum Verdict {
    Recorded,
    /// Accepted, but one too many.
    Other,
    /// No upstream has accepted it.
    Unknown,
}

/// Whether an upstream answered as it does for a model that it has.
fn is_accepted(event: &AuditEvent) -> bool {
    let is_refused = matches!(event.ended, Ended::Refused(_));
    !is_refused && matches!(event.upstream_status, Some(200..300))
}

/// The report is recorded too.
fn rename(event: &mut AuditEvent, name: Option<&str>) {
    event.model = name.map(str::to_owned);
    if let Some(report) = &mut event.report {
        Arc::make_mut(report).model = name.map(str::to_owned);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::config::Provider;

    fn settled(names: &ModelNames, name: &str, status: u16, day: u64) -> Option<String> {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(day * 86_400);
        let mut event = AuditEvent::new("r".into(), "w".into(), Provider::Openai, None);
        event.at = at;
        event.model = Some(name.to_owned());
        event.upstream_status = Some(status);
        event.ended = Ended::Complete;
        names.settle(&mut event);
        event.model
    }

    #[test]
    fn a_name_is_recorded_once_an_upstream_accepted_it() {
        let names = ModelNames::default();
        assert_eq!(settled(&names, "mine", 404, 1), None);
        assert_eq!(settled(&names, "gpt-5", 404, 1).as_deref(), Some("gpt-5"));
        assert_eq!(settled(&names, "gpt-5-x7f3", 404, 1), None);
        assert_eq!(settled(&names, "mine", 200, 1).as_deref(), Some("mine"));
        assert_eq!(settled(&names, "mine", 429, 1).as_deref(), Some("mine"));
        // The next day it is still known, and a day without it later it is not.
        assert_eq!(settled(&names, "mine", 429, 2).as_deref(), Some("mine"));
        settled(&names, "another", 200, 3);
        settled(&names, "another", 200, 4);
        assert_eq!(settled(&names, "mine", 429, 4), None);
    }

    #[test]
    fn a_day_has_so_many_names_and_the_rest_share_one() {
        let names = ModelNames::default();
        for number in 0..MAX_NAMES_A_DAY {
            let name = format!("m{number}");
            assert_eq!(settled(&names, &name, 200, 1), Some(name));
        }
        assert_eq!(settled(&names, "more", 200, 1).as_deref(), Some(OTHER));
        assert_eq!(settled(&names, "m7", 200, 1).as_deref(), Some("m7"));
        assert_eq!(settled(&names, "gpt-5", 200, 1).as_deref(), Some("gpt-5"));
        assert_eq!(settled(&names, "more", 200, 2).as_deref(), Some("more"));
    }
}
