//! BM25 over the chunks of one request.
//!
//! The chunks were retrieved for the question, so most of them hold its words, and the usual inverse
//! document frequency goes to zero for exactly the words that matter. Every term keeps `IDF_FLOOR`.

use crate::index::{Index, to_f32};
use crate::logarithm::ln;

const K1: f32 = 1.2;
const B: f32 = 0.75;
const IDF_FLOOR: f32 = 0.5;

/// The inverse document frequency of a term that occurs in `spread` of `chunks` chunks, without the floor.
pub(crate) fn rarity(spread: u32, chunks: usize) -> f32 {
    let n = to_f32(spread);
    let all = to_f32(u32::try_from(chunks).unwrap_or(u32::MAX)).max(n);
    ln(1.0 + (all - n + 0.5) / (n + 0.5))
}

/// One score per chunk, not normalised.
pub(crate) fn score(index: &Index) -> Vec<f32> {
    let total: f32 = index.chunks.iter().map(|c| c.words).sum();
    let count = to_f32(u32::try_from(index.chunks.len()).unwrap_or(u32::MAX)).max(1.0);
    let mean = (total / count).max(1.0);
    let weights: Vec<f32> = index
        .query
        .iter()
        .zip(&index.spread)
        .map(|(times, spread)| {
            times * (IDF_FLOOR + rarity(*spread, index.chunks.len())) * (K1 + 1.0)
        })
        .collect();
    index
        .chunks
        .iter()
        .map(|chunk| {
            let damp = K1 * (1.0 - B + B * chunk.words / mean);
            let known = chunk.terms.iter();
            known
                .filter_map(|&(term, count)| {
                    Some(weights.get(term as usize)? * count / (count + damp))
                })
                .sum()
        })
        .collect()
}
