//! What stands over a workload's configuration for one request: what people switched, stacks that are
//! retired, sessions that are held out.

use std::borrow::Cow;
use std::sync::Arc;

use secateur_core::mechanic::Mechanic;
use secateur_core::policy::Policy;
use secateur_ledger::Controls;

use crate::config::Workload;
use crate::config::is_in_share;

/// The preset that a mechanic runs with when a person switches it on and the file says nothing of it.
const PRESET_OF_A_SWITCH: &str = "steady";

/// What a chain is told besides its workload.
#[derive(Clone, Debug, Default)]
pub(crate) struct Orders {
    /// What is switched at the moment.
    pub(crate) controls: Arc<Controls>,
    /// The value of `x-secateur-session`.
    pub(crate) session: Option<String>,
}

/// Which mechanics may run on one request, and why the others may not.
#[derive(Debug)]
pub(crate) struct Allowance<'w> {
    policy: Option<Cow<'w, Policy>>,
    off: [(Mechanic, Option<&'static str>); 4],
    /// Whether the session is held out of something that would have run.
    pub(crate) held_out: bool,
}

fn is_configured(workload: &Workload, mechanic: Mechanic) -> bool {
    let policy = workload.policy.as_deref();
    match mechanic {
        Mechanic::M1 => workload.routes.is_some(),
        Mechanic::M3 => policy.is_some_and(|policy| {
            policy.m3.compress_system_enabled || policy.m3.compress_user_turns_enabled
        }),
        Mechanic::M7 => policy.is_some_and(|policy| policy.m7.enabled),
        Mechanic::M8 => workload.schema.is_some(),
    }
}

/// Whether a person switched something on that the file leaves off.
pub(crate) fn is_switched_on(workload: &Workload, controls: &Controls) -> bool {
    [Mechanic::M3, Mechanic::M7]
        .into_iter()
        .any(|mechanic| controls.switch(&workload.name, mechanic.name()) == Some(true))
}

impl<'w> Allowance<'w> {
    pub(crate) fn of(workload: &'w Workload, controls: &Controls, session: Option<&str>) -> Self {
        let is_held = session.is_some_and(|key| is_in_share(key, workload.holdout_pct));
        let mut held_out = false;
        let mut policy = workload.policy.as_deref().map(Cow::Borrowed);
        let off = Mechanic::ALL.map(|mechanic| {
            let configured = is_configured(workload, mechanic);
            let switch = controls.switch(&workload.name, mechanic.name());
            let reason = if !switch.unwrap_or(configured) {
                configured.then_some("switched-off")
            } else if controls.is_retired(&workload.name, mechanic.name()) {
                Some("retired")
            } else if is_held {
                held_out = true;
                Some("held-out")
            } else {
                None
            };
            if reason.is_some() && configured {
                switch_off(&mut policy, mechanic);
            } else if reason.is_none() && !configured && switch == Some(true) {
                switch_on(&mut policy, mechanic);
            }
            (mechanic, reason)
        });
        Self {
            policy,
            off,
            held_out,
        }
    }

    /// The policy to prune with; `None`: neither M7 nor M3 is on.
    pub(crate) fn policy(&self) -> Option<&Policy> {
        self.policy.as_deref()
    }

    /// Why a mechanic may not run although somebody wanted it.
    pub(crate) fn off(&self, mechanic: Mechanic) -> Option<&'static str> {
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
    use crate::config::Config;
    use secateur_ledger::{Retired, Switch};

    fn workload(text: &str) -> Arc<Workload> {
        let config = Config::read("f", text, std::path::Path::new("."), &|_| None).unwrap();
        Arc::clone(&config.workloads["w"])
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

    const BOTH: &str = "[workload.w]\npreset = \"tessera\"\n[workload.w.policy.m3]\ncompress_user_turns_enabled = true\n";

    #[test]
    fn without_orders_the_policy_is_the_files_own() {
        let workload = workload(BOTH);
        let allowance = Allowance::of(&workload, &Controls::default(), Some("s"));
        assert!(matches!(allowance.policy, Some(Cow::Borrowed(_))));
        assert!(
            Mechanic::ALL
                .into_iter()
                .all(|mechanic| allowance.off(mechanic).is_none())
        );
    }

    #[test]
    fn what_is_off_is_off_alone_and_says_why() {
        let workload = workload(BOTH);
        for (controls, reason) in [
            (switch("m7", false), "switched-off"),
            (retired("m7"), "retired"),
        ] {
            let allowance = Allowance::of(&workload, &controls, None);
            assert_eq!(allowance.off(Mechanic::M7), Some(reason));
            assert_eq!(allowance.off(Mechanic::M3), None);
            let policy = allowance.policy().unwrap();
            assert!(!policy.m7.enabled && policy.m3.compress_user_turns_enabled);
        }
    }

    #[test]
    fn a_person_can_switch_on_what_the_file_leaves_off() {
        let bare = workload("[workload.w]\n");
        let controls = switch("m7", true);
        assert!(is_switched_on(&bare, &controls) && !is_switched_on(&bare, &switch("m7", false)));
        let allowance = Allowance::of(&bare, &controls, None);
        let policy = allowance.policy().unwrap();
        assert!(policy.m7.enabled && !policy.m7.strategies.is_empty());
        let controls = switch("m3", true);
        let allowance = Allowance::of(&bare, &controls, None);
        assert!(allowance.policy().unwrap().m3.compress_system_enabled);
        // A switch is not a resume.
        let mut controls = switch("m7", true);
        controls.retired = retired("m7").retired;
        assert_eq!(
            Allowance::of(&bare, &controls, None).off(Mechanic::M7),
            Some("retired")
        );
    }

    #[test]
    fn a_share_of_the_sessions_is_held_out_and_stays_so() {
        let workload =
            workload(&BOTH.replace("[workload.w]\n", "[workload.w]\nholdout_pct = 20\n"));
        let none = Controls::default();
        let held = |n: usize| Allowance::of(&workload, &none, Some(&format!("s{n}"))).held_out;
        let count = (0..2000).filter(|&n| held(n)).count();
        assert!((330..470).contains(&count), "{count}");
        let n = (0..2000).find(|&n| held(n)).unwrap();
        let key = format!("s{n}");
        let allowance = Allowance::of(&workload, &none, Some(&key));
        assert_eq!(allowance.off(Mechanic::M7), Some("held-out"));
        assert!(!allowance.policy().unwrap().m7.enabled);
        assert!(!Allowance::of(&workload, &none, None).held_out);
    }
}
