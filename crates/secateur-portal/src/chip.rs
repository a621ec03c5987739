//! The chips of a stack: amber where a mechanic changes content.

use secateur_core::mechanic::Mechanic;

use crate::catalog::words;

/// One chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chip {
    pub(crate) name: String,
    /// Whether it changes what the model reads.
    pub(crate) mutates: bool,
    /// For the tip and for screen readers.
    pub(crate) about: String,
}

/// The mechanic of this name.
pub(crate) fn mechanic(name: &str) -> Option<Mechanic> {
    Mechanic::ALL
        .into_iter()
        .find(|mechanic| mechanic.name() == name)
}

impl Chip {
    pub(crate) fn of(name: &str) -> Self {
        let known = mechanic(name);
        let mutates = known.is_some_and(Mechanic::mutates);
        let kind = if mutates {
            "changes content"
        } else {
            "leaves content as it is"
        };
        let about = known.map_or(String::new(), |mechanic| {
            format!("{}, {kind}", words(mechanic).0)
        });
        Self {
            name: name.to_owned(),
            mutates,
            about,
        }
    }

    /// The chips of a stack as rows spell it.
    pub(crate) fn all(stack: &str) -> Vec<Self> {
        stack
            .split('+')
            .filter(|name| !name.is_empty())
            .map(Self::of)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutating_mechanics_are_amber_and_routing_is_not() {
        let chips = Chip::all("m1+m3+m7+m8");
        let amber: Vec<bool> = chips.iter().map(|chip| chip.mutates).collect();
        assert_eq!(amber, [false, true, true, true]);
        assert!(Chip::all("").is_empty());
        assert!(!Chip::of("<script>").mutates);
    }
}
