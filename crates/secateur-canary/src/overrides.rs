//! What overrides a workload's configuration for one request: what people switched, stacks that were rolled back,
//! sessions that are held out.

use std::borrow::Cow;
use std::sync::Arc;

use secateur_core::Dialect;
use secateur_core::mechanic::Mechanic;
use secateur_core::policy::Policy;
use secateur_ledger::Controls;

use crate::options::WatchedWorkload;
use crate::session::session_key;
use crate::share::is_in_share;

/// The preset that a mechanic runs with when a person switches it on and the file says nothing of it.
const PRESET_OF_A_SWITCH: &str = "steady";

/// What the configuration of a workload switches on.
#[derive(Clone, Copy, Debug)]
pub struct Configured<'c> {
    /// M7 and M3.
    pub policy: Option<&'c Policy>,
    /// Whether M1 has routes.
    pub has_routes: bool,
    /// Whether M8 has a schema.
    pub has_schema: bool,
}

impl Configured<'_> {
    fn is_any(&self) -> bool {
        self.policy.is_some() || self.has_routes || self.has_schema
    }

    fn has(&self, mechanic: Mechanic) -> bool {
        match mechanic {
            Mechanic::M1 => self.has_routes,
            Mechanic::M3 => self.policy.is_some_and(|policy| {
                policy.m3.compress_system_enabled || policy.m3.compress_user_turns_enabled
            }),
            Mechanic::M7 => self.policy.is_some_and(|policy| policy.m7.enabled),
            Mechanic::M8 => self.has_schema,
        }
    }

    /// Whether a mechanic may run on the requests of a workload, so that their bodies must be read.
    pub(crate) fn wants_bodies(&self, workload: &str, controls: &Controls) -> bool {
        self.is_any() || is_switched_on(workload, controls)
    }
}

/// Whether a person switched something on that the configuration leaves off.
fn is_switched_on(workload: &str, controls: &Controls) -> bool {
    [Mechanic::M3, Mechanic::M7]
        .into_iter()
        .any(|mechanic| controls.switch(workload, mechanic.name()) == Some(true))
}

/// What overrides a workload's configuration for one request.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// What is switched at the moment.
    pub controls: Arc<Controls>,
    /// The value of [`SESSION_HEADER`](crate::SESSION_HEADER).
    pub session: Option<String>,
}

/// Which mechanics may run on one request, and why the others may not.
#[derive(Debug)]
pub struct EnabledMechanics<'c> {
    policy: Option<Cow<'c, Policy>>,
    off: [(Mechanic, Option<&'static str>); 4],
    /// The key of the request's conversation.
    pub session: Option<String>,
    /// Whether the session is held out of something that would have run.
    pub is_held_out: bool,
}

impl<'c> EnabledMechanics<'c> {
    /// Of a request with this body.
    #[must_use]
    pub fn of(
        workload: &WatchedWorkload,
        configured: Configured<'c>,
        overrides: &Overrides,
        body: &[u8],
        dialect: Dialect,
    ) -> Self {
        let asked = overrides.session.as_deref();
        let session = session_key(&workload.name, asked, body, dialect);
        Self::of_session(workload, configured, &overrides.controls, session)
    }

    fn of_session(
        workload: &WatchedWorkload,
        configured: Configured<'c>,
        controls: &Controls,
        session: Option<String>,
    ) -> Self {
        let pct = workload.holdout_pct;
        let in_holdout = session.as_deref().is_some_and(|key| is_in_share(key, pct));
        let mut is_held_out = false;
        let mut policy = configured.policy.map(Cow::Borrowed);
        let off = Mechanic::ALL.map(|mechanic| {
            let is_configured = configured.has(mechanic);
            let switch = controls.switch(&workload.name, mechanic.name());
            let reason = if !switch.unwrap_or(is_configured) {
                is_configured.then_some("switched-off")
            } else if controls.is_retired(&workload.name, mechanic.name()) {
                Some("retired")
            } else if in_holdout {
                is_held_out = true;
                Some("held-out")
            } else {
                None
            };
            if reason.is_some() && is_configured {
                switch_off(&mut policy, mechanic);
            } else if reason.is_none() && !is_configured && switch == Some(true) {
                switch_on(&mut policy, mechanic);
            }
            (mechanic, reason)
        });
        Self {
            policy,
            off,
            session,
            is_held_out,
        }
    }

    /// The policy to prune with; `None`: neither M7 nor M3 is on.
    #[must_use]
    pub fn policy(&self) -> Option<&Policy> {
        self.policy.as_deref()
    }

    /// Why a mechanic may not run although the configuration or a person switched it on.
    #[must_use]
    pub fn off(&self, mechanic: Mechanic) -> Option<&'static str> {
        let found = self.off.iter().find(|(of, _)| *of == mechanic);
        found.and_then(|&(_, reason)| reason)
    }
}

fn switch_off(policy: &mut Option<Cow<'_, Policy>>, mechanic: Mechanic) {
    let Some(policy) = policy else {
        return;
    };
    match mechanic {
        Mechanic::M7 => policy.to_mut().m7.enabled = false,
        Mechanic::M3 => {
            let m3 = &mut policy.to_mut().m3;
            (m3.compress_system_enabled, m3.compress_user_turns_enabled) = (false, false);
        }
        // These are not part of a policy.
        Mechanic::M1 | Mechanic::M8 => {}
    }
}

fn switch_on(policy: &mut Option<Cow<'_, Policy>>, mechanic: Mechanic) {
    match mechanic {
        Mechanic::M7 => {
            let has_strategies = policy
                .as_ref()
                .is_some_and(|policy| !policy.m7.strategies.is_empty());
            if !has_strategies && let Ok(mut preset) = Policy::preset(PRESET_OF_A_SWITCH) {
                if let Some(policy) = policy {
                    preset.m3 = policy.m3.clone();
                }
                *policy = Some(Cow::Owned(preset));
            }
            if let Some(policy) = policy {
                policy.to_mut().m7.enabled = true;
            }
        }
        Mechanic::M3 => {
            let m3 = &mut policy.get_or_insert_default().to_mut().m3;
            (m3.compress_system_enabled, m3.compress_user_turns_enabled) = (true, true);
        }
        // Without a table in the file there is nothing that they could do.
        Mechanic::M1 | Mechanic::M8 => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secateur_ledger::{Retired, Switch};

    fn both() -> Policy {
        let m3 = "[m3]\ncompress_user_turns_enabled = true\n";
        Policy::resolve(Some("tessera"), Some(m3), &[]).unwrap()
    }

    fn configured(policy: Option<&Policy>) -> Configured<'_> {
        Configured {
            policy,
            has_routes: false,
            has_schema: false,
        }
    }

    fn enabled<'p>(
        policy: Option<&'p Policy>,
        controls: &Controls,
        holdout_pct: f64,
        session: Option<&str>,
    ) -> EnabledMechanics<'p> {
        let workload = WatchedWorkload {
            name: "w".into(),
            holdout_pct,
            options: Arc::default(),
        };
        let session = session.map(str::to_owned);
        EnabledMechanics::of_session(&workload, configured(policy), controls, session)
    }

    fn switch(mechanic: &str, is_on: bool) -> Controls {
        Controls {
            switches: vec![Switch {
                workload: "w".into(),
                mechanic: mechanic.into(),
                is_on,
                at: 0,
                by: "ada".into(),
            }],
            ..Controls::default()
        }
    }

    fn retired(stack: &str) -> Controls {
        Controls {
            retired: vec![Retired {
                workload: "w".into(),
                stack: stack.into(),
                at: 0,
                reason: String::new(),
            }],
            ..Controls::default()
        }
    }

    #[test]
    fn without_overrides_the_policy_is_the_configured_one() {
        let policy = both();
        let enabled = enabled(Some(&policy), &Controls::default(), 0.0, Some("s"));
        assert!(matches!(enabled.policy, Some(Cow::Borrowed(_))));
        assert!(
            Mechanic::ALL
                .into_iter()
                .all(|mechanic| enabled.off(mechanic).is_none())
        );
    }

    #[test]
    fn what_is_off_is_off_alone_and_says_why() {
        let policy = both();
        for (controls, reason) in [
            (switch("m7", false), "switched-off"),
            (retired("m7"), "retired"),
        ] {
            let enabled = enabled(Some(&policy), &controls, 0.0, None);
            assert_eq!(enabled.off(Mechanic::M7), Some(reason));
            assert_eq!(enabled.off(Mechanic::M3), None);
            let policy = enabled.policy().unwrap();
            assert!(!policy.m7.enabled && policy.m3.compress_user_turns_enabled);
        }
    }

    #[test]
    fn a_person_can_switch_on_what_the_file_leaves_off() {
        let controls = switch("m7", true);
        let bare = configured(None);
        assert!(bare.wants_bodies("w", &controls));
        assert!(!bare.wants_bodies("w", &switch("m7", false)));
        let m7 = enabled(None, &controls, 0.0, None);
        let policy = m7.policy().unwrap();
        assert!(policy.m7.enabled && !policy.m7.strategies.is_empty());
        let m3 = enabled(None, &switch("m3", true), 0.0, None);
        assert!(m3.policy().unwrap().m3.compress_system_enabled);
        // A switch is not a resume.
        let mut controls = switch("m7", true);
        controls.retired = retired("m7").retired;
        let off = enabled(None, &controls, 0.0, None).off(Mechanic::M7);
        assert_eq!(off, Some("retired"));
    }

    #[test]
    fn a_share_of_the_sessions_is_held_out_and_stays_so() {
        let (policy, none) = (both(), Controls::default());
        let of = |key: Option<&str>| enabled(Some(&policy), &none, 20.0, key);
        let held = |n: &usize| of(Some(&format!("s{n}"))).is_held_out;
        let count = (0..2000).filter(held).count();
        assert!((330..470).contains(&count), "{count}");
        let n = (0..2000).find(held).unwrap();
        let enabled = of(Some(&format!("s{n}")));
        assert_eq!(enabled.off(Mechanic::M7), Some("held-out"));
        assert!(!enabled.policy().unwrap().m7.enabled);
        assert!(!of(None).is_held_out);
    }
}
