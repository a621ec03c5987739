//! Finds a line by its hash, if no other line of the text has it.

/// A table with open addressing. An entry holds the upper half of a hash and the line's number + 1; 0 is free.
/// Never more than half full; its length is a power of two.
#[derive(Debug)]
pub(super) struct Index {
    table: Vec<u64>,
    hashes: Vec<u64>,
    /// For each line: whether it has a hash that no other line has.
    is_single: Vec<bool>,
}

impl Index {
    /// Of lines with these hashes; 0 is none.
    pub(super) fn of(hashes: impl Iterator<Item = u64>) -> Self {
        let hashes: Vec<u64> = hashes.collect();
        let mut index = Self {
            table: vec![0; (hashes.len() * 2 + 1).next_power_of_two()],
            is_single: vec![false; hashes.len()],
            hashes,
        };
        for line in 0..index.hashes.len() {
            let hash = index.hashes[line];
            if hash == 0 {
                continue;
            }
            let (slot, other) = index.look_up(hash);
            match other {
                Some(other) => index.is_single[other] = false,
                None => {
                    index.is_single[line] = true;
                    index.table[slot] = upper(hash) | (line as u64 + 1);
                }
            }
        }
        index
    }

    /// The lines with a hash of their own, in order.
    pub(super) fn singles(&self) -> impl Iterator<Item = usize> {
        let lines = self.is_single.iter().enumerate();
        lines.filter_map(|(line, is_single)| is_single.then_some(line))
    }

    /// The only line with this hash.
    pub(super) fn find(&self, hash: u64) -> Option<usize> {
        self.look_up(hash).1.filter(|&line| self.is_single[line])
    }

    /// The slot of a hash, and the first line that has it.
    fn look_up(&self, hash: u64) -> (usize, Option<usize>) {
        let mask = self.table.len() - 1;
        let mut slot = lower(hash) & mask;
        loop {
            let entry = self.table[slot];
            if entry == 0 {
                return (slot, None);
            }
            if upper(entry) == upper(hash) {
                let line = lower(entry) - 1;
                if self.hashes[line] == hash {
                    return (slot, Some(line));
                }
            }
            slot = (slot + 1) & mask;
        }
    }
}

fn upper(hash: u64) -> u64 {
    hash & !u64::from(u32::MAX)
}

fn lower(hash: u64) -> usize {
    (hash & u64::from(u32::MAX)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_there_once() {
        let hashes = [7, 0, 9, 7, 1 << 40 | 9, 0, 1 << 40];
        let index = Index::of(hashes.into_iter());
        assert_eq!(index.find(7), None, "twice");
        assert_eq!(index.find(9), Some(2));
        assert_eq!(index.find(1 << 40 | 9), Some(4), "the same slot");
        assert_eq!(index.find(1 << 40), Some(6));
        assert_eq!(index.find(5), None);
        assert_eq!(index.singles().collect::<Vec<_>>(), [2, 4, 6]);
    }
}
