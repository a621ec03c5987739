//! Hashes: of lines, for strategies that look for equal ones, and for maps with short keys.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

const SEEDS: [u64; 8] = [
    0x9e37_79b9_7f4a_7c15,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
    0x27d4_eb2f_1656_67c5,
    0x8545_9f85_fcb4_5d2b,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
];

/// Hashes of lines, for finding equal lines. They depend on the process's key, so nobody can write a
/// line that passes for another one; what is equal is the same under every key.
#[derive(Debug)]
pub(crate) struct LineHasher {
    /// All of them depend on the key.
    seeds: [u64; 8],
    /// Distinguishes lines of different lengths, up to a window's.
    lengths: [u64; WINDOW + 1],
}

/// Lines that are not longer are hashed without a loop.
const WINDOW: usize = 64;

impl LineHasher {
    /// The one with the process's key, which is drawn once.
    #[inline]
    pub(crate) fn of_process() -> &'static Self {
        static OF_PROCESS: OnceLock<LineHasher> = OnceLock::new();
        OF_PROCESS.get_or_init(|| Self::with(RandomState::new().hash_one(SEEDS)))
    }

    fn with(key: u64) -> Self {
        let seeds = SEEDS.map(|seed| seed ^ key);
        let length = |length: usize| mix(length as u64 ^ seeds[2], seeds[3]);
        Self {
            seeds,
            lengths: std::array::from_fn(length),
        }
    }

    /// The hash of some bytes among others: one check whether a window's bytes are there, instead of one per block.
    #[inline(always)]
    pub(crate) fn hash_at(&self, bytes: &[u8], start: usize, end: usize) -> u64 {
        let length = end - start;
        match bytes.get(start..).and_then(<[u8]>::first_chunk) {
            Some(window) if length <= WINDOW => self.hash_in(window, length),
            _ => self.hash(&bytes[start..end]),
        }
    }

    /// The hash of a window's first bytes.
    #[inline(always)]
    fn hash_in(&self, window: &[u8; WINDOW], length: usize) -> u64 {
        let state = if length >= 16 {
            self.overlapping(window, length)
        } else {
            /// At n: all bits of the first n bytes.
            static FIRST: [u128; 16] = {
                let mut masks = [0; 16];
                let mut length = 1;
                while length < 16 {
                    masks[length] = u128::MAX >> (128 - 8 * length);
                    length += 1;
                }
                masks
            };
            let first = u128::from_le_bytes(*block(window, 0)) & FIRST[length];
            self.few(first)
        };
        state ^ self.lengths[length]
    }

    /// The hash of all bytes.
    #[inline(always)]
    pub(crate) fn hash(&self, bytes: &[u8]) -> u64 {
        let state = match bytes.len() {
            ..16 => self.few(number(bytes)),
            16..=WINDOW => self.overlapping(bytes, bytes.len()),
            length => {
                return mix(
                    self.long(bytes) ^ self.seeds[2],
                    length as u64 ^ self.seeds[3],
                );
            }
        };
        state ^ self.lengths[bytes.len()]
    }

    /// Of at least 16 bytes, and no more than a window has: blocks overlap in the middle, so that no loop depends on
    /// the length.
    #[inline(always)]
    fn overlapping(&self, bytes: &[u8], length: usize) -> u64 {
        let first = block(bytes, 0);
        let second = block(bytes, (length - 16).min(16));
        let third = block(bytes, length.saturating_sub(32));
        let last = block(bytes, length - 16);
        let [one, two, three, four] = [first, second, third, last].map(words);
        let seeds = &self.seeds;
        // Written in different ways on purpose: written alike, the compiler packs them into vectors and unpacks them again.
        mix(one.0 ^ seeds[0], one.1.wrapping_add(seeds[1]))
            ^ mix(two.0.wrapping_add(seeds[2]), two.1 ^ seeds[3])
            ^ mix(seeds[4].wrapping_sub(three.0), three.1 ^ seeds[5])
            ^ mix(four.0 ^ seeds[6], seeds[7].wrapping_sub(four.1))
    }

    /// Of fewer than 16 bytes, with zeros after them.
    #[inline(always)]
    fn few(&self, bytes: u128) -> u64 {
        let (one, other) = words(&bytes.to_le_bytes());
        mix(one ^ self.seeds[0], other ^ self.seeds[1])
    }

    /// Of more than 64 bytes.
    #[inline(never)]
    fn long(&self, bytes: &[u8]) -> u64 {
        let last = bytes.len() - 64;
        let mut state = 0;
        for at in (0..last).step_by(32) {
            let halves = self.pair(block(bytes, at), 0) ^ self.pair(block(bytes, at + 16), 2);
            state = mix(state ^ halves, self.seeds[4]);
        }
        let places = [0, 16, 32, 48];
        let ends = places.map(|at| self.pair(block(bytes, last + at), at / 8));
        ends.iter().fold(state, |state, end| state ^ end)
    }

    /// Of 16 bytes. Each place has seeds of its own.
    #[inline(always)]
    fn pair(&self, block: &[u8; 16], seed: usize) -> u64 {
        let (low, high) = words(block);
        mix(low ^ self.seeds[seed], high ^ self.seeds[seed + 1])
    }
}

/// Fewer than 16 bytes, and zeros after them.
#[inline(always)]
fn number(bytes: &[u8]) -> u128 {
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => {
            let behind = u64::from_le_bytes(*last).unbounded_shr(8 * (16 - bytes.len() as u32));
            u128::from(u64::from_le_bytes(*first)) | u128::from(behind) << 64
        }
        _ => {
            let number = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
            u128::from(bytes.iter().rev().fold(0u64, number))
        }
    }
}

/// The two words of a block.
#[inline(always)]
fn words(block: &[u8; 16]) -> (u64, u64) {
    let (words, _) = block.as_chunks::<8>();
    (u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1]))
}

/// The block at a place where there is one.
#[inline(always)]
fn block(bytes: &[u8], at: usize) -> &[u8; 16] {
    let block = bytes.get(at..).and_then(<[u8]>::first_chunk);
    block.unwrap_or(&[0; 16])
}

/// Both halves of the product.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the halves of a product")]
fn mix(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

/// A map for short keys out of a body. Its hashes depend on the process's key, so nobody can send names which all
/// collide. What a strategy decides must not depend on the map's order.
pub(crate) type QuickMap<K, V> = HashMap<K, V, Keyed>;

/// An empty map with room.
pub(crate) fn quick_map<K, V>(room: usize) -> QuickMap<K, V> {
    HashMap::with_capacity_and_hasher(room, Keyed::default())
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed(&'static LineHasher);

impl Default for Keyed {
    fn default() -> Self {
        Self(LineHasher::of_process())
    }
}

impl BuildHasher for Keyed {
    type Hasher = KeyedHasher;

    #[inline]
    fn build_hasher(&self) -> KeyedHasher {
        let Self(hasher) = *self;
        KeyedHasher {
            hasher,
            state: hasher.seeds[0],
        }
    }
}

#[derive(Debug)]
pub(crate) struct KeyedHasher {
    hasher: &'static LineHasher,
    state: u64,
}

impl Hasher for KeyedHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.write_u64(self.hasher.hash(bytes));
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.state = mix(self.state ^ number, self.hasher.seeds[1]);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_hash(bytes: &[u8]) -> u64 {
        LineHasher::of_process().hash(bytes)
    }

    #[test]
    fn every_byte_and_the_length_count() {
        let mut seen = std::collections::HashSet::new();
        for length in 0..200 {
            let mut line = vec![b'x'; length];
            assert!(seen.insert(line_hash(&line)), "{length}");
            for at in 0..length {
                line[at] = b'y';
                assert!(seen.insert(line_hash(&line)), "{length} {at}");
                line[at] = b'x';
            }
        }
    }

    #[test]
    fn another_key_gives_another_hash() {
        for length in 0..200 {
            let line = vec![b'x'; length];
            let keys = [0, 1, 1 << 63, 0x1234_5678];
            let hashes = keys.map(|key| LineHasher::with(key).hash(&line));
            for (at, hash) in hashes.iter().enumerate() {
                assert!(!hashes[..at].contains(hash), "{length} {at}");
            }
        }
    }

    #[test]
    fn a_map_tells_keys_and_pairs_of_keys_apart() {
        let mut map: QuickMap<(String, String), usize> = quick_map(8);
        let keys = ["", "a", "ab", "b", "toolu_0123456789abcdefghijklmnop", "é"];
        for (at, one) in keys.iter().enumerate() {
            for (behind, other) in keys.iter().enumerate() {
                let key = ((*one).to_owned(), (*other).to_owned());
                assert_eq!(map.insert(key, at * 10 + behind), None);
            }
        }
        assert_eq!(map[&("ab".to_owned(), String::new())], 20);
        assert_eq!(map[&("a".to_owned(), "b".to_owned())], 13);
    }

    #[test]
    fn the_order_of_bytes_counts() {
        for length in 2..150 {
            let line: Vec<u8> = (0..length).collect();
            for at in 1..line.len() {
                let mut other = line.clone();
                other.swap(at - 1, at);
                assert_ne!(line_hash(&line), line_hash(&other), "{length} {at}");
            }
            let mut turned = line.clone();
            turned.rotate_left(line.len() / 2);
            assert_ne!(line_hash(&line), line_hash(&turned), "{length}");
        }
    }
}
