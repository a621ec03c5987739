//! Chunks that a good chunk names: the second step of a question that needs two.
//!
//! "Who was the first president of the association that publishes journal X?" shares no rare word
//! with the chunk about the association. The chunk about X does, and it names the association,
//! which is the other chunk's title.

use crate::bm25::rarity;
use crate::index::Index;

/// Only the best chunks point on. A fixed number keeps the pass linear in the number of chunks.
const SOURCES: usize = 16;
/// A text names a title when it holds at least this share of the title's weight.
const NAMED_SHARE: f32 = 0.5;

/// For each chunk, the best `score² × share of its title named` over the chunks that name it.
/// `scores` are in 0..=1. A chunk does not point at a chunk with the same title.
pub(crate) fn named_by_good_chunks(index: &Index, scores: &[f32]) -> Vec<f32> {
    let titles = Titles::read(index);
    let mut best = vec![0.0_f32; index.chunks.len()];
    let mut named = vec![0.0_f32; index.chunks.len()];
    let mut touched: Vec<u32> = Vec::new();
    for source in best_places(scores, SOURCES) {
        let chunk = &index.chunks[source];
        let strength = scores[source] * scores[source];
        for &(term, _) in &chunk.terms[..chunk.in_text] {
            let weight = titles.weight[term as usize];
            for &target in titles.holding(term) {
                if named[target as usize] == 0.0 {
                    touched.push(target);
                }
                named[target as usize] += weight;
            }
        }
        for target in touched.drain(..) {
            let at = target as usize;
            let share = std::mem::take(&mut named[at]) / titles.total[at].max(f32::MIN_POSITIVE);
            if share >= NAMED_SHARE && index.chunks[at].title != chunk.title {
                best[at] = best[at].max(strength * share.min(1.0));
            }
        }
    }
    best
}

/// For each chunk, the best `score² × rarity` of a name that it shares with a good chunk and that the
/// question does not hold. Rarity is relative to a name that only two chunks hold.
pub(crate) fn sharing_names_with_good_chunks(index: &Index, scores: &[f32]) -> Vec<f32> {
    let rarest = rarity(2, index.chunks.len()).max(f32::MIN_POSITIVE);
    let weight = |term: u32| rarity(index.spread[term as usize], index.chunks.len()) / rarest;
    // The strongest chunk that holds a name, and the strongest other one.
    let mut holders = vec![[(0.0_f32, usize::MAX); 2]; index.spread.len()];
    for source in best_places(scores, SOURCES) {
        let strength = scores[source] * scores[source];
        for &term in &index.chunks[source].names {
            let [first, second] = &mut holders[term as usize];
            if strength > first.0 {
                *second = *first;
                *first = (strength, source);
            } else if strength > second.0 {
                *second = (strength, source);
            }
        }
    }
    let best = |at: usize, names: &[u32]| {
        let from_other = |term: u32| {
            let holder = holders[term as usize]
                .iter()
                .find(|(_, source)| *source != at);
            holder.map_or(0.0, |(strength, _)| strength * weight(term).min(1.0))
        };
        names
            .iter()
            .map(|&term| from_other(term))
            .fold(0.0, f32::max)
    };
    index
        .chunks
        .iter()
        .enumerate()
        .map(|(at, chunk)| best(at, &chunk.names))
        .collect()
}

/// Which titles hold a term, and what each term and title weighs.
struct Titles {
    weight: Vec<f32>,
    total: Vec<f32>,
    starts: Vec<usize>,
    holders: Vec<u32>,
}

impl Titles {
    fn read(index: &Index) -> Self {
        let weight: Vec<f32> = index
            .spread
            .iter()
            .map(|&n| rarity(n, index.chunks.len()))
            .collect();
        let mut starts = vec![0_usize; weight.len() + 1];
        for chunk in &index.chunks {
            for &term in &chunk.title {
                starts[term as usize + 1] += 1;
            }
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut next = starts.clone();
        let mut holders = vec![0_u32; starts.last().copied().unwrap_or(0)];
        for (at, chunk) in (0_u32..).zip(&index.chunks) {
            for &term in &chunk.title {
                holders[next[term as usize]] = at;
                next[term as usize] += 1;
            }
        }
        let total = index
            .chunks
            .iter()
            .map(|c| c.title.iter().map(|&t| weight[t as usize]).sum())
            .collect();
        Self {
            weight,
            total,
            starts,
            holders,
        }
    }

    fn holding(&self, term: u32) -> &[u32] {
        let at = term as usize;
        &self.holders[self.starts[at]..self.starts[at + 1]]
    }
}

/// The places of the `count` best positive scores, best first, earlier first among equals.
fn best_places(scores: &[f32], count: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..scores.len()).filter(|&i| scores[i] > 0.0).collect();
    let order = |a: &usize, b: &usize| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b));
    if places.len() > count {
        places.select_nth_unstable_by(count, order);
        places.truncate(count);
    }
    places.sort_unstable_by(order);
    places
}
