//! One pass over question, titles and texts: all counts that the lexical scores need.

use crate::Chunk;
use crate::starts::Starts;
use crate::termmap::TermMap;
use crate::tokenise::terms;

/// Counts for one question over its chunks. Term ids below `query.len()` are question terms,
/// the others are words of titles and names in the texts.
#[derive(Debug)]
pub(crate) struct Index {
    /// How often the question uses each of its terms.
    pub(crate) query: Vec<f32>,
    /// In how many chunks (title or text) a term occurs.
    pub(crate) spread: Vec<u32>,
    pub(crate) chunks: Vec<Counts>,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// All words of title and text.
    pub(crate) words: f32,
    /// Known terms and their counts over title and text.
    pub(crate) terms: Vec<(u32, f32)>,
    /// Known terms of the text alone are the first this many entries of `terms`.
    pub(crate) in_text: usize,
    /// Distinct terms of the title, without function words.
    pub(crate) title: Vec<u32>,
    /// Distinct names in the text, and the terms of the title, without terms of the question.
    pub(crate) names: Vec<u32>,
    /// How close neighbouring words of the question are in the text: 0 (apart) to 1 (side by side).
    pub(crate) nearness: f32,
    /// Share of the title's terms among the first words of the text.
    pub(crate) opening: f32,
}

/// The first words of a text, in which it may introduce the subject of its title.
const OPENING_WORDS: u32 = 15;
/// Question words further apart than this are not near.
const NEAR_WORDS: u32 = 5;
const NEVER: u32 = u32::MAX;

impl Index {
    pub(crate) fn read(question: &str, chunks: &[Chunk<'_>]) -> Self {
        let mut map = TermMap::with_capacity(64);
        let mut wanted = Starts::NONE;
        let (query, pairs) = read_question(question, &mut map, &mut wanted);
        let titles: Vec<Vec<u32>> = chunks
            .iter()
            .map(|chunk| title_terms(chunk, &mut map, &mut wanted))
            .collect();
        let mut scan = Scan::new(map, wanted, query.len(), &pairs);
        let chunks: Vec<Counts> = chunks
            .iter()
            .zip(titles)
            .map(|(chunk, title)| scan.chunk(chunk, title))
            .collect();
        let mut spread = vec![0_u32; scan.map.len()];
        for &(term, _) in chunks.iter().flat_map(|counts| &counts.terms) {
            spread[term as usize] += 1;
        }
        Self {
            query,
            spread,
            chunks,
        }
    }
}

/// The counts of the question's terms, and its pairs of neighbouring terms.
fn read_question(
    question: &str,
    map: &mut TermMap,
    wanted: &mut Starts,
) -> (Vec<f32>, Vec<(u32, u32)>) {
    let mut found = Vec::new();
    terms(question, &Starts::ALL, |t| found.push(t));
    if found.iter().any(|t| !t.stop) {
        found.retain(|t| !t.stop);
    }
    let mut counts: Vec<f32> = Vec::new();
    let mut pairs = Vec::new();
    let mut previous: Option<u32> = None;
    for term in found {
        let Some(key) = term.key else { continue };
        let id = map.insert(key);
        wanted.insert(term.start);
        match counts.get_mut(id as usize) {
            Some(count) => *count += 1.0,
            None => counts.push(1.0),
        }
        if term.whole {
            continue;
        }
        if let Some(p) = previous
            && p != id
            && pairs.len() < MAX_PAIRS
            && !pairs.contains(&(p, id))
        {
            pairs.push((p, id));
        }
        previous = Some(id);
    }
    (counts, pairs)
}

/// A pasted page as a question must not make every word of every chunk cost a search.
const MAX_PAIRS: usize = 64;

fn title_terms(chunk: &Chunk<'_>, map: &mut TermMap, wanted: &mut Starts) -> Vec<u32> {
    let mut ids = Vec::new();
    if let Some(title) = chunk.title {
        terms(title, &Starts::ALL, |t| {
            if let Some(key) = t.key.filter(|_| !t.stop && !t.whole) {
                ids.push(map.insert(key));
                wanted.insert(t.start);
            }
        });
    }
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Scratch space for the pass over one chunk after the other.
struct Scan<'a> {
    map: TermMap,
    /// Terms of the question and the titles: the ids below this one.
    looked_for: u32,
    /// How they begin.
    wanted: Starts,
    pairs: &'a [(u32, u32)],
    /// For each question term, the pairs that it is part of.
    pairs_of: Vec<Vec<usize>>,
    last_at: Vec<u32>,
    best_gap: Vec<u32>,
    count: Vec<f32>,
    /// Names of the present chunk.
    is_name: Vec<bool>,
}

impl<'a> Scan<'a> {
    fn new(map: TermMap, wanted: Starts, query_terms: usize, pairs: &'a [(u32, u32)]) -> Self {
        let mut pairs_of = vec![Vec::new(); query_terms];
        for (i, &(a, b)) in pairs.iter().enumerate() {
            pairs_of[a as usize].push(i);
            pairs_of[b as usize].push(i);
        }
        Self {
            count: vec![0.0; map.len()],
            is_name: vec![false; map.len()],
            looked_for: u32::try_from(map.len()).unwrap_or(NEVER),
            wanted,
            map,
            pairs,
            pairs_of,
            last_at: vec![NEVER; query_terms],
            best_gap: vec![NEVER; pairs.len()],
        }
    }

    fn chunk(&mut self, chunk: &Chunk<'_>, title: Vec<u32>) -> Counts {
        self.last_at.fill(NEVER);
        self.best_gap.fill(NEVER);
        let mut seen: Vec<u32> = Vec::new();
        let mut names: Vec<u32> = Vec::new();
        let asked = self.pairs_of.len();
        let mut at = 0_u32;
        let mut opening = 0_u32;
        self.text(chunk.text, &mut at, |scan, id, at, name| {
            if name && id as usize >= asked && !scan.is_name[id as usize] {
                scan.is_name[id as usize] = true;
                names.push(id);
            }
            if scan.count[id as usize] == 0.0 {
                seen.push(id);
                if at < OPENING_WORDS && title.binary_search(&id).is_ok() {
                    opening += 1;
                }
            }
            scan.count[id as usize] += 1.0;
        });
        let in_text = seen.len();
        // A text that begins with its own title must not count it twice.
        if let Some(name) = chunk.title.filter(|name| !chunk.text.starts_with(name)) {
            at = at.saturating_add(NEAR_WORDS);
            self.text(name, &mut at, |scan, id, _, _| {
                if scan.count[id as usize] == 0.0 {
                    seen.push(id);
                }
                scan.count[id as usize] += 1.0;
            });
        }
        for &id in &title {
            if id as usize >= asked && !self.is_name[id as usize] {
                names.push(id);
            }
        }
        for &id in &names {
            self.is_name[id as usize] = false;
        }
        let terms = seen
            .into_iter()
            .map(|id| (id, std::mem::take(&mut self.count[id as usize])))
            .collect();
        Counts {
            words: to_f32(at),
            terms,
            in_text,
            nearness: self.nearness(),
            opening: to_f32(opening) / to_f32(u32::try_from(title.len()).unwrap_or(NEVER)).max(1.0),
            title,
            names,
        }
    }

    fn text(&mut self, text: &str, at: &mut u32, mut known: impl FnMut(&mut Self, u32, u32, bool)) {
        let wanted = self.wanted;
        terms(text, &wanted, |term| {
            let id = match term.key {
                Some(key) if term.name => Some(self.map.insert(key)),
                Some(key) => self.map.get(key).filter(|id| *id < self.looked_for),
                None => None,
            };
            if let Some(id) = id {
                if self.count.len() <= id as usize {
                    self.count.push(0.0);
                    self.is_name.push(false);
                }
                known(self, id, *at, term.name);
                if (id as usize) < self.pairs_of.len() {
                    self.note_place(id, *at);
                }
            }
            if !term.whole {
                *at = at.saturating_add(1);
            }
        });
    }

    fn note_place(&mut self, id: u32, at: u32) {
        for &pair in &self.pairs_of[id as usize] {
            let (a, b) = self.pairs[pair];
            let other = self.last_at[(if a == id { b } else { a }) as usize];
            if other != NEVER {
                self.best_gap[pair] = self.best_gap[pair].min(at.saturating_sub(other).max(1));
            }
        }
        self.last_at[id as usize] = at;
    }

    fn nearness(&self) -> f32 {
        let near = self.best_gap.iter().filter(|gap| **gap <= NEAR_WORDS);
        let sum: f32 = near.map(|gap| 1.0 / to_f32(*gap)).sum();
        sum / to_f32(u32::try_from(self.pairs.len()).unwrap_or(NEVER)).max(1.0)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts stay far below 2^24; above it the loss does not matter"
)]
pub(crate) fn to_f32(n: u32) -> f32 {
    n as f32
}

/// Divides by the greatest score, so that the best chunk has 1. All zeros stay zeros.
pub(crate) fn to_unit(scores: &mut [f32]) {
    let best = scores.iter().copied().fold(0.0_f32, f32::max);
    if best > 0.0 {
        for score in scores {
            *score = (*score / best).clamp(0.0, 1.0);
        }
    }
}
