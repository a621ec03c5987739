//! All lines that are whole in the context, and where equal lines were shown.
//!
//! **Invariant:** lines are found by their hashes and compared by their bytes. Lines that differ are never taken for
//! repeated, whatever their hashes are.

use std::hint::select_unpredictable;
use std::ops::Range;

use crate::read::view::PartId;
use crate::text::line_facts::{LineKey, have_same_content};
use crate::text::spelling::Spelling;

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

/// A text that arrives: its part, its bytes, and how they are written.
#[derive(Clone, Copy)]
pub(super) struct NewText<'t> {
    pub(super) part: PartId,
    /// The body of the request.
    pub(super) body: &'t str,
    /// The text: a part of the body, or decoded from it.
    pub(super) bytes: &'t [u8],
    pub(super) spelling: Spelling,
}

impl NewText<'_> {
    /// Where in the body the text is; `None` if it was decoded.
    fn place_in_body(&self) -> Option<usize> {
        let start = self.bytes.as_ptr().addr();
        let start = start.checked_sub(self.body.as_ptr().addr())?;
        (start + self.bytes.len() <= self.body.len()).then_some(start)
    }
}

/// Places remembered for one line: the newest.
const SPOTS_PER_LINE: usize = 6;

/// About how many bytes of a conversation bring a line.
const BYTES_PER_LINE: usize = 48;

/// A line that may start a run, however often it occurs. What most lines are decided by is here, in
/// one place.
#[derive(Clone, Copy)]
struct Known {
    key: LineKey,
    /// A byte of the mark of the line after it, for each of its newest spots, the newest lowest: most runs of
    /// one line end without reading any text.
    nexts: u64,
    /// Its newest spot, and the text that it is in.
    newest: Spot,
    newest_text: u32,
}

impl Known {
    /// No line: none that may start a run has the key of one that is gone.
    const NONE: Self = Self {
        key: LineKey::GONE,
        nexts: 0,
        newest: 0,
        newest_text: 0,
    };

    /// Whether the line may follow one of the newest spots of this one.
    #[inline(always)]
    fn may_precede(&self, line: LineKey) -> bool {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const HIGHS: u64 = 0x8080_8080_8080_8080;
        const OLDER: u64 = u64::MAX << (SPOTS_PER_LINE * 8);
        let differences = self.nexts ^ (ONES * u64::from(line.mark())) | OLDER;
        differences.wrapping_sub(ONES) & !differences & HIGHS != 0
    }
}

/// The index of a line in [`Shown::known`]; 0 is none.
type Number = u32;

/// An occurrence of a line, as index in [`Shown::lines`] + 1; 0 is none.
type Spot = u32;

/// What is known of a spot.
#[derive(Clone, Copy)]
struct Place {
    text: u32,
    /// For a line that may start a run: the spot of an equal line before it.
    older: Spot,
}

struct Text {
    part: PartId,
    /// One past its last line in [`Shown::lines`].
    end: u32,
    is_gone: bool,
    spelling: Spelling,
    /// Whether its bytes are in [`Shown::copies`], and not in the body.
    is_copied: bool,
}

/// All lines that the conversation still shows whole, and where.
#[derive(Default)]
pub(super) struct Shown {
    /// In the order of their parts.
    texts: Vec<Text>,
    /// The lines of all texts, one text after the other.
    lines: Vec<LineKey>,
    /// For each of them.
    places: Vec<Place>,
    /// For each of them: where its bytes start and end, without the newline, in the body or in `copies`.
    spans: Vec<(u32, u32)>,
    /// Texts that the body does not hold as they are compared.
    copies: Vec<u8>,
    /// The lines that may start a run, each once, after one that is none.
    known: Vec<Known>,
    /// Where to find them. Its length is a power of two, and at most one slot in four is used: few lines are in
    /// another's place, so the machine can guess that none does.
    table: Vec<Number>,
    /// Scratch: the numbers of the lines that are searched for.
    found: Vec<Number>,
    /// Scratch: those of them that may start a run which is long enough.
    starts: Vec<u32>,
}

impl Shown {
    /// Makes room for the lines of a conversation with so many bytes.
    pub(super) fn expect(&mut self, bytes: usize) {
        if self.table.is_empty() {
            let lines = bytes / BYTES_PER_LINE;
            self.lines.reserve(lines);
            self.places.reserve(lines);
            self.spans.reserve(lines);
            self.known.reserve(lines / 5);
            self.known.push(Known::NONE);
            self.make_room(lines / 5);
        }
    }

    /// Finds the runs of a new text that live texts hold, at each line the longest of the candidates, greedy
    /// from the top; takes in the other lines. `line` gives the position of a line in the text, `size` how many characters it
    /// has, `most` an upper bound of that, which is faster to compute.
    pub(super) fn take_in(
        &mut self,
        text: NewText<'_>,
        keys: &[LineKey],
        line: impl Fn(usize) -> Range<usize>,
        length: &impl Length,
        size: impl Fn(usize) -> usize,
        most: impl Fn(usize) -> usize,
    ) -> Vec<Repeat> {
        self.make_room(keys.len());
        let mut found = std::mem::take(&mut self.found);
        let mut starts = std::mem::take(&mut self.starts);
        let shortest = length.shortest_line();
        let may_be_alone = |at| most(at) >= shortest;
        self.find_all(keys, may_be_alone, &mut found, &mut starts);
        let mut repeats = Vec::new();
        let mut at = 0;
        for &first in &starts {
            let first = first as usize;
            if first < at {
                continue;
            }
            let known = &self.known[found[first] as usize];
            let may_go_on = keys
                .get(first + 1)
                .is_some_and(|next| known.may_precede(*next));
            let longest = if may_go_on {
                self.longest(known, &keys[first..])
            // A run of one line, which most are, is mostly too short wherever it occurs.
            } else if size(first) >= shortest {
                self.newest_live(known).map(|spot| (1, spot))
            } else {
                continue;
            };
            let longest = longest.and_then(|(lines, spot)| {
                let lines = self.equal_lines(text, (first..first + lines).map(&line), spot);
                let (source, _) = self.at_spot(spot)?;
                (lines > 0).then_some((lines, source.part))
            });
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
        let start = self.lines.len();
        self.lines.extend_from_slice(keys);
        for repeat in &repeats {
            let first = start + repeat.first;
            self.lines[first..first + repeat.lines].fill(LineKey::GONE);
        }
        self.push(text, start, (0..keys.len()).map(line), &mut found);
        self.found = found;
        self.starts = starts;
        repeats
    }

    /// The numbers of these lines, and which of them may start a run that is long enough: one that may go on, or
    /// one of a single line, which few are long enough for.
    ///
    /// Whether a line is known, and whether a run may go on after it, cannot be guessed, so nothing here hangs on
    /// it: the machine waits for many places of the table together.
    fn find_all(
        &self,
        keys: &[LineKey],
        may_be_alone: impl Fn(usize) -> bool,
        found: &mut Vec<Number>,
        starts: &mut Vec<u32>,
    ) {
        let (table, known) = (&self.table[..], &self.known[..]);
        found.clear();
        found.extend(keys.iter().map(|key| table[key.literal(table.len())]));
        starts.clear();
        starts.resize(keys.len(), 0);
        let starts_here = &mut starts[..keys.len()];
        let mut count = 0;
        for (at, (&key, found)) in keys.iter().zip(found.iter_mut()).enumerate() {
            let number = *found;
            let there = &known[number as usize];
            let is_it = there.key == key;
            let next = keys.get(at + 1).copied().unwrap_or(LineKey::GONE);
            let may_start = is_it & (there.may_precede(next) | may_be_alone(at));
            starts_here[count] = index(at);
            count += usize::from(may_start);
            *found = select_unpredictable(is_it, number, 0);
            // Few lines are in another's slot.
            if !is_it & (number != 0) & key.is_anchor() {
                *found = self.find_further(key);
                starts_here[count] = index(at);
                count += usize::from(*found > 0);
            }
        }
        starts.truncate(count);
    }

    /// Takes in a new text as it is: its lines, and where in the text they are.
    pub(super) fn add(
        &mut self,
        text: NewText<'_>,
        keys: impl Iterator<Item = LineKey>,
        lines: impl Iterator<Item = Range<usize>>,
    ) {
        let start = self.lines.len();
        self.lines.extend(keys);
        let count = self.lines.len() - start;
        self.make_room(count);
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        found.resize(count, 0);
        self.push(text, start, lines, &mut found);
        self.found = found;
    }

    /// Takes in the lines from `start` on as a new text. `spans`: where in the text they are; `found`: their numbers,
    /// or 0.
    fn push(
        &mut self,
        source: NewText<'_>,
        start: usize,
        spans: impl Iterator<Item = Range<usize>>,
        found: &mut [Number],
    ) {
        let place = source.place_in_body();
        let base = place.unwrap_or(self.copies.len());
        let span = |line: Range<usize>| (index(base + line.start), index(base + line.end));
        self.spans.extend(spans.map(span));
        if place.is_none() {
            self.copies.extend_from_slice(source.bytes);
        }
        for (at, number) in (start..).zip(found.iter_mut()) {
            let key = self.lines[at];
            if *number == 0 && key.is_anchor() {
                // A line above may have been the first of its kind.
                *number = self.know(key);
            }
        }
        let text = index(self.texts.len());
        let end = self.lines.len();
        self.places.resize(end, Place { text, older: 0 });
        let lines = &self.lines[start..];
        let places = lines.iter().zip(&mut self.places[start..]);
        for (at, ((key, place), &number)) in places.zip(&*found).enumerate() {
            if key.is_anchor() {
                let next = lines.get(at + 1).map_or(0, |next| next.mark());
                let known = &mut self.known[number as usize];
                known.nexts = known.nexts << 8 | u64::from(next);
                place.older = std::mem::replace(&mut known.newest, index(start + at + 1));
                known.newest_text = text;
            }
        }
        self.texts.push(Text {
            part: source.part,
            end: index(end),
            is_gone: false,
            spelling: source.spelling,
            is_copied: place.is_none(),
        });
    }

    /// How many of these lines of a new text, from the first one on, are equal to those at a spot and after it.
    fn equal_lines(
        &self,
        new: NewText<'_>,
        lines: impl Iterator<Item = Range<usize>>,
        spot: Spot,
    ) -> usize {
        let Some((old, _)) = self.at_spot(spot) else {
            return 0;
        };
        let bytes = match old.is_copied {
            true => &self.copies[..],
            false => new.body.as_bytes(),
        };
        let spans = &self.spans[spot as usize - 1..old.end as usize];
        let is_equal = |(line, span): &(Range<usize>, &(u32, u32))| {
            let (start, end) = (span.0 as usize, span.1 as usize);
            let (Some(new_line), Some(old_line)) =
                (new.bytes.get(line.clone()), bytes.get(start..end))
            else {
                return false;
            };
            have_same_content((new_line, new.spelling), (old_line, old.spelling))
        };
        lines.zip(spans).take_while(is_equal).count()
    }

    /// The text that a spot is in, and the spot of an equal line before it.
    #[inline]
    fn at_spot(&self, spot: Spot) -> Option<(&Text, Spot)> {
        let place = self.places.get((spot as usize).checked_sub(1)?)?;
        Some((self.texts.get(place.text as usize)?, place.older))
    }

    /// The number of a line that may start a run; it is known from now on.
    fn know(&mut self, key: LineKey) -> Number {
        let literal = self.literal(key);
        if self.table[literal] == 0 {
            self.table[literal] = index(self.known.len());
            self.known.push(Known { key, ..Known::NONE });
        }
        self.table[literal]
    }

    /// The number of a line whose slot holds another one, if it is known; else 0.
    #[cold]
    #[inline(never)]
    fn find_further(&self, key: LineKey) -> Number {
        self.table[self.literal(key)]
    }

    /// The newest spot of a line in a live text.
    fn newest_live(&self, known: &Known) -> Option<Spot> {
        match self.texts.get(known.newest_text as usize) {
            Some(text) if !text.is_gone => Some(known.newest),
            _ => self.older_live(known.newest),
        }
    }

    /// The newest spot in a live text, this one or one before.
    #[inline(never)]
    fn older_live(&self, mut next: Spot) -> Option<Spot> {
        for _ in 0..SPOTS_PER_LINE {
            let (text, older) = self.at_spot(next)?;
            if !text.is_gone {
                return Some(next);
            }
            next = older;
        }
        None
    }

    /// The longest run at the start of `keys`, whose first line is known, that a live text has by its hashes, newest
    /// first.
    #[inline(never)]
    fn longest(&self, known: &Known, keys: &[LineKey]) -> Option<(usize, Spot)> {
        let second = keys.get(1).map_or(0, |key| key.mark());
        let marks = known.nexts.to_le_bytes();
        let marks = &marks[..SPOTS_PER_LINE];
        let last_alike = marks.iter().rposition(|mark| *mark == second);
        let mut next = known.newest;
        let mut best: Option<(usize, Spot)> = None;
        for (at, mark) in marks.iter().enumerate() {
            if best.is_some() && Some(at) > last_alike {
                break;
            }
            let Some((text, older)) = self.at_spot(next) else {
                break;
            };
            let spot = std::mem::replace(&mut next, older);
            let line = spot as usize - 1;
            if *mark != second && best.is_some() {
                continue;
            }
            if text.is_gone {
                continue;
            }
            // The line itself is there, and its mark differs between most lines after it.
            let same = if *mark == second {
                let there = &self.lines[line..text.end as usize];
                keys.iter().zip(there).take_while(|(a, b)| a == b).count()
            } else {
                1
            };
            if best.is_none_or(|(lines, _)| same > lines) {
                best = Some((same, spot));
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
    fn literal(&self, key: LineKey) -> usize {
        let mut literal = key.literal(self.table.len());
        while self.table[literal] != 0 && self.known[self.table[literal] as usize].key != key {
            literal = (literal + 1) & (self.table.len() - 1);
        }
        literal
    }

    /// Makes room for so many more lines.
    fn make_room(&mut self, lines: usize) {
        let wanted = (self.known.len() + lines) * 4;
        if wanted <= self.table.len() {
            return;
        }
        self.table.clear();
        self.table
            .resize(wanted.next_power_of_two().max(1 << 10), 0);
        for number in 1..self.known.len() {
            let literal = self.literal(self.known[number].key);
            self.table[literal] = index(number);
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

#[cfg(test)]
mod tests;
