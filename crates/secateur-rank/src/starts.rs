//! The beginnings of the words that are searched for: most words of a text are rejected here.

/// A set of two-byte beginnings, some of which share a place. Stemming leaves the first two bytes of a
/// word alone, so a word can be judged before it is stemmed and hashed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Starts([u64; 16]);

impl Starts {
    /// Every beginning.
    pub(crate) const ALL: Self = Self([u64::MAX; 16]);
    pub(crate) const NONE: Self = Self([0; 16]);

    /// The place of a word's beginning.
    pub(crate) fn of(word: &[u8]) -> u16 {
        let byte = |at: usize| word.get(at).map_or(0, |byte| u16::from(byte & 31));
        byte(0) << 5 | byte(1)
    }

    pub(crate) fn insert(&mut self, start: u16) {
        self.0[usize::from(start >> 6) & 15] |= 1 << (start & 63);
    }

    pub(crate) fn may_hold(&self, start: u16) -> bool {
        self.0[usize::from(start >> 6) & 15] >> (start & 63) & 1 == 1
    }
}
