//! How much of the question the best single chunk covers.

use crate::bm25::rarity;
use crate::index::Index;

const FLOOR: f32 = 0.5;

/// The share of the question's weight that no single chunk holds: 0 when one chunk has all of its words.
///
/// A question that one chunk covers is answered there. What is left open points to a second chunk, which
/// shares more with the first one than with the question.
pub(crate) fn left_open(index: &Index) -> f32 {
    let weight = |spread: &u32| FLOOR + rarity(*spread, index.chunks.len());
    let weights: Vec<f32> = index
        .spread
        .iter()
        .take(index.query.len())
        .map(weight)
        .collect();
    let all: f32 = weights.iter().sum();
    let covered = |chunk: &crate::index::Counts| -> f32 {
        let held = chunk.terms.iter();
        held.filter_map(|(term, _)| weights.get(*term as usize))
            .sum()
    };
    let most = index.chunks.iter().map(covered).fold(0.0_f32, f32::max);
    if all > 0.0 {
        (1.0 - most / all).clamp(0.0, 1.0)
    } else {
        0.0
    }
}
