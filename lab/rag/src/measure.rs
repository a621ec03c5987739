//! What a scorer finds and what the drop rule keeps.

use secateur_rank::{Chunk, Rule, select};

use crate::contender::Contender;
use crate::data::{CodeChunk, CodeQuestion, Half, Question};

/// Mean share of the gold chunks among the first k, for each k. With one gold chunk this is recall@k;
/// on the code set it is the published Pass@k (share of a question's gold chunks found, averaged).
#[derive(Debug, Clone, Default)]
pub(crate) struct Found(pub(crate) Vec<f64>);

/// What the drop rule does.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Kept {
    /// Share of all chunks dropped.
    pub(crate) dropped: f64,
    /// Share of the questions that keep every gold chunk.
    pub(crate) all_gold: f64,
}

/// One ranked question: scores, and which places are gold.
#[derive(Debug)]
pub(crate) struct Ranked {
    pub(crate) half: Half,
    pub(crate) scores: Vec<f32>,
    pub(crate) gold: Vec<usize>,
}

impl Ranked {
    /// Places, best first.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.scores.len()).collect();
        order.sort_by(|&a, &b| self.scores[b].total_cmp(&self.scores[a]));
        order
    }
}

pub(crate) fn rank_questions(
    contender: &Contender,
    questions: &[Question],
    titled: bool,
) -> Vec<Ranked> {
    let one = |q: &Question| {
        let chunks: Vec<Chunk<'_>> = q
            .chunks
            .iter()
            .map(|c| Chunk {
                title: c.title.as_deref().filter(|_| titled),
                text: &c.text,
            })
            .collect();
        let gold = (0..q.chunks.len()).filter(|&i| q.chunks[i].gold).collect();
        Ranked {
            half: Half::of(&q.id),
            scores: contender.scores(&q.question, &chunks),
            gold,
        }
    };
    questions.iter().map(one).collect()
}

pub(crate) fn rank_code(
    contender: &Contender,
    pool: &[CodeChunk],
    questions: &[CodeQuestion],
    documents: bool,
) -> Vec<Ranked> {
    let chunks: Vec<Chunk<'_>> = pool
        .iter()
        .map(|c| Chunk {
            title: c.id.split('#').next().filter(|_| documents),
            text: &c.text,
        })
        .collect();
    let one = |q: &CodeQuestion| {
        let gold = (0..pool.len())
            .filter(|&i| q.gold.contains(&pool[i].id))
            .collect();
        Ranked {
            half: Half::of(&q.id),
            scores: contender.scores(&q.question, &chunks),
            gold,
        }
    };
    questions.iter().map(one).collect()
}

/// The questions of one half.
pub(crate) fn half(ranked: &[Ranked], which: Half) -> impl Iterator<Item = &Ranked> {
    ranked.iter().filter(move |question| question.half == which)
}

pub(crate) fn found<'r>(ranked: impl IntoIterator<Item = &'r Ranked>, depths: &[usize]) -> Found {
    let mut sums = vec![0.0; depths.len()];
    let mut count = 0.0_f64;
    for question in ranked {
        count += 1.0;
        let order = question.order();
        for (sum, &depth) in sums.iter_mut().zip(depths) {
            let hits = order
                .iter()
                .take(depth)
                .filter(|i| question.gold.contains(i))
                .count();
            *sum += hits as f64 / question.gold.len().max(1) as f64;
        }
    }
    Found(sums.into_iter().map(|sum| sum / count.max(1.0)).collect())
}

/// What keeping the best `share` of the chunks would keep: what the ranking allows, without a rule.
pub(crate) fn best_share<'r>(ranked: impl IntoIterator<Item = &'r Ranked>, share: f64) -> f64 {
    let whole = |question: &Ranked| {
        let order = question.order();
        let keep = &order[..(share * order.len() as f64).round() as usize];
        question.gold.iter().all(|gold| keep.contains(gold))
    };
    let (mut all, mut kept) = (0, 0);
    for question in ranked {
        all += 1;
        kept += i32::from(whole(question));
    }
    f64::from(kept) / f64::from(all.max(1))
}

pub(crate) fn kept<'r>(ranked: impl IntoIterator<Item = &'r Ranked>, rule: &Rule) -> Kept {
    let (mut questions, mut chunks, mut stayed, mut whole) = (0, 0, 0, 0);
    for question in ranked {
        questions += 1;
        let keep = select(&question.scores, rule);
        chunks += question.scores.len();
        stayed += keep.len();
        whole += i32::from(question.gold.iter().all(|gold| keep.contains(gold)));
    }
    Kept {
        dropped: 1.0 - stayed as f64 / chunks.max(1) as f64,
        all_gold: f64::from(whole) / f64::from(questions.max(1)),
    }
}
