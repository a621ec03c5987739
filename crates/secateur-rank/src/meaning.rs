//! Likeness of meaning between question and chunks: cosine of summed word-piece vectors.

use crate::Chunk;
use crate::table::{DIMENSIONS, Table};
use crate::wordpiece;

/// One value in 0..=1 per chunk: the likeness with the question, stretched so that the least alike
/// chunk has 0 and the most alike 1. Empty when the question has no known word or the chunks do not differ.
///
/// The chunks of a request are about one subject, so their vectors share most of their length. The mean
/// over the chunks is taken off first: what is left is what sets a chunk apart from the others.
pub(crate) fn likeness(question: &str, chunks: &[Chunk<'_>]) -> Vec<f32> {
    let Some(table) = Table::shipped() else {
        return Vec::new();
    };
    let mut asked = [0.0; DIMENSIONS];
    add_text(&table, question, &mut asked);
    if !to_length_1(&mut asked) {
        return Vec::new();
    }
    let mut mean = [0.0; DIMENSIONS];
    let mut known = 0.0_f32;
    let vectors: Vec<[f32; DIMENSIONS]> = chunks
        .iter()
        .map(|chunk| {
            let mut sum = [0.0; DIMENSIONS];
            if let Some(title) = chunk.title.filter(|title| !chunk.text.starts_with(title)) {
                add_text(&table, title, &mut sum);
            }
            add_text(&table, chunk.text, &mut sum);
            if to_length_1(&mut sum) {
                known += 1.0;
                add(&mut mean, &sum);
            }
            sum
        })
        .collect();
    for value in &mut mean {
        *value /= known.max(1.0);
    }
    for (value, mean) in asked.iter_mut().zip(&mean) {
        *value -= mean;
    }
    let shared = product(&asked, &mean);
    let mut likeness: Vec<f32> = vectors
        .iter()
        .map(|vector| match product(vector, vector) > 0.0 {
            true => product(&asked, vector) - shared,
            false => f32::NEG_INFINITY,
        })
        .collect();
    let finite = || likeness.iter().copied().filter(|value| value.is_finite());
    let least = finite().fold(f32::INFINITY, f32::min);
    let most = finite().fold(f32::NEG_INFINITY, f32::max);
    if most - least < MIN_SPREAD || most < least {
        return Vec::new();
    }
    for value in &mut likeness {
        *value = ((*value - least) / (most - least)).max(0.0);
    }
    likeness
}

/// Values closer together than this differ by rounding only.
const MIN_SPREAD: f32 = 1e-4;

fn add_text(table: &Table, text: &str, sum: &mut [f32; DIMENSIONS]) {
    wordpiece::rows(table, text, |row| table.add(row, sum));
}

fn add(sum: &mut [f32; DIMENSIONS], vector: &[f32; DIMENSIONS]) {
    for (sum, value) in sum.iter_mut().zip(vector) {
        *sum += value;
    }
}

fn product(a: &[f32; DIMENSIONS], b: &[f32; DIMENSIONS]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// False for the zero vector, which stays.
fn to_length_1(vector: &mut [f32; DIMENSIONS]) -> bool {
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
