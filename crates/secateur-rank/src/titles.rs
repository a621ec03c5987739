//! How well a chunk's title answers to the question, by the weight of the shared words.

use crate::bm25::rarity;
use crate::index::Index;

const FLOOR: f32 = 0.5;

/// How title and question overlap, by the weight of their words.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Overlap {
    /// Dice coefficient: 0 (nothing shared) to 1 (the same words).
    pub(crate) both: f32,
    /// Share of the title that the question holds.
    pub(crate) asked: f32,
}

/// One overlap per chunk.
pub(crate) fn overlap(index: &Index) -> Vec<Overlap> {
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
                Overlap {
                    both: 2.0 * shared / (asked + titled),
                    asked: shared / titled,
                }
            } else {
                Overlap::default()
            }
        })
        .collect()
}
