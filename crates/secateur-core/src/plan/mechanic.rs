//! The mechanics, their order and the cap: at most one of them changes a request's content.
//!
//! **Invariant:** candidates are known before anything is changed or routed. The mechanic that claims the
//! request keeps it, even if it then finds nothing to do: the outcome of one mechanic never decides
//! which other one runs.

use serde::{Serialize, Serializer};

use crate::plan::edit::SkipReason;

/// Something that can be done to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mechanic {
    /// Auto-route: another model, the same content. The proxy gives it its body.
    M1,
    /// Compress: loose white space.
    M3,
    /// Context pruning: a list of strategies.
    M7,
    /// Structured output: a response format. The proxy gives it its body.
    M8,
}

/// The mechanics that change content. The first candidate in this order claims the request.
pub const PRIORITY: [Mechanic; 3] = [Mechanic::M7, Mechanic::M3, Mechanic::M8];

/// How many of them may change one request.
pub const MAX_MUTATIONS: usize = 1;

/// The mechanics that any candidate of [`PRIORITY`] forces off: a cheaper model on top of changed
/// content would make a loss of quality impossible to attribute.
pub const OFF_BESIDE_MUTATION: [Mechanic; 1] = [Mechanic::M1];

impl Mechanic {
    /// All of them, sorted as they are shown in a stack.
    pub const ALL: [Self; 4] = [Self::M1, Self::M3, Self::M7, Self::M8];

    /// Its name in stacks, policies and audit rows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::M1 => "m1",
            Self::M3 => "m3",
            Self::M7 => "m7",
            Self::M8 => "m8",
        }
    }

    /// Whether it changes the content of a request.
    #[must_use]
    pub fn mutates(self) -> bool {
        PRIORITY.contains(&self)
    }
}

impl std::fmt::Display for Mechanic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Mechanic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Some of the mechanics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MechanicSet(u8);

impl MechanicSet {
    /// None of them.
    pub const EMPTY: Self = Self(0);

    /// Whether it holds this one.
    #[must_use]
    pub fn has(self, mechanic: Mechanic) -> bool {
        self.0 & Self::bit(mechanic) != 0
    }

    /// With this one, if `wanted`.
    #[must_use]
    pub fn with(self, mechanic: Mechanic, wanted: bool) -> Self {
        Self(self.0 | if wanted { Self::bit(mechanic) } else { 0 })
    }

    /// Those in both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    fn bit(mechanic: Mechanic) -> u8 {
        1 << mechanic as u8
    }
}

impl FromIterator<Mechanic> for MechanicSet {
    fn from_iter<I: IntoIterator<Item = Mechanic>>(mechanics: I) -> Self {
        mechanics
            .into_iter()
            .fold(Self::EMPTY, |set, mechanic| set.with(mechanic, true))
    }
}

/// Why a mechanic did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MechanicSkip {
    /// Which.
    pub mechanic: Mechanic,
    /// Why not.
    pub reason: SkipReason,
}

/// Who may do what to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The mechanic that may change the content.
    pub winner: Option<Mechanic>,
    /// Candidates that gave way to it (`lost-to-priority`), in the order of [`PRIORITY`].
    pub short_circuited: Vec<Mechanic>,
    /// Auto-route was a candidate, and another candidate changes content.
    pub m1_forced_off: bool,
    #[serde(skip)]
    opted_in: MechanicSet,
    #[serde(skip)]
    candidates: MechanicSet,
}

/// Settles who claims a request.
#[must_use]
pub fn claim(opted_in: MechanicSet, eligible: MechanicSet) -> Claim {
    let candidates = opted_in.and(eligible);
    let mut mutating = PRIORITY
        .into_iter()
        .filter(|&mechanic| candidates.has(mechanic));
    let winner = mutating.by_ref().take(MAX_MUTATIONS).last();
    let forces_off = winner.is_some();
    Claim {
        winner,
        short_circuited: mutating.collect(),
        m1_forced_off: forces_off && candidates.has(Mechanic::M1),
        opted_in,
        candidates,
    }
}

impl Claim {
    /// Why a mechanic stays out; `None` if it may run.
    #[must_use]
    pub fn why_not(&self, mechanic: Mechanic) -> Option<SkipReason> {
        if !self.opted_in.has(mechanic) {
            Some(SkipReason::NotOptedIn)
        } else if !self.candidates.has(mechanic) {
            Some(SkipReason::NotEligible)
        } else if self.short_circuited.contains(&mechanic)
            || (self.m1_forced_off && OFF_BESIDE_MUTATION.contains(&mechanic))
        {
            Some(SkipReason::LostToPriority)
        } else {
            None
        }
    }

    /// Every mechanic that stays out, with its reason, sorted by mechanic.
    #[must_use]
    pub fn skips(&self) -> Vec<MechanicSkip> {
        let skip = |mechanic| {
            let reason = self.why_not(mechanic)?;
            Some(MechanicSkip { mechanic, reason })
        };
        Mechanic::ALL.into_iter().filter_map(skip).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subsets() -> impl Iterator<Item = MechanicSet> {
        (0..16u8).map(|bits| {
            (0..)
                .zip(Mechanic::ALL)
                .filter(|(at, _)| bits & (1 << at) != 0)
                .map(|(_, mechanic)| mechanic)
                .collect()
        })
    }

    /// The rules once more, written as cases instead of a search.
    fn expected(
        opted_in: MechanicSet,
        eligible: MechanicSet,
    ) -> (Option<Mechanic>, Vec<Mechanic>, bool) {
        let is = |mechanic| opted_in.has(mechanic) && eligible.has(mechanic);
        let (winner, lost) = match (is(Mechanic::M7), is(Mechanic::M3), is(Mechanic::M8)) {
            (true, true, true) => (Some(Mechanic::M7), vec![Mechanic::M3, Mechanic::M8]),
            (true, true, false) => (Some(Mechanic::M7), vec![Mechanic::M3]),
            (true, false, true) => (Some(Mechanic::M7), vec![Mechanic::M8]),
            (true, false, false) => (Some(Mechanic::M7), vec![]),
            (false, true, true) => (Some(Mechanic::M3), vec![Mechanic::M8]),
            (false, true, false) => (Some(Mechanic::M3), vec![]),
            (false, false, true) => (Some(Mechanic::M8), vec![]),
            (false, false, false) => (None, vec![]),
        };
        (winner, lost, is(Mechanic::M1) && winner.is_some())
    }

    #[test]
    fn every_subset_of_opted_in_and_eligible_has_its_winner() {
        let mut rows = 0;
        for opted_in in subsets() {
            for eligible in subsets() {
                let found = claim(opted_in, eligible);
                let (winner, lost, forced_off) = expected(opted_in, eligible);
                let case = format!("{opted_in:?} {eligible:?}");
                assert_eq!(found.winner, winner, "{case}");
                assert_eq!(found.short_circuited, lost, "{case}");
                assert_eq!(found.m1_forced_off, forced_off, "{case}");
                for mechanic in Mechanic::ALL {
                    let reason = if !opted_in.has(mechanic) {
                        Some(SkipReason::NotOptedIn)
                    } else if !eligible.has(mechanic) {
                        Some(SkipReason::NotEligible)
                    } else if lost.contains(&mechanic) || (mechanic == Mechanic::M1 && forced_off) {
                        Some(SkipReason::LostToPriority)
                    } else {
                        None
                    };
                    assert_eq!(found.why_not(mechanic), reason, "{mechanic} {case}");
                }
                rows += 1;
            }
        }
        assert_eq!(rows, 256);
    }

    #[test]
    fn at_most_one_mechanic_runs_beside_a_mutation() {
        for opted_in in subsets() {
            for eligible in subsets() {
                let found = claim(opted_in, eligible);
                let run = Mechanic::ALL
                    .into_iter()
                    .filter(|&mechanic| found.why_not(mechanic).is_none());
                assert!(run.count() <= MAX_MUTATIONS);
            }
        }
    }

    #[test]
    fn all_is_sorted_as_stacks_are() {
        assert!(
            Mechanic::ALL
                .windows(2)
                .all(|pair| pair[0].name() < pair[1].name())
        );
    }
}
