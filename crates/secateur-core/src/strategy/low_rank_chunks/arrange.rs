//! Which chunks stay, and in which order.
//!
//! **Invariant:** with `order = "relevance"`, what comes out is left alone when it comes in again. Chunks
//! that are best first count as arranged before; a result that a second run would change again
//! is not sent. A text whose question other texts are ranked by keeps enough chunks to be found again: else
//! a second run would take the chunks that are left for a part of the question.

use secateur_rank::chunks::{
    ChunkSpan, Chunks, MIN_CHUNKS, asks_about_all, find_block_run, find_chunks, question_among,
};
use secateur_rank::{Chunk, Ranker, Rule, Scorer, Weights, select};

use super::{ChunkOrder, ChunkScorer, LowRankChunks};

/// What to do with the chunks of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// All stay where they are.
    Stay,
    /// Nothing asks for a part of them.
    NoQuestion,
    /// These stay, in this order.
    Keep(Vec<usize>),
}

/// What is asked of the chunks of a text.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Asked<'q> {
    /// The question, if it is not around the chunks.
    pub(super) given: Option<&'q str>,
    /// What the turn says before the text and after it.
    pub(super) beside: (&'q str, &'q str),
    /// Whether the text is a document: all of it is context, and asks nothing.
    pub(super) is_document: bool,
    /// Whether other texts are ranked by what this text asks.
    pub(super) is_shared: bool,
}

impl Asked<'_> {
    fn question(self, text: &str, chunks: &Chunks) -> String {
        if let Some(question) = self.given {
            return question.to_owned();
        }
        let (before, after) = match self.is_document {
            true => ("", ""),
            false => chunks.around(text),
        };
        let before = format!("{}{before}", self.beside.0);
        let after = format!("{after}\n\n{}", self.beside.1);
        question_among(&before, &after).to_owned()
    }
}

/// Decides about the chunks of a text.
pub(super) fn arrange(
    options: &LowRankChunks,
    text: &str,
    chunks: &Chunks,
    asked: Asked<'_>,
) -> Verdict {
    let question = asked.question(text, chunks);
    if !question.chars().any(char::is_alphanumeric) || asks_about_all(&question) {
        return Verdict::NoQuestion;
    }
    let of_text = |text: &str, chunks: &Chunks, question: &str| {
        let read: Vec<Chunk<'_>> = chunks.spans.iter().map(|span| read(text, span)).collect();
        options.order_of(&read, question, asked.is_shared)
    };
    let Some(order) = of_text(text, chunks, &question) else {
        return Verdict::Stay;
    };
    if options.order == ChunkOrder::Relevance {
        let again = chunks.arranged(text, &order);
        let changes_again = find_chunks(&again).map_or(asked.is_shared, |found| {
            let moves_question = asked.is_shared && found.around(&again) != chunks.around(text);
            let question = asked.question(&again, &found);
            moves_question || of_text(&again, &found, &question).is_some()
        });
        if changes_again {
            return Verdict::Stay;
        }
    }
    Verdict::Keep(order)
}

/// Decides about chunks that are a text block each.
pub(super) fn arrange_blocks(
    options: &LowRankChunks,
    texts: &[&str],
    spans: &[ChunkSpan],
    question: &str,
    is_shared: bool,
) -> Verdict {
    if !question.chars().any(char::is_alphanumeric) || asks_about_all(question) {
        return Verdict::NoQuestion;
    }
    let read_all = |texts: &[&str], spans: &[ChunkSpan]| {
        let each = texts.iter().zip(spans).map(|(text, span)| read(text, span));
        options.order_of(&each.collect::<Vec<_>>(), question, is_shared)
    };
    let Some(order) = read_all(texts, spans) else {
        return Verdict::Stay;
    };
    if options.order == ChunkOrder::Relevance {
        let again: Vec<&str> = order.iter().map(|&at| texts[at]).collect();
        let changes_again = find_block_run(&again).map_or(is_shared, |found| {
            let is_whole = found.blocks.len() == again.len();
            (is_shared && !is_whole) || (is_whole && read_all(&again, &found.spans).is_some())
        });
        if changes_again {
            return Verdict::Stay;
        }
    }
    Verdict::Keep(order)
}

fn read<'t>(text: &'t str, span: &ChunkSpan) -> Chunk<'t> {
    Chunk {
        title: span.title.clone().and_then(|title| text.get(title)),
        text: text.get(span.inner.clone()).unwrap_or_default(),
    }
}

impl LowRankChunks {
    fn rule(&self, is_shared: bool) -> Rule {
        let fewest = if is_shared { MIN_CHUNKS } else { 0 };
        Rule {
            min_score: to_f32(self.min_score),
            min_keep: self.min_keep.max(fewest),
            max_keep: match self.max_keep {
                0 => usize::MAX,
                limit => limit.max(fewest),
            },
            keep_share: to_f32(self.keep_share),
            keep_mass: to_f32(self.keep_mass),
        }
    }

    /// The chunks that stay, in their new order; `None` if that is what there is.
    fn order_of(&self, read: &[Chunk<'_>], question: &str, is_shared: bool) -> Option<Vec<usize>> {
        let scorer = match self.scorer {
            ChunkScorer::Lexical => Scorer::Lexical,
            ChunkScorer::Hybrid => Scorer::Hybrid,
        };
        // The position of a chunk is evidence unless it was moved.
        let unplaced = Weights {
            neighbour: 0.0,
            ..Weights::default()
        };
        let by_words = Ranker::with_weights(scorer, unplaced);
        let rule = self.rule(is_shared);
        let is_relevance = self.order == ChunkOrder::Relevance;
        let [as_words, as_placed] =
            by_words.scores_by([&unplaced, &Weights::default()], question, read);
        if is_relevance && is_arranged(&as_words, &rule) {
            return None;
        }
        let mut order = select(&as_placed, &rule);
        if is_relevance {
            settle(&by_words, question, read, &mut order);
        } else {
            order.sort_unstable();
        }
        let is_as_it_was = order.len() == read.len() && order.is_sorted();
        (!is_as_it_was && !order.is_empty()).then_some(order)
    }
}

/// Puts the chunks of `order` best first, judged among themselves.
fn settle(ranker: &Ranker, question: &str, read: &[Chunk<'_>], order: &mut [usize]) {
    const TRIES: usize = 3;
    for _ in 0..TRIES {
        let kept: Vec<Chunk<'_>> = order.iter().map(|&at| read[at]).collect();
        let scores = ranker.scores(question, &kept);
        if scores.is_sorted_by(|one, next| one >= next) {
            return;
        }
        let mut places: Vec<usize> = (0..order.len()).collect();
        places.sort_by(|&one, &other| scores[other].total_cmp(&scores[one]));
        let sorted: Vec<usize> = places.iter().map(|&place| order[place]).collect();
        order.copy_from_slice(&sorted);
    }
}

/// Best first and within the limit: four chunks are in that order by chance once in 24 times. Fewer must also have no
/// tail that the rule would not have kept.
fn is_arranged(scores: &[f32], rule: &Rule) -> bool {
    const NO_CHANCE: usize = 4;
    let tail = scores.get(rule.min_keep..).unwrap_or_default();
    scores.len() <= rule.max_keep
        && scores.is_sorted_by(|one, next| one >= next)
        && (scores.len() >= NO_CHANCE || tail.iter().all(|&score| score >= rule.min_score / 2.0))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "an option in 0 to 1 loses nothing that matters"
)]
fn to_f32(option: f64) -> f32 {
    option as f32
}
