//! Puts the single kinds of evidence together into one score per chunk.

use crate::index::{Index, to_unit};
use crate::{Chunk, bm25, coverage, letters, links, neighbours, titles};

/// How much each kind of evidence counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Words that the text shares with the question. Default 1.
    pub words: f32,
    /// Words that the title shares with the question. Default 0.3.
    pub title: f32,
    /// The share of the title that the question holds. Default 0.6.
    pub asked_title: f32,
    /// Runs of letters that the chunk shares with the question, where there is no likeness of meaning: both
    /// find other words for the same. Default 0.8.
    pub letters: f32,
    /// Neighbouring words of the question that are close in the text. Default 0.2.
    pub nearness: f32,
    /// A text that opens with the subject of a title that matches. Default 0.8.
    pub opening: f32,
    /// Being named by a chunk that scores well, times the share of the question that no single chunk
    /// covers. Default 2.
    pub link: f32,
    /// A rare name shared with a chunk that scores well, times the same share. Default 1.
    pub name: f32,
    /// How many links in a row count. Default 2.
    pub steps: u8,
    /// The score of the neighbouring chunk of the same document. Default 0.15.
    pub neighbour: f32,
    /// Likeness of meaning, in the hybrid scorer. Default 0.7.
    pub meaning: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            words: 1.0,
            title: 0.3,
            asked_title: 0.6,
            letters: 0.8,
            nearness: 0.2,
            opening: 0.8,
            link: 2.0,
            name: 1.0,
            steps: 2,
            neighbour: 0.15,
            meaning: 0.7,
        }
    }
}

/// Scores from words, and from likeness of meaning where `meaning` holds one value in 0..=1 per chunk.
pub(crate) fn score(
    index: &Index,
    question: &str,
    chunks: &[Chunk<'_>],
    meaning: &[f32],
    weights: &Weights,
) -> Vec<f32> {
    let mut scores = bm25::score(index);
    to_unit(&mut scores);
    let overlap = titles::overlap(index);
    for ((score, counts), title) in scores.iter_mut().zip(&index.chunks).zip(overlap) {
        *score *= weights.words;
        *score += title.both * (weights.title + weights.opening * counts.opening);
        *score += weights.asked_title * title.asked;
        *score += weights.nearness * counts.nearness;
    }
    if weights.letters > 0.0 && meaning.is_empty() {
        for (score, shared) in scores.iter_mut().zip(letters::shared(question, chunks)) {
            *score += weights.letters * shared;
        }
    }
    for (score, likeness) in scores.iter_mut().zip(meaning) {
        *score += weights.meaning * likeness;
    }
    to_unit(&mut scores);
    let beside = neighbours::best_beside(chunks, &scores);
    for (score, beside) in scores.iter_mut().zip(beside) {
        *score += weights.neighbour * beside;
    }
    to_unit(&mut scores);
    let open = coverage::left_open(index);
    let mut linked = scores.clone();
    let steps = if open > 0.0 { weights.steps } else { 0 };
    for _ in 0..steps {
        let named = links::named_by_good_chunks(index, &linked);
        let sharing = links::sharing_names_with_good_chunks(index, &linked);
        for (((linked, score), named), sharing) in
            linked.iter_mut().zip(&scores).zip(named).zip(sharing)
        {
            *linked = score + open * (weights.link * named + weights.name * sharing);
        }
        to_unit(&mut linked);
    }
    linked
}
