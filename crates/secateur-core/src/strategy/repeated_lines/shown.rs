//! All lines that are whole in the context, and where the same lines stand.

use super::line_key::LineKey;
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
}

/// Places remembered for one line: the newest.
const SPOTS_PER_LINE: usize = 6;

/// About how many bytes of a conversation bring a line.
const BYTES_PER_LINE: usize = 96;

/// A place where a line stands that may start a run.
#[derive(Clone, Copy)]
struct Spot {
    key: LineKey,
    /// A byte of the mark of the line behind it, below those of the spots of equal lines before it: most runs
    /// of one line end without a look at any text.
    nexts: u64,
    text: u32,
    /// Index in [`Shown::lines`].
    line: u32,
    /// The spot of an equal line before it, as index + 1; 0 is none.
    older: u32,
}

impl Spot {
    /// Whether the line may stand behind one of the newest spots of this one's line.
    fn may_precede(&self, line: LineKey) -> bool {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const HIGHS: u64 = 0x8080_8080_8080_8080;
        const OLDER: u64 = u64::MAX << (SPOTS_PER_LINE * 8);
        let differences = self.nexts ^ (ONES * u64::from(line.mark())) | OLDER;
        differences.wrapping_sub(ONES) & !differences & HIGHS != 0
    }
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
    /// For each slot the newest spot of a line, as index + 1; 0 is free. Never more than half full; its
    /// length is a power of two.
    newest: Vec<u32>,
    /// Scratch: the slots of the lines that are looked for.
    slots: Vec<u32>,
}

impl Shown {
    /// Makes room once for the lines of a conversation with so many bytes.
    pub(super) fn expect(&mut self, bytes: usize) {
        if self.newest.is_empty() {
            let lines = bytes / BYTES_PER_LINE;
            self.make_room(lines);
            self.spots.reserve(lines);
            self.lines.reserve(lines);
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
        let mut slots = std::mem::take(&mut self.slots);
        slots.clear();
        slots.resize(keys.len(), 0);
        let mut found = Vec::new();
        let mut at = 0;
        while let (Some(key), Some(slot_of_line)) = (keys.get(at), slots.get_mut(at)) {
            at += 1;
            if !key.is_anchor() {
                continue;
            }
            let slot = self.slot(*key);
            *slot_of_line = index(slot);
            let Some(spot) = self.spot(self.newest[slot]) else {
                continue;
            };
            let first = at - 1;
            let may_go_on = keys.get(at).is_some_and(|next| spot.may_precede(*next));
            // A run of one line, which most are, is mostly too short wherever it stands.
            if !may_go_on && !length.may_be_enough(1, size(first)) {
                continue;
            }
            if let Some((lines, source)) = self.longest(self.newest[slot], &keys[first..])
                && length.is_enough(lines, (first..first + lines).map(&size).sum(), source)
            {
                at = first + lines;
                found.push(Repeat {
                    first,
                    lines,
                    source,
                });
            }
        }
        for repeat in &found {
            keys[repeat.first..repeat.first + repeat.lines].fill(LineKey::GONE);
        }
        self.push(part, keys, &slots);
        self.slots = slots;
        found
    }

    /// Takes in a new text as it is.
    pub(super) fn add(&mut self, part: PartId, keys: &[LineKey]) {
        self.make_room(keys.len());
        let slots: Vec<u32> = keys.iter().map(|key| index(self.home(*key))).collect();
        self.push(part, keys, &slots);
    }

    /// `slots`: where to begin to look for each line's slot.
    fn push(&mut self, part: PartId, keys: &[LineKey], slots: &[u32]) {
        let text = index(self.texts.len());
        let first = self.lines.len();
        for (at, (&key, &slot)) in keys.iter().zip(slots).enumerate() {
            if !key.is_anchor() {
                continue;
            }
            let slot = self.slot_from(slot as usize, key);
            let older = self.newest[slot];
            let nexts = self.spot(older).map_or(0, |spot| spot.nexts << 8);
            let next = keys.get(at + 1).map_or(0, |next| next.mark());
            self.spots.push(Spot {
                key,
                nexts: nexts | u64::from(next),
                text,
                line: index(first + at),
                older,
            });
            self.newest[slot] = index(self.spots.len());
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

    /// The longest run at the start of `keys` that stands in a live text, newest first. `next`: the newest
    /// spot of the first line, as index + 1.
    #[inline(never)]
    fn longest(&self, mut next: u32, keys: &[LineKey]) -> Option<(usize, PartId)> {
        let second = keys.get(1).map_or(0, |key| key.mark());
        let mut best: Option<(usize, PartId)> = None;
        for _ in 0..SPOTS_PER_LINE {
            let Some(spot) = self.spot(next) else {
                break;
            };
            next = spot.older;
            let may_go_on = spot.nexts.to_le_bytes()[0] == second;
            if !may_go_on && best.is_some() {
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

    /// Where the search for a line's slot begins.
    fn home(&self, key: LineKey) -> usize {
        key.slot(self.newest.len().trailing_zeros())
    }

    /// The slot of a line, or the free one where it belongs.
    fn slot(&self, key: LineKey) -> usize {
        self.slot_from(self.home(key), key)
    }

    fn slot_from(&self, mut slot: usize, key: LineKey) -> usize {
        loop {
            match self.newest[slot].checked_sub(1) {
                Some(spot) if self.spots[spot as usize].key != key => {
                    slot = (slot + 1) & (self.newest.len() - 1);
                }
                _ => return slot,
            }
        }
    }

    /// Makes room for so many more lines.
    fn make_room(&mut self, lines: usize) {
        let wanted = (self.spots.len() + lines) * 2;
        if wanted < self.newest.len() {
            return;
        }
        let length = (wanted + 1).next_power_of_two().max(self.newest.len() * 2);
        self.newest = vec![0; length.max(1 << 10)];
        for at in 0..self.spots.len() {
            let slot = self.slot(self.spots[at].key);
            self.newest[slot] = index(at + 1);
        }
    }
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
