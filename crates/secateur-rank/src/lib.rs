//! Ranks RAG chunks against a question, in process: no model call, no I/O, no clock, no randomness.
//!
//! ```
//! use secateur_rank::{Chunk, Ranker, Rule, Scorer, select};
//!
//! let chunks = [
//!     Chunk { title: Some("Uvea"), text: "The uvea is the vascular middle layer of the eye." },
//!     Chunk { title: Some("Cornea"), text: "The cornea is transparent." },
//! ];
//! let scores = Ranker::new(Scorer::Lexical).scores("Which layer of the eye is vascular?", &chunks);
//! assert!(scores[0] > scores[1]);
//! let kept = select(&scores, &Rule::default());
//! assert_eq!(kept, [0, 1]);
//! ```
//!
//! The path of the data: `chunks` finds the chunks and the question in a text; `tokenise` (with `fold`,
//! `stem`, `stop`, `starts`) cuts text into terms; `index` counts them; `bm25`, `letters`, `titles`, `links` and
//! `neighbours` are one kind of evidence each, and `meaning` (over `wordpiece` and `table`) the likeness of meaning;
//! `coverage` says how much links count; `blend` adds them up; `select` decides what stays.

#![deny(missing_docs)]

mod blend;
mod bm25;
pub mod chunks;
mod coverage;
mod fold;
mod index;
mod letters;
mod links;
mod logarithm;
#[cfg(feature = "static-table")]
mod meaning;
mod neighbours;
mod select;
mod starts;
mod stem;
mod stop;
#[cfg(feature = "static-table")]
mod table;
mod termmap;
mod titles;
mod tokenise;
#[cfg(feature = "static-table")]
mod wordpiece;

pub use blend::Weights;
use index::Index;
pub use select::{FEW, Rule, select};

/// One passage to rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The title or the name of the document, where it is known. Chunks with the same title
    /// are taken as parts of one document.
    pub title: Option<&'a str>,
    /// The text.
    pub text: &'a str,
}

/// The kind of evidence to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scorer {
    /// Words only.
    Lexical,
    /// Words and likeness of meaning, from the static table. Without the `static-table` feature
    /// this is the same as `Lexical`.
    #[default]
    Hybrid,
}

/// Scores chunks against questions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranker {
    scorer: Scorer,
    weights: Weights,
}

impl Ranker {
    /// A ranker with the default weights.
    #[must_use]
    pub fn new(scorer: Scorer) -> Self {
        Self {
            scorer,
            weights: Weights::default(),
        }
    }

    /// A ranker with other weights, for measuring.
    #[must_use]
    pub fn with_weights(scorer: Scorer, weights: Weights) -> Self {
        Self { scorer, weights }
    }

    /// One score per chunk, in the order of the chunks.
    ///
    /// A score is the chunk's evidence relative to the best chunk of the same request: the best has 1,
    /// a chunk with half as much evidence 0.5, a chunk without any 0. Words are not the only evidence: a chunk
    /// beside or named by a good chunk has some. Scores of
    /// different questions are not comparable. All scores are 0 when nothing matches (or the question
    /// is empty). Length is no evidence: it only enters as the normalisation of word counts.
    ///
    /// The same input gives the same bits on every machine. Time is linear in the length of the input.
    #[must_use]
    pub fn scores(&self, question: &str, chunks: &[Chunk<'_>]) -> Vec<f32> {
        let [scores] = self.scores_by([&self.weights], question, chunks);
        scores
    }

    /// The scores by each of these weights instead of its own, for the time of one: most of it goes into reading.
    #[must_use]
    pub fn scores_by<const N: usize>(
        &self,
        weights: [&Weights; N],
        question: &str,
        chunks: &[Chunk<'_>],
    ) -> [Vec<f32>; N] {
        let meaning = match self.scorer {
            Scorer::Lexical => Vec::new(),
            #[cfg(feature = "static-table")]
            Scorer::Hybrid => meaning::likeness(question, chunks),
            #[cfg(not(feature = "static-table"))]
            Scorer::Hybrid => Vec::new(),
        };
        let index = Index::read(question, chunks);
        weights.map(|weights| blend::score(&index, question, chunks, &meaning, weights))
    }
}

#[cfg(test)]
mod tests;
