//! All lines that are whole in the context, and where the same lines stand.

use std::collections::HashMap;

use super::line_key::LineKey;
use crate::view::PartId;

/// A run of lines found earlier.
pub(super) struct Repeat {
    pub(super) first: usize,
    pub(super) lines: usize,
    pub(super) source: PartId,
}

/// Places remembered for one line: the newest.
const SPOTS_PER_LINE: usize = 6;

/// A place where a line stands that may start a run.
#[derive(Clone, Copy)]
struct Spot {
    key: LineKey,
    text: u32,
    /// Index in [`Shown::lines`].
    line: u32,
    /// The spot of an equal line before it, as index + 1; 0 is none.
    older: u32,
}

struct Text {
    part: PartId,
    /// One past its last line in [`Shown::lines`].
    end: u32,
    is_gone: bool,
}

/// See the module.
#[derive(Default)]
pub(super) struct Shown {
    texts: Vec<Text>,
    /// The lines of all texts, one text after the other.
    lines: Vec<LineKey>,
    spots: Vec<Spot>,
    /// For each slot the newest spot of a line, as index + 1; 0 is free. Never more than half full; its
    /// length is a power of two.
    newest: Vec<u32>,
    texts_of: HashMap<PartId, Vec<usize>>,
}

impl Shown {
    /// The runs that live texts hold; at each line the longest of the candidates, greedy from the top.
    pub(super) fn repeats(
        &self,
        keys: &[LineKey],
        is_long: impl Fn(usize, usize, PartId) -> bool,
        size: impl Fn(usize) -> usize,
    ) -> Vec<Repeat> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < keys.len() {
            match self.longest(&keys[at..]) {
                Some((lines, source))
                    if is_long(lines, (at..at + lines).map(&size).sum(), source) =>
                {
                    found.push(Repeat {
                        first: at,
                        lines,
                        source,
                    });
                    at += lines;
                }
                _ => at += 1,
            }
        }
        found
    }

    /// The longest run at the start of `keys` that stands in a live text, newest first.
    fn longest(&self, keys: &[LineKey]) -> Option<(usize, PartId)> {
        let first = *keys.first()?;
        if !first.is_anchor() || self.newest.is_empty() {
            return None;
        }
        let mut next = self.newest[self.slot(first)];
        let mut best: Option<(usize, PartId)> = None;
        for _ in 0..SPOTS_PER_LINE {
            let Some(spot) = next.checked_sub(1).map(|at| self.spots[at as usize]) else {
                break;
            };
            next = spot.older;
            let text = &self.texts[spot.text as usize];
            if text.is_gone {
                continue;
            }
            let there = &self.lines[spot.line as usize..text.end as usize];
            let same = keys.iter().zip(there).take_while(|(a, b)| a == b).count();
            if best.is_none_or(|(lines, _)| same > lines) {
                best = Some((same, text.part));
            }
        }
        best
    }

    pub(super) fn add(&mut self, part: PartId, keys: &[LineKey]) {
        let number = self.texts.len();
        for (at, &key) in keys.iter().enumerate() {
            if key.is_anchor() {
                if self.spots.len() * 2 >= self.newest.len() {
                    self.grow();
                }
                let slot = self.slot(key);
                let older = self.newest[slot];
                self.spots.push(Spot {
                    key,
                    text: index(number),
                    line: index(self.lines.len() + at),
                    older,
                });
                self.newest[slot] = index(self.spots.len());
            }
        }
        self.lines.extend_from_slice(keys);
        self.texts.push(Text {
            part,
            end: index(self.lines.len()),
            is_gone: false,
        });
        self.texts_of.entry(part).or_default().push(number);
    }

    pub(super) fn forget(&mut self, part: PartId) {
        for &number in self.texts_of.get(&part).into_iter().flatten() {
            self.texts[number].is_gone = true;
        }
    }

    /// The slot of a line, or the free one where it belongs.
    fn slot(&self, key: LineKey) -> usize {
        let bits = self.newest.len().trailing_zeros();
        let mut slot = key.slot(bits);
        loop {
            match self.newest[slot].checked_sub(1) {
                Some(spot) if self.spots[spot as usize].key != key => {
                    slot = (slot + 1) & (self.newest.len() - 1);
                }
                _ => return slot,
            }
        }
    }

    fn grow(&mut self) {
        let length = (self.newest.len() * 4).max(1 << 10);
        self.newest = vec![0; length];
        for at in 0..self.spots.len() {
            let slot = self.slot(self.spots[at].key);
            self.newest[slot] = index(at + 1);
        }
    }
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
