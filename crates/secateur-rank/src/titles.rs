//! How well a chunk's title answers to the question, by the weight of the shared words.

use crate::bm25::rarity;
use crate::index::Index;

const FLOOR: f32 = 0.5;

/// Weighted Dice coefficient of title and question: 0 (nothing shared) to 1 (the same words).
pub(crate) fn overlap(index: &Index) -> Vec<f32> {
    let weight = |term: u32| {
        FLOOR
            + rarity(
                index.spread.get(term as usize).copied().unwrap_or(0),
                index.chunks.len(),
            )
    };
    let weights: Vec<f32> = (0..u32::try_from(index.spread.len()).unwrap_or(0))
        .map(weight)
        .collect();
    let asked: f32 = weights.iter().take(index.query.len()).sum();
    let side = |terms: &mut dyn Iterator<Item = &u32>| -> f32 {
        terms.filter_map(|t| weights.get(*t as usize)).sum()
    };
    index
        .chunks
        .iter()
        .map(|chunk| {
            let shared = side(
                &mut chunk
                    .title
                    .iter()
                    .filter(|t| (**t as usize) < index.query.len()),
            );
            let titled = side(&mut chunk.title.iter());
            if shared > 0.0 {
                2.0 * shared / (asked + titled)
            } else {
                0.0
            }
        })
        .collect()
}
