//! What people and the canary decided, shared by all replicas.

use serde::{Deserialize, Serialize};

use crate::row::Millis;

/// One comparison of a pruned answer with an unpruned one, or one score from elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Unique: a second score with it is the same score.
    pub id: String,
    /// When.
    pub at: Millis,
    /// The request that was scored.
    pub request: Option<String>,
    /// Its workload.
    pub workload: String,
    /// Its stack.
    pub stack: String,
    /// Who scored: `deterministic`, `command`, `http`, `client`.
    pub scorer: String,
    /// 0 to 1.
    pub score: f64,
}

/// What happened to a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StackEventKind {
    /// Switched off by itself.
    RolledBack,
    /// Switched on again by a person.
    Resumed,
    /// A sign of harm that does not switch off by itself.
    Warning,
}

/// An entry of the breach timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StackEvent {
    /// When.
    pub at: Millis,
    /// Whose.
    pub workload: String,
    /// Which stack.
    pub stack: String,
    /// What.
    pub kind: StackEventKind,
    /// Why, in words: `mean 0.91 of 34 scores is under the floor 0.95`.
    pub reason: String,
    /// Mean score at that time.
    pub mean: Option<f64>,
    /// Number of scores behind it.
    pub samples: Option<u64>,
    /// Who, for a resume.
    pub by: Option<String>,
}

/// A mechanic that a person switched in the portal. Stands over the configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switch {
    /// Which workload.
    pub workload: String,
    /// `m1`, `m3`, `m7` or `m8`.
    pub mechanic: String,
    /// On or off.
    pub is_on: bool,
    /// When.
    pub at: Millis,
    /// Who.
    pub by: String,
}

/// A stack that is switched off for a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retired {
    /// Whose.
    pub workload: String,
    /// Every stack that contains this one is off.
    pub stack: String,
    /// Since when.
    pub at: Millis,
    /// Why.
    pub reason: String,
}

/// Everything that overrides the configuration file, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Controls {
    /// Stacks that are off.
    pub retired: Vec<Retired>,
    /// Mechanics that a person switched.
    pub switches: Vec<Switch>,
}

impl Controls {
    /// Whether a stack must not be used: a retired stack is a subset of it.
    #[must_use]
    pub fn is_retired(&self, workload: &str, stack: &str) -> bool {
        let contains = |part: &str| stack.split('+').any(|mechanic| mechanic == part);
        self.retired
            .iter()
            .filter(|retired| retired.workload == workload)
            .any(|retired| retired.stack.split('+').all(contains))
    }

    /// What a person said of a mechanic, if anything.
    #[must_use]
    pub fn switch(&self, workload: &str, mechanic: &str) -> Option<bool> {
        let of = |switch: &&Switch| switch.workload == workload && switch.mechanic == mechanic;
        self.switches.iter().find(of).map(|switch| switch.is_on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retired_stack_takes_every_stack_that_contains_it_along() {
        let controls = Controls {
            retired: vec![Retired {
                workload: "a".into(),
                stack: "m7".into(),
                at: 0,
                reason: String::new(),
            }],
            switches: Vec::new(),
        };
        assert!(controls.is_retired("a", "m7"));
        assert!(controls.is_retired("a", "m1+m7"));
        assert!(!controls.is_retired("a", "m3"));
        assert!(!controls.is_retired("b", "m7"));
    }
}
