//! Runs of four letters that a chunk shares with the question.
//!
//! They find a word in another form (`presidency`, `presidential`), a compound and a misspelt name,
//! which whole words miss. Scored like words: by how many chunks hold a run, with length normalised.

use crate::Chunk;
use crate::bm25::rarity;
use crate::index::to_f32;
use crate::stop::is_stop_word;

const RUN: usize = 4;
const K1: f32 = 1.2;
const B: f32 = 0.75;
const IDF_FLOOR: f32 = 0.5;
/// A pasted page as a question is judged by its beginning.
const MAX_RUNS: usize = 256;
/// Slots of the table of runs: a power of two, several times `MAX_RUNS`.
const SLOTS: usize = 2048;

/// One value in 0..=1 per chunk; the chunk that shares most has 1.
pub(crate) fn shared(question: &str, chunks: &[Chunk<'_>]) -> Vec<f32> {
    let runs = Runs::of(question);
    if runs.count == 0 {
        return vec![0.0; chunks.len()];
    }
    let mut spread = vec![0_u32; runs.count];
    let mut counts: Vec<Counts> = Vec::with_capacity(chunks.len());
    let mut seen = vec![0.0_f32; runs.count];
    for chunk in chunks {
        let mut total = 0_u32;
        let mut held: Vec<u16> = Vec::new();
        let mut note = |run: u32| {
            total = total.saturating_add(1);
            if let Some(at) = runs.find(run) {
                if seen[usize::from(at)] == 0.0 {
                    held.push(at);
                }
                seen[usize::from(at)] += 1.0;
            }
        };
        if let Some(title) = chunk.title.filter(|title| !chunk.text.starts_with(title)) {
            each_run(title, &mut note);
        }
        each_run(chunk.text, &mut note);
        // In the order of the question, so that the sum below does not depend on the text.
        held.sort_unstable();
        let held = held.into_iter().map(|at| {
            spread[usize::from(at)] += 1;
            (at, std::mem::take(&mut seen[usize::from(at)]))
        });
        counts.push(Counts {
            held: held.collect(),
            total: to_f32(total),
        });
    }
    let all: f32 = counts.iter().map(|chunk| chunk.total).sum();
    let mean = (all / to_f32(u32::try_from(chunks.len()).unwrap_or(u32::MAX)).max(1.0)).max(1.0);
    let weights: Vec<f32> = spread
        .iter()
        .map(|&n| IDF_FLOOR + rarity(n, chunks.len()))
        .collect();
    let mut scores: Vec<f32> = counts
        .iter()
        .map(|chunk| {
            let damp = K1 * (1.0 - B + B * chunk.total / mean);
            let held = chunk.held.iter();
            held.map(|&(at, count)| weights[usize::from(at)] * count / (count + damp))
                .sum()
        })
        .collect();
    crate::index::to_unit(&mut scores);
    scores
}

struct Counts {
    /// Runs of the question, with how often the chunk holds them.
    held: Vec<(u16, f32)>,
    /// All runs of the chunk.
    total: f32,
}

/// The distinct runs of a question, in a table with open addressing.
struct Runs {
    /// Run and number + 1; 0 is free.
    slots: Box<[(u32, u16); SLOTS]>,
    count: usize,
}

impl Runs {
    fn of(question: &str) -> Self {
        let mut runs = Self {
            slots: Box::new([(0, 0); SLOTS]),
            count: 0,
        };
        for word in question.split(|c: char| !c.is_alphanumeric()) {
            let folded = word.to_ascii_lowercase();
            if !is_stop_word(folded.as_bytes()) {
                each_run(word, &mut |run| runs.insert(run));
            }
        }
        runs
    }

    fn slot(&self, run: u32) -> usize {
        let mut at = (run.wrapping_mul(0x9E37_79B1) >> 21) as usize;
        while self.slots[at].1 != 0 && self.slots[at].0 != run {
            at = (at + 1) % SLOTS;
        }
        at
    }

    fn insert(&mut self, run: u32) {
        let at = self.slot(run);
        if self.slots[at].1 == 0 && self.count < MAX_RUNS {
            self.count += 1;
            self.slots[at] = (run, u16::try_from(self.count).unwrap_or(u16::MAX));
        }
    }

    fn find(&self, run: u32) -> Option<u16> {
        self.slots[self.slot(run)].1.checked_sub(1)
    }
}

/// Letters and digits without their case, 0 for what parts words.
static LETTERS: [u8; 256] = {
    let mut letters = [0; 256];
    let mut byte = 0_u8;
    loop {
        if byte.is_ascii_alphanumeric() || !byte.is_ascii() {
            letters[byte as usize] = byte.to_ascii_lowercase();
        }
        if byte == u8::MAX {
            break letters;
        }
        byte += 1;
    }
};

/// Calls `sink` with every run of the words of `text`, word boundaries included. ASCII letters count
/// without their case; other letters byte by byte.
fn each_run(text: &str, sink: &mut impl FnMut(u32)) {
    let (mut last, mut len) = (u32::from(b' '), 1);
    for byte in text.bytes() {
        let letter = LETTERS[usize::from(byte)];
        if letter != 0 {
            last = last << 8 | u32::from(letter);
            len += 1;
            if len >= RUN {
                sink(last);
            }
        } else if len > 1 {
            last = last << 8 | u32::from(b' ');
            if len + 1 >= RUN {
                sink(last);
            }
            (last, len) = (u32::from(b' '), 1);
        }
    }
    if len > 1 && len + 1 >= RUN {
        sink(last << 8 | u32::from(b' '));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(text: &str) -> Chunk<'_> {
        Chunk { title: None, text }
    }

    #[test]
    fn another_form_of_a_word_is_found() {
        let chunks = [chunk("a presidential term"), chunk("a term of office")];
        let scores = shared("the presidency", &chunks);
        assert_eq!(scores, [1.0, 0.0]);
    }

    #[test]
    fn runs_do_not_cross_words_and_short_words_count_with_their_ends() {
        let mut found = Vec::new();
        each_run("ab, cde", &mut |run| found.push(run.to_be_bytes()));
        assert_eq!(found, [*b" ab ", *b" cde", *b"cde "]);
    }

    #[test]
    fn questions_without_words_share_nothing() {
        assert_eq!(shared("the of ?", &[chunk("the of")]), [0.0]);
        assert_eq!(shared("", &[]), [0.0; 0]);
    }
}
