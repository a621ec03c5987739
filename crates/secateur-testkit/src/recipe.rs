//! What decides a conversation: a list of genes, one for each step of it.
//!
//! Fewer genes are fewer steps, and a zero byte is the plainest choice, so a failing recipe shrinks
//! to a short conversation with only the quirks that matter.

use proptest::prelude::*;
use secateur_core::Dialect;

use crate::conversation::Conversation;
use crate::dice::Dice;
use crate::generate;
pub use crate::generate::{Gene, Mode};
use crate::marks;
use crate::spelling::Spelling;

/// Everything that decides a conversation and how it is written.
#[derive(Clone, PartialEq, Eq)]
pub struct Recipe {
    /// Valid or dirty.
    pub mode: Mode,
    /// What stands around the turns: system texts, model.
    pub frame: Gene,
    /// The steps.
    pub genes: Vec<Gene>,
    /// How the JSON is written.
    pub spelling: Spelling,
}

impl Recipe {
    /// A recipe from a seed, with up to `steps` steps.
    #[must_use]
    pub fn seeded(mode: Mode, seed: u64, steps: usize) -> Self {
        let mut dice = Dice::new(seed);
        let count = dice.below(steps + 1);
        Self::from_bytes(mode, &dice.bytes(24 + count * 14))
    }

    /// A recipe from any bytes, such as a fuzzer's.
    #[must_use]
    pub fn from_bytes(mode: Mode, bytes: &[u8]) -> Self {
        let (head, rest) = bytes.split_at(bytes.len().min(10));
        let (frame, rest) = rest.split_at(rest.len().min(14));
        let mut seed = [0; 8];
        for (to, from) in seed.iter_mut().zip(head.iter().skip(1)) {
            *to = *from;
        }
        Self {
            mode,
            frame: gene(frame),
            genes: rest.chunks(14).map(gene).collect(),
            spelling: Spelling::of_bits(
                head.first().copied().unwrap_or(0),
                u64::from_le_bytes(seed),
            ),
        }
    }

    /// The conversation.
    #[must_use]
    pub fn conversation(&self) -> Conversation {
        generate::conversation(self.mode, &self.frame, &self.genes)
    }

    /// The request in a dialect, marked for the cache and spelled as the recipe says.
    #[must_use]
    pub fn body(&self, dialect: Dialect) -> Vec<u8> {
        let request = self.conversation().json(dialect);
        let [.., pattern, pick] = self.frame;
        self.spelling
            .write(&marks::add(request, dialect, pattern, pick))
    }
}

impl std::fmt::Debug for Recipe {
    /// Short enough to be read in a failing test's message: the turns, not the genes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:?} {:?} {:?}",
            self.mode,
            self.spelling,
            self.conversation().turns
        )
    }
}

fn gene(bytes: &[u8]) -> Gene {
    let mut gene = Gene::default();
    for (to, from) in gene.iter_mut().zip(bytes) {
        *to = *from;
    }
    gene
}

/// Recipes of up to `steps` steps, for property tests.
pub fn recipes(mode: Mode, steps: usize) -> impl Strategy<Value = Recipe> {
    (
        any::<Gene>(),
        proptest::collection::vec(any::<Gene>(), 0..=steps),
        0..16u8,
        any::<u64>(),
    )
        .prop_map(move |(frame, genes, quirks, seed)| Recipe {
            mode,
            frame,
            genes,
            spelling: Spelling::of_bits(quirks, seed),
        })
}

/// Recipes of both modes.
pub fn any_recipe(steps: usize) -> impl Strategy<Value = Recipe> {
    prop_oneof![recipes(Mode::Valid, steps), recipes(Mode::Dirty, steps)]
}
