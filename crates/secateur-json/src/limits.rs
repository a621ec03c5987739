//! How large and how deep a body may be.

/// How much of a body is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest body in bytes. Default 64 MiB.
    pub max_bytes: usize,
    /// Deepest nesting in levels, at most 1024. Default 128.
    pub max_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_bytes: 64 << 20,
            max_depth: 128,
        }
    }
}

pub(crate) const MAX_DEPTH: usize = 1024;

/// Notes for a level of nesting whether it is an object.
pub(crate) fn set_bit(bits: &mut [u64; MAX_DEPTH / 64], depth: usize, value: bool) {
    let depth = depth - 1;
    let mask = 1u64 << (depth % 64);
    if value {
        bits[depth / 64] |= mask;
    } else {
        bits[depth / 64] &= !mask;
    }
}

/// Whether the level is an object.
pub(crate) fn bit(bits: &[u64; MAX_DEPTH / 64], depth: usize) -> bool {
    let depth = depth - 1;
    bits[depth / 64] & (1 << (depth % 64)) != 0
}
