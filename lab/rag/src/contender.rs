//! The scorers that are compared: two controls, plain BM25 and ours.

use std::collections::BTreeMap;

use secateur_rank::{Chunk, Ranker};

use crate::shuffle::Shuffle;

#[derive(Debug, Clone)]
pub(crate) enum Contender {
    /// A fixed random order: the floor.
    Shuffled,
    /// Shortest first: a control, since gold chunks of nq20 are short.
    Shortest,
    /// Lower-cased words, k1 1.2, b 0.75, no stemming, no stop words.
    PlainBm25,
    Ours(&'static str, Ranker),
}

impl Contender {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Shuffled => "shuffled",
            Self::Shortest => "shortest first (control)",
            Self::PlainBm25 => "plain BM25",
            Self::Ours(name, _) => name,
        }
    }

    pub(crate) fn scores(&self, question: &str, chunks: &[Chunk<'_>]) -> Vec<f32> {
        match self {
            Self::Shuffled => {
                let mut order: Vec<u16> = (0..).take(chunks.len()).collect();
                Shuffle::new(question.len() as u64).apply(&mut order);
                order.into_iter().map(f32::from).collect()
            }
            Self::Shortest => chunks
                .iter()
                .map(|c| -f32::from(u16::try_from(c.text.chars().count()).unwrap_or(u16::MAX)))
                .collect(),
            Self::PlainBm25 => plain_bm25(question, chunks),
            Self::Ours(_, ranker) => ranker.scores(question, chunks),
        }
    }
}

/// The textbook function over title and text.
pub(crate) fn plain_bm25(question: &str, chunks: &[Chunk<'_>]) -> Vec<f32> {
    let words = |text: &str| -> Vec<String> {
        let parts = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        parts
            .filter(|w| !w.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let mut asked: BTreeMap<String, f64> = BTreeMap::new();
    for word in words(question) {
        *asked.entry(word).or_default() += 1.0;
    }
    let counted: Vec<(f64, BTreeMap<String, f64>)> = chunks
        .iter()
        .map(|chunk| {
            let mut length = 0.0;
            let mut counts = BTreeMap::new();
            for word in words(chunk.title.unwrap_or_default())
                .into_iter()
                .chain(words(chunk.text))
            {
                length += 1.0;
                if asked.contains_key(&word) {
                    *counts.entry(word).or_default() += 1.0;
                }
            }
            (length, counts)
        })
        .collect();
    let all = chunks.len() as f64;
    let mean = counted.iter().map(|(length, _)| length).sum::<f64>() / all.max(1.0);
    let rarity: BTreeMap<&str, f64> = asked
        .keys()
        .map(|word| {
            let n = counted
                .iter()
                .filter(|(_, counts)| counts.contains_key(word))
                .count() as f64;
            (word.as_str(), (1.0 + (all - n + 0.5) / (n + 0.5)).ln())
        })
        .collect();
    counted
        .iter()
        .map(|(length, counts)| {
            let sum: f64 = counts
                .iter()
                .map(|(word, count)| {
                    let damp = 1.2 * (0.25 + 0.75 * length / mean.max(1.0));
                    asked[word] * rarity[word.as_str()] * count * 2.2 / (count + damp)
                })
                .sum();
            sum as f32
        })
        .collect()
}
