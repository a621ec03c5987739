//! Hashes of lines, for strategies that look for equal ones.

const SEEDS: [u64; 5] = [
    0x9e37_79b9_7f4a_7c15,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
    0x27d4_eb2f_1656_67c5,
    0x8545_9f85_fcb4_5d2b,
];

/// A hash of a line that is the same on every machine. Most lines take one of three straight ways: their halves
/// overlap in the middle, so that no loop depends on the length.
#[inline]
pub(super) fn line_hash(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    let state = match length {
        0..8 => mix(short(bytes) ^ SEEDS[0], SEEDS[1]),
        8..=16 => mix(
            word(bytes, 0) ^ SEEDS[0],
            word(bytes, length - 8) ^ SEEDS[1],
        ),
        17..=32 => pair(bytes, 0, 0) ^ pair(bytes, length - 16, 1),
        33..=64 => halves(bytes, 0, 0) ^ halves(bytes, length - 32, 2),
        _ => {
            let mut state = 0;
            for at in (0..length - 64).step_by(32) {
                state = mix(state ^ halves(bytes, at, 0), SEEDS[4]);
            }
            state ^ halves(bytes, length - 64, 0) ^ halves(bytes, length - 32, 2)
        }
    };
    mix(state ^ SEEDS[2], length as u64 ^ SEEDS[3])
}

/// Of 32 bytes.
#[inline]
fn halves(bytes: &[u8], at: usize, seed: usize) -> u64 {
    pair(bytes, at, seed) ^ pair(bytes, at + 16, seed + 1)
}

/// Of 16 bytes. Each place has seeds of its own.
#[inline]
fn pair(bytes: &[u8], at: usize, seed: usize) -> u64 {
    mix(
        word(bytes, at) ^ SEEDS[seed],
        word(bytes, at + 8) ^ SEEDS[seed + 1],
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
