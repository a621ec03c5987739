//! Likeness of meaning between question and chunks: cosine of summed word-piece vectors.

use crate::Chunk;
use crate::table::{DIMENSIONS, Table};
use crate::wordpiece;

/// One value in 0..=1 per chunk: the cosine with the question, stretched so that the least alike
/// chunk has 0 and the most alike 1. Empty when the question has no known word or the chunks do not differ.
pub(crate) fn likeness(question: &str, chunks: &[Chunk<'_>]) -> Vec<f32> {
    let Some(table) = Table::shipped() else {
        return Vec::new();
    };
    let mut asked = [0.0; DIMENSIONS];
    add_text(&table, question, &mut asked);
    if length(&asked) == 0.0 {
        return Vec::new();
    }
    let mut cosines: Vec<f32> = chunks
        .iter()
        .map(|chunk| {
            let mut sum = [0.0; DIMENSIONS];
            if let Some(title) = chunk.title.filter(|title| !chunk.text.starts_with(title)) {
                add_text(&table, title, &mut sum);
            }
            add_text(&table, chunk.text, &mut sum);
            let product: f32 = asked.iter().zip(&sum).map(|(a, b)| a * b).sum();
            product / (length(&asked) * length(&sum)).max(f32::MIN_POSITIVE)
        })
        .collect();
    let least = cosines.iter().copied().fold(f32::INFINITY, f32::min);
    let most = cosines.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if most - least < MIN_SPREAD {
        return Vec::new();
    }
    for cosine in &mut cosines {
        *cosine = (*cosine - least) / (most - least);
    }
    cosines
}

/// Cosines closer together than this differ by rounding only.
const MIN_SPREAD: f32 = 1e-4;

fn add_text(table: &Table, text: &str, sum: &mut [f32; DIMENSIONS]) {
    wordpiece::rows(table, text, |row| table.add(row, sum));
}

fn length(vector: &[f32; DIMENSIONS]) -> f32 {
    vector.iter().map(|x| x * x).sum::<f32>().sqrt()
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
