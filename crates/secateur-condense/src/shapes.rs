//! Counting by shape. Shapes are hashes already, so the map does not hash them again.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Values by shape. Never iterated: results do not depend on its order.
pub(super) type ByShape<T> = HashMap<u64, T, BuildHasherDefault<ShapeHasher>>;

/// Passes a shape through, spread over all bits.
#[derive(Debug, Default)]
pub(super) struct ShapeHasher(u64);

impl Hasher for ShapeHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, shape: u64) {
        let mixed = (self.0 ^ shape).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}
