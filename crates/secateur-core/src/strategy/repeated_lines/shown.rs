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

    /// The fewest characters with which a run of one line may be enough in any source.
    fn shortest_line(&self) -> usize;

    /// Whether more characters than these could change an answer.
    fn counts_beyond(&self, chars: usize) -> bool;
}

/// Places remembered for one line: the newest.
const SPOTS_PER_LINE: usize = 6;

/// About how many bytes of a conversation bring a line.
const BYTES_PER_LINE: usize = 48;

/// A line that may start a run, however often it stands somewhere. What most lines are decided by is here, in
/// one place: a lookup waits for memory once.
#[derive(Clone, Copy)]
struct Known {
    key: LineKey,
    /// A byte of the mark of the line behind it, for each of its newest spots, the newest lowest: most runs of
    /// one line end without a look at any text.
    nexts: u64,
    /// Its newest spot, and the text that it is in.
    newest: Spot,
    newest_text: u32,
}

impl Known {
    /// A free place: no line that may start a run has the key of one that is gone.
    const NONE: Self = Self {
        key: LineKey::GONE,
        nexts: 0,
        newest: 0,
        newest_text: 0,
    };

    /// Whether the line may stand behind one of the newest spots of this one.
    fn may_precede(&self, line: LineKey) -> bool {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const HIGHS: u64 = 0x8080_8080_8080_8080;
        const OLDER: u64 = u64::MAX << (SPOTS_PER_LINE * 8);
        let differences = self.nexts ^ (ONES * u64::from(line.mark())) | OLDER;
        differences.wrapping_sub(ONES) & !differences & HIGHS != 0
    }
}

/// A place where a line stands, as index in [`Shown::lines`] + 1; 0 is none.
type Spot = u32;

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
    /// For each of them: its text.
    text_of: Vec<u32>,
    /// For each of them that may start a run: the spot of an equal line before it.
    older: Vec<Spot>,
    /// The lines that may start a run, each once. Its length is a power of two, and five of eight places are taken at
    /// most.
    table: Vec<Known>,
    /// How many there are.
    known: usize,
    /// Scratch: where the lines which are looked for stand in the table, as index + 1; 0 is nowhere.
    found: Vec<u32>,
}

impl Shown {
    /// Makes room for the lines of a conversation with so many bytes.
    pub(super) fn expect(&mut self, bytes: usize) {
        if self.table.is_empty() {
            let lines = bytes / BYTES_PER_LINE;
            self.lines.reserve(lines);
            self.text_of.reserve(lines);
            self.older.reserve(lines);
            self.make_room(lines / 5);
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
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        // All at once: the machine waits for many places of the table together.
        found.extend(keys.iter().map(|key| self.find(*key)));
        let shortest = length.shortest_line();
        let mut repeats = Vec::new();
        let mut at = 0;
        while let Some(&number) = found.get(at) {
            let first = at;
            at += 1;
            let Some(known) = self.known(number) else {
                continue;
            };
            let may_go_on = keys.get(at).is_some_and(|next| known.may_precede(*next));
            let longest = if may_go_on {
                self.longest(known, &keys[first..])
            // A run of one line, which most are, is mostly too short wherever it stands.
            } else if size(first) >= shortest {
                self.newest_live(known).map(|source| (1, source))
            } else {
                continue;
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
        self.push(part, keys, &found);
        self.found = found;
        repeats
    }

    /// Takes in a new text as it is.
    pub(super) fn add(&mut self, part: PartId, keys: &[LineKey]) {
        self.make_room(keys.len());
        self.push(part, keys, &[]);
    }

    /// `found`: where these lines stand in the table, as index + 1, if they were looked up and are known.
    fn push(&mut self, part: PartId, keys: &[LineKey], found: &[u32]) {
        let text = index(self.texts.len());
        let first = self.lines.len();
        let end = first + keys.len();
        self.lines.extend_from_slice(keys);
        self.text_of.resize(end, text);
        self.older.resize(end, 0);
        for (at, &key) in keys.iter().enumerate() {
            if !key.is_anchor() {
                continue;
            }
            let number = match found.get(at) {
                Some(&number) if number > 0 => number,
                // A line above may have been the first of its kind.
                _ => self.know(key),
            };
            let next = keys.get(at + 1).map_or(0, |next| next.mark());
            let older = self.older.get_mut(first + at);
            if let (Some(known), Some(older)) = (self.table.get_mut(number as usize - 1), older) {
                known.nexts = known.nexts << 8 | u64::from(next);
                *older = std::mem::replace(&mut known.newest, index(first + at + 1));
                known.newest_text = text;
            }
        }
        self.texts.push(Text {
            part,
            end: index(end),
            is_gone: false,
        });
    }

    /// The text that a spot is in, and the spot of an equal line before it.
    fn at_spot(&self, spot: Spot) -> Option<(&Text, Spot)> {
        let line = (spot as usize).checked_sub(1)?;
        let text = self.texts.get(*self.text_of.get(line)? as usize)?;
        Some((text, *self.older.get(line)?))
    }

    /// The known line of this index + 1.
    #[inline]
    fn known(&self, number: u32) -> Option<&Known> {
        self.table.get((number as usize).checked_sub(1)?)
    }

    /// Where a line stands in the table, as index + 1; it is known from now on.
    fn know(&mut self, key: LineKey) -> u32 {
        let slot = self.slot(key);
        if self.table[slot].key != key {
            self.table[slot] = Known { key, ..Known::NONE };
            self.known += 1;
        }
        index(slot + 1)
    }

    /// Where a line that may start a run stands in the table, as index + 1, if it is known; else 0. Whether it is
    /// cannot be guessed, so nothing here hangs on it.
    #[inline]
    fn find(&self, key: LineKey) -> u32 {
        let first = key.slot(self.table.len().trailing_zeros());
        let there = self.table[first].key;
        // Few lines stand in another's place.
        if there != key && there != LineKey::GONE && key.is_anchor() {
            let slot = self.slot(key);
            return if self.table[slot].key == key {
                index(slot + 1)
            } else {
                0
            };
        }
        u32::from(there == key && key.is_anchor()) * index(first + 1)
    }

    /// The newest live text that holds a line.
    fn newest_live(&self, known: &Known) -> Option<PartId> {
        match self.texts.get(known.newest_text as usize) {
            Some(text) if !text.is_gone => Some(text.part),
            _ => self.older_live(known.newest),
        }
    }

    /// The newest live text that holds the line of this spot or of one before.
    #[inline(never)]
    fn older_live(&self, mut next: Spot) -> Option<PartId> {
        for _ in 0..SPOTS_PER_LINE {
            let (text, older) = self.at_spot(next)?;
            if !text.is_gone {
                return Some(text.part);
            }
            next = older;
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
            let Some((text, older)) = self.at_spot(next) else {
                break;
            };
            let line = next as usize - 1;
            next = older;
            if *mark != second && best.is_some() {
                continue;
            }
            if text.is_gone {
                continue;
            }
            let there = &self.lines[line..text.end as usize];
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
        while self.table[slot].key != key && self.table[slot].key != LineKey::GONE {
            slot = (slot + 1) & (self.table.len() - 1);
        }
        slot
    }

    /// Makes room for so many more lines.
    fn make_room(&mut self, lines: usize) {
        let wanted = (self.known + lines) / 5 * 8 + 8;
        if wanted <= self.table.len() {
            return;
        }
        // No larger than it must be: a lookup waits for memory.
        let slots = wanted.next_power_of_two().max(1 << 10);
        let before = std::mem::replace(&mut self.table, vec![Known::NONE; slots]);
        for known in before.iter().filter(|known| known.key != LineKey::GONE) {
            let slot = self.slot(known.key);
            self.table[slot] = *known;
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
