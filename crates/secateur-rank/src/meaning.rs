//! Likeness of meaning between question and chunks: cosine of summed word-piece vectors.

use crate::Chunk;
use crate::bm25::rarity;
use crate::table::{DIMENSIONS, Table};
use crate::wordpiece;

type Vector = [f32; DIMENSIONS];

/// What a piece that every chunk holds counts beside its rarity.
const RARITY_FLOOR: f32 = 1.0;
/// How soon more of the same piece count no more, as in BM25.
const K1: f32 = 1.2;
/// Values closer together than this differ by rounding only.
const MIN_SPREAD: f32 = 1e-4;

/// One value in 0..=1 per chunk: the likeness with the question, stretched so that the least alike
/// chunk has 0 and the most alike 1. Empty when the question has no known word or the chunks do not differ.
///
/// The chunks of a request are about one subject, so their vectors share most of their length. Two things bring
/// out what sets a chunk apart from the others: a piece counts by its rarity among the chunks, and the mean
/// over the chunks is taken off.
pub(crate) fn likeness(question: &str, chunks: &[Chunk<'_>]) -> Vec<f32> {
    let Some(table) = Table::shipped() else {
        return Vec::new();
    };
    let mut pieces = Pieces::new(table.rows());
    let asked = pieces.of(|sink| wordpiece::rows(&table, question, sink));
    let held: Vec<Vec<(usize, f32)>> = chunks
        .iter()
        .map(|chunk| {
            let held = pieces.of(|sink| {
                if let Some(title) = chunk.title.filter(|title| !chunk.text.starts_with(title)) {
                    wordpiece::rows(&table, title, &mut *sink);
                }
                wordpiece::rows(&table, chunk.text, sink);
            });
            pieces.note_spread(&held);
            held
        })
        .collect();
    let weights: Vec<f32> = (0..)
        .take(chunks.len() + 1)
        .map(|spread| RARITY_FLOOR + rarity(spread, chunks.len()))
        .collect();
    let sum = |held: &[(usize, f32)]| {
        let mut sum = [0.0; DIMENSIONS];
        for &(row, count) in held {
            let weight = weights.get(pieces.spread(row)).copied().unwrap_or(0.0);
            table.add(row, weight * count * (K1 + 1.0) / (count + K1), &mut sum);
        }
        sum
    };
    let mut asked: Vector = sum(&asked);
    if !to_length_1(&mut asked) {
        return Vec::new();
    }
    let mut mean = [0.0; DIMENSIONS];
    let mut known = 0.0_f32;
    let vectors: Vec<Vector> = held
        .iter()
        .map(|held| {
            let mut vector = sum(held);
            if to_length_1(&mut vector) {
                known += 1.0;
                add(&mut mean, &vector);
            }
            vector
        })
        .collect();
    for value in &mut mean {
        *value /= known.max(1.0);
    }
    for (value, mean) in asked.iter_mut().zip(&mean) {
        *value -= mean;
    }
    let shared = product(&asked, &mean);
    let likeness = vectors
        .iter()
        .map(|vector| match product(vector, vector) > 0.0 {
            true => product(&asked, vector) - shared,
            false => f32::NEG_INFINITY,
        })
        .collect();
    stretched(likeness)
}

/// Values so that the least has 0 and the greatest 1; those that are not finite have 0.
fn stretched(mut values: Vec<f32>) -> Vec<f32> {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let least = finite().fold(f32::INFINITY, f32::min);
    let most = finite().fold(f32::NEG_INFINITY, f32::max);
    if most - least < MIN_SPREAD || most < least {
        return Vec::new();
    }
    for value in &mut values {
        *value = ((*value - least) / (most - least)).max(0.0);
    }
    values
}

/// Counts the pieces of texts, with one number per row of the table.
struct Pieces {
    counts: Vec<f32>,
    /// In how many chunks a piece occurs.
    spreads: Vec<u32>,
}

impl Pieces {
    fn new(rows: usize) -> Self {
        Self {
            counts: vec![0.0; rows],
            spreads: vec![0; rows],
        }
    }

    /// The distinct pieces that `read` gives, in the order of their first occurrence, with their counts.
    fn of(&mut self, read: impl FnOnce(&mut dyn FnMut(usize))) -> Vec<(usize, f32)> {
        let mut seen: Vec<(usize, f32)> = Vec::new();
        let counts = &mut self.counts;
        read(&mut |row| {
            if let Some(count) = counts.get_mut(row) {
                if *count == 0.0 {
                    seen.push((row, 0.0));
                }
                *count += 1.0;
            }
        });
        for (row, count) in &mut seen {
            *count = std::mem::take(&mut counts[*row]);
        }
        seen
    }

    fn note_spread(&mut self, held: &[(usize, f32)]) {
        for &(row, _) in held {
            self.spreads[row] += 1;
        }
    }

    fn spread(&self, row: usize) -> usize {
        self.spreads[row] as usize
    }
}

fn add(sum: &mut Vector, vector: &Vector) {
    for (sum, value) in sum.iter_mut().zip(vector) {
        *sum += value;
    }
}

fn product(a: &Vector, b: &Vector) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// False for the zero vector, which stays.
fn to_length_1(vector: &mut Vector) -> bool {
    let length = product(vector, vector).sqrt();
    if length > 0.0 {
        for value in vector.iter_mut() {
            *value /= length;
        }
    }
    length > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_table_is_well_formed() {
        assert!(Table::shipped().is_some());
    }

    #[test]
    fn a_paraphrase_is_more_alike_than_another_subject() {
        let chunk = |text| Chunk { title: None, text };
        let chunks = [
            chunk("The physician treated the sick child in the hospital."),
            chunk("Shares fell on the stock market."),
        ];
        assert_eq!(
            likeness("Which doctor healed the ill kid?", &chunks),
            [1.0, 0.0]
        );
    }

    #[test]
    fn equal_chunks_and_unknown_questions_give_nothing() {
        let chunk = Chunk {
            title: None,
            text: "water",
        };
        assert!(likeness("water", &[chunk, chunk]).is_empty());
        assert!(likeness("", &[chunk]).is_empty());
    }
}
