//! Hashes of lines, for strategies that look for equal ones.

/// A hash of a line that is the same on every machine. Sixteen bytes a step.
pub(super) fn line_hash(bytes: &[u8]) -> u64 {
    const SEEDS: [u64; 3] = [
        0x9e37_79b9_7f4a_7c15,
        0xc2b2_ae3d_27d4_eb4f,
        0x1656_67b1_9e37_79f9,
    ];
    let mut state = SEEDS[2] ^ bytes.len() as u64;
    let mut pairs = bytes.chunks_exact(16);
    for pair in &mut pairs {
        let (one, other) = pair.split_at(8);
        state = mix(word(one) ^ state, word(other) ^ SEEDS[0]);
    }
    let rest = pairs.remainder();
    // The last words overlap what stands before them, or each other.
    let (one, other) = match (bytes.len().checked_sub(16), rest.len()) {
        (_, 0) => (0, 0),
        (Some(from), _) => (word(&bytes[from..from + 8]), word(&bytes[from + 8..])),
        (None, 8..) => (word(rest), word(&rest[rest.len() - 8..])),
        (None, _) => (
            rest.iter()
                .fold(0, |word, &byte| word << 8 | u64::from(byte)),
            0,
        ),
    };
    mix(one ^ state, other ^ SEEDS[1])
}

/// The first eight bytes as a number.
fn word(bytes: &[u8]) -> u64 {
    let first = bytes.first_chunk::<8>();
    first.map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

/// Both halves of the product.
#[expect(clippy::cast_possible_truncation, reason = "the halves of a product")]
fn mix(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}
