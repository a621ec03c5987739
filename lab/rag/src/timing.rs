//! What ranking costs, beside plain BM25 in the same run.

use std::time::{Duration, Instant};

use secateur_rank::Chunk;

use crate::contender::Contender;
use crate::shuffle::Shuffle;

/// Chunks of 100 made words each, with titles.
pub(crate) fn made_chunks(count: usize) -> Vec<(String, String)> {
    let syllables = [
        "ka", "ro", "mi", "ten", "sul", "vor", "pa", "ne", "shi", "lum",
    ];
    let mut draw = Shuffle::new(7);
    let mut word = |capital: usize| {
        let mut word: String = (0..2 + draw.below(2))
            .map(|_| syllables[draw.below(syllables.len())])
            .collect();
        if draw.below(capital) == 0 {
            word.get_mut(..1).map(str::make_ascii_uppercase);
        }
        word
    };
    (0..count)
        .map(|_| {
            let title = [word(1), word(1)].join(" ");
            let text: Vec<String> = (0..100).map(|_| word(8)).collect();
            (title, text.join(" "))
        })
        .collect()
}

/// The median time of one ranking.
pub(crate) fn median(contender: &Contender, made: &[(String, String)], rounds: usize) -> Duration {
    let chunks: Vec<Chunk<'_>> = made
        .iter()
        .map(|(title, text)| Chunk {
            title: Some(title),
            text,
        })
        .collect();
    let question = "which karo mitensul vorpa does the ne shilum kami roten pavor";
    let mut times: Vec<Duration> = (0..rounds.max(1))
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(contender.scores(question, std::hint::black_box(&chunks)));
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}
