//! Hashes: of lines, for strategies that look for equal ones, and for maps with short keys.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

const SEEDS: [u64; 5] = [
    0x9e37_79b9_7f4a_7c15,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
    0x27d4_eb2f_1656_67c5,
    0x8545_9f85_fcb4_5d2b,
];

/// A hash of a line, for telling whether two lines are equal. It depends on the process's key, so nobody can write a
/// line that passes for another one; what is equal is the same under every key.
#[inline]
pub(crate) fn line_hash(bytes: &[u8]) -> u64 {
    keyed_hash(bytes, process_key())
}

/// Drawn once.
#[inline]
fn process_key() -> u64 {
    static KEY: OnceLock<u64> = OnceLock::new();
    *KEY.get_or_init(|| RandomState::new().hash_one(SEEDS))
}

/// Most lines take one of three straight ways: their halves overlap in the middle, so that no loop depends on the
/// length.
#[inline]
fn keyed_hash(bytes: &[u8], key: u64) -> u64 {
    let length = bytes.len();
    let pair = |at, seed| pair(bytes, at, key, seed);
    // Of 32 bytes.
    let halves = |at, seed| pair(at, seed) ^ pair(at + 16, seed + 1);
    let state = match length {
        0..8 => mix(short(bytes) ^ SEEDS[0] ^ key, SEEDS[1]),
        8..=16 => mix(
            word(bytes, 0) ^ SEEDS[0] ^ key,
            word(bytes, length - 8) ^ SEEDS[1] ^ key,
        ),
        17..=32 => pair(0, 0) ^ pair(length - 16, 1),
        33..=64 => halves(0, 0) ^ halves(length - 32, 2),
        _ => {
            let mut state = 0;
            for at in (0..length - 64).step_by(32) {
                state = mix(state ^ halves(at, 0), SEEDS[4]);
            }
            state ^ halves(length - 64, 0) ^ halves(length - 32, 2)
        }
    };
    mix(state ^ SEEDS[2], length as u64 ^ SEEDS[3])
}

/// Of 16 bytes. Each place has seeds of its own.
#[inline]
fn pair(bytes: &[u8], at: usize, key: u64, seed: usize) -> u64 {
    mix(
        word(bytes, at) ^ SEEDS[seed] ^ key,
        word(bytes, at + 8) ^ SEEDS[seed + 1] ^ key,
    )
}

/// Eight bytes as a number.
#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    let chunk = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>);
    chunk.map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

/// Fewer than eight bytes as a number.
fn short(bytes: &[u8]) -> u64 {
    let number = |number, &byte: &u8| number << 8 | u64::from(byte);
    bytes.iter().fold(0, number)
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
pub(crate) struct Keyed(u64);

impl Default for Keyed {
    fn default() -> Self {
        Self(process_key())
    }
}

impl BuildHasher for Keyed {
    type Hasher = KeyedHasher;

    #[inline]
    fn build_hasher(&self) -> KeyedHasher {
        let Self(key) = *self;
        KeyedHasher { key, state: key }
    }
}

#[derive(Debug)]
pub(crate) struct KeyedHasher {
    key: u64,
    state: u64,
}

impl Hasher for KeyedHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.write_u64(keyed_hash(bytes, self.key));
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
        self.state = mix(self.state ^ number, SEEDS[1] ^ self.key);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let hashes = [0, 1, 1 << 63, 0x1234_5678].map(|key| keyed_hash(&line, key));
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
