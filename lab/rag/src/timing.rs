//! What ranking costs, beside plain BM25 in the same run, on chunks of about 100 words of real prose.

use std::time::{Duration, Instant};

use secateur_rank::Chunk;

use crate::contender::Contender;
use crate::data::Question;

/// The shortest time of one ranking of the first `count` chunks against the first question. The shortest,
/// since every disturbance on a busy machine only adds.
pub(crate) fn shortest(
    contender: &Contender,
    questions: &[Question],
    count: usize,
    rounds: usize,
) -> Duration {
    let chunks: Vec<Chunk<'_>> = questions
        .iter()
        .flat_map(|q| &q.chunks)
        .take(count)
        .map(|c| Chunk {
            title: c.title.as_deref(),
            text: &c.text,
        })
        .collect();
    let question = questions.first().map_or("", |q| q.question.as_str());
    let once = || {
        let start = Instant::now();
        std::hint::black_box(contender.scores(question, std::hint::black_box(&chunks)));
        start.elapsed()
    };
    (0..rounds.max(1)).map(|_| once()).min().unwrap_or_default()
}
