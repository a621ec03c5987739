//! All lines that are whole in the context, and where the same lines stand.

use std::ops::Range;

use crate::line_marks::LineKey;
use crate::view::PartId;

/// A run of lines found earlier.
pub(super) struct Repeat {
    pub(super) first: usize,
    pub(super) lines: usize,
    pub(super) source: PartId,
}

/// Which runs are long enough.
pub(super) trait Length {
    /// Whether a run of so many lines and characters is long enough in this source.
    fn is_enough(&self, lines: usize, chars: usize, source: PartId) -> bool;

    /// Whether it is in any source.
    fn may_be_enough(&self, lines: usize, chars: usize) -> bool;

    /// Whether more characters than these could change an answer.
    fn counts_beyond(&self, chars: usize) -> bool;
}

/// Places remembered for one line: the newest.
const SPOTS_PER_LINE: usize = 6;

/// About how many bytes of a conversation bring a line.
const BYTES_PER_LINE: usize = 48;

/// A line that may start a run, however often it stands somewhere. What most lines are decided by is here,
/// close together.
struct Known {
    key: LineKey,
    /// A byte of the mark of the line behind it, for each of its newest spots, the newest lowest: most runs of
    /// one line end without a look at any text.
    nexts: u64,
    /// Its newest spot, as index + 1.
    newest: u32,
}

impl Known {
    /// Whether the line may stand behind one of the newest spots of this one.
    fn may_precede(&self, line: LineKey) -> bool {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const HIGHS: u64 = 0x8080_8080_8080_8080;
        const OLDER: u64 = u64::MAX << (SPOTS_PER_LINE * 8);
        let differences = self.nexts ^ (ONES * u64::from(line.mark())) | OLDER;
        differences.wrapping_sub(ONES) & !differences & HIGHS != 0
    }
}

/// A slot of the table: a part of a known line's key, and its index + 1; 0 is free. Most other lines are told apart
/// without a look at the line.
#[derive(Clone, Copy, Default)]
struct Entry {
    tag: u32,
    number: u32,
}

/// A place where a line stands.
#[derive(Clone, Copy)]
struct Spot {
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
    /// In the order of their parts.
    texts: Vec<Text>,
    /// The lines of all texts, one text after the other.
    lines: Vec<LineKey>,
    spots: Vec<Spot>,
    /// The lines that may start a run, each once.
    known: Vec<Known>,
    /// Where known lines are found. Never more than half full; its length is a power of two.
    table: Vec<Entry>,
    /// Scratch: the known lines that the lines which are looked for are, as index + 1; 0 is none.
    found: Vec<u32>,
}

impl Shown {
    /// Makes room for the lines of a conversation with so many bytes.
    pub(super) fn expect(&mut self, bytes: usize) {
        if self.table.is_empty() {
            let lines = bytes / BYTES_PER_LINE;
            self.lines.reserve(lines);
            self.spots.reserve(lines);
            self.known.reserve(lines / 2);
            self.make_room(lines / 4);
        }
    }

    /// Finds the runs of a new text that live texts hold, at each line the longest of the candidates, greedy
    /// from the top; takes in the other lines.
    pub(super) fn take_in(
        &mut self,
        part: PartId,
        keys: &mut [LineKey],
        length: &impl Length,
        size: impl Fn(usize) -> usize,
    ) -> Vec<Repeat> {
        self.make_room(keys.len());
        let mut known_lines = std::mem::take(&mut self.found);
        known_lines.clear();
        // All at once: the machine waits for many places of the table together.
        known_lines.extend(keys.iter().map(|key| self.find(*key)));
        let mut repeats = Vec::new();
        let mut at = 0;
        while let Some(number) = known_lines.get(at) {
            at += 1;
            let Some(known) = self.known(*number) else {
                continue;
            };
            let first = at - 1;
            let may_go_on = keys.get(at).is_some_and(|next| known.may_precede(*next));
            // A run of one line, which most are, is mostly too short wherever it stands.
            if !may_go_on && !length.may_be_enough(1, size(first)) {
                continue;
            }
            let longest = if may_go_on {
                self.longest(known, &keys[first..])
            } else {
                self.newest_live(known.newest).map(|source| (1, source))
            };
            if let Some((lines, source)) = longest
                && length.is_enough(lines, chars(first..first + lines, length, &size), source)
            {
                at = first + lines;
                repeats.push(Repeat {
                    first,
                    lines,
                    source,
                });
            }
        }
        for repeat in &repeats {
            keys[repeat.first..repeat.first + repeat.lines].fill(LineKey::GONE);
        }
        self.push(part, keys, &known_lines);
        self.found = known_lines;
        repeats
    }

    /// Takes in a new text as it is.
    pub(super) fn add(&mut self, part: PartId, keys: &[LineKey]) {
        self.make_room(keys.len());
        self.push(part, keys, &[]);
    }

    /// `known`: the known lines that these are, as index + 1, where that was looked up.
    fn push(&mut self, part: PartId, keys: &[LineKey], known: &[u32]) {
        let text = index(self.texts.len());
        let first = self.lines.len();
        for (at, &key) in keys.iter().enumerate() {
            if !key.is_anchor() {
                continue;
            }
            let number = match known.get(at) {
                Some(&number) if number > 0 => number,
                // A line above may have been the first of its kind.
                _ => self.know(key),
            };
            let next = keys.get(at + 1).map_or(0, |next| next.mark());
            let spot = index(self.spots.len() + 1);
            if let Some(known) = self.known.get_mut(number as usize - 1) {
                known.nexts = known.nexts << 8 | u64::from(next);
                self.spots.push(Spot {
                    text,
                    line: index(first + at),
                    older: std::mem::replace(&mut known.newest, spot),
                });
            }
        }
        self.lines.extend_from_slice(keys);
        self.texts.push(Text {
            part,
            end: index(self.lines.len()),
            is_gone: false,
        });
    }

    /// The spot of this index + 1.
    fn spot(&self, number: u32) -> Option<&Spot> {
        self.spots.get((number as usize).checked_sub(1)?)
    }

    /// The known line of this index + 1.
    fn known(&self, number: u32) -> Option<&Known> {
        self.known.get((number as usize).checked_sub(1)?)
    }

    /// The number of a line, which is known from now on.
    fn know(&mut self, key: LineKey) -> u32 {
        let slot = self.slot(key);
        if self.table[slot].number == 0 {
            self.known.push(Known {
                key,
                nexts: 0,
                newest: 0,
            });
            self.table[slot] = Entry {
                tag: key.tag(),
                number: index(self.known.len()),
            };
        }
        self.table[slot].number
    }

    /// The number of a line that may start a run, if it is known; else 0.
    #[inline]
    fn find(&self, key: LineKey) -> u32 {
        if key.is_anchor() {
            self.table[self.slot(key)].number
        } else {
            0
        }
    }

    /// The newest live text that holds the line of this spot, given as index + 1.
    fn newest_live(&self, mut next: u32) -> Option<PartId> {
        for _ in 0..SPOTS_PER_LINE {
            let spot = self.spot(next)?;
            let text = &self.texts[spot.text as usize];
            if !text.is_gone {
                return Some(text.part);
            }
            next = spot.older;
        }
        None
    }

    /// The longest run at the start of `keys`, whose first line is known, that stands in a live text, newest
    /// first.
    #[inline(never)]
    fn longest(&self, known: &Known, keys: &[LineKey]) -> Option<(usize, PartId)> {
        let second = keys.get(1).map_or(0, |key| key.mark());
        let marks = known.nexts.to_le_bytes();
        let mut next = known.newest;
        let mut best: Option<(usize, PartId)> = None;
        for mark in &marks[..SPOTS_PER_LINE] {
            let Some(spot) = self.spot(next) else {
                break;
            };
            next = spot.older;
            if *mark != second && best.is_some() {
                continue;
            }
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

    /// The texts of a part are not there any more.
    pub(super) fn forget(&mut self, part: PartId) {
        let first = self.texts.partition_point(|text| text.part < part);
        let texts = self.texts[first..].iter_mut();
        for text in texts.take_while(|text| text.part == part) {
            text.is_gone = true;
        }
    }

    /// The slot of a line, or the free one where it belongs.
    fn slot(&self, key: LineKey) -> usize {
        let mut slot = key.slot(self.table.len().trailing_zeros());
        loop {
            let Entry { tag, number } = self.table[slot];
            let is_it = || self.known(number).is_none_or(|known| known.key == key);
            if number == 0 || (tag == key.tag() && is_it()) {
                return slot;
            }
            slot = (slot + 1) & (self.table.len() - 1);
        }
    }

    /// Makes room for so many more lines.
    fn make_room(&mut self, lines: usize) {
        let wanted = (self.known.len() + lines) * 2;
        if wanted <= self.table.len() {
            return;
        }
        // No larger than it must be: a lookup waits for memory.
        let slots = wanted.next_power_of_two().max(1 << 10);
        self.table = vec![Entry::default(); slots];
        for at in 0..self.known.len() {
            let key = self.known[at].key;
            let slot = self.slot(key);
            self.table[slot] = Entry {
                tag: key.tag(),
                number: index(at + 1),
            };
        }
    }
}

/// Characters of these lines, counted as far as they matter.
fn chars(lines: Range<usize>, length: &impl Length, size: impl Fn(usize) -> usize) -> usize {
    let mut chars = 0;
    for line in lines {
        chars += size(line);
        if !length.counts_beyond(chars) {
            break;
        }
    }
    chars
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
