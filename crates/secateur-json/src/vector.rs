//! Bytes side by side: 16 of them with SSE2, which every x86-64 has, or 32 with AVX2, which most have.
//!
//! Work on a literal is a [`Task`], written once for lanes of any width; [`at_best`] runs it on the widest that the
//! machine has.
#![expect(
    unsafe_code,
    reason = "the compiler offers no movemask to safe code; measured in benches/engine.rs, fuzzed in scanner"
)]

use core::arch::x86_64::{
    __m128i, __m256i, _mm_and_si128, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_min_epu8,
    _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8, _mm256_and_si256,
    _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_or_si256,
    _mm256_set_epi64x, _mm256_set1_epi8,
};
use std::sync::OnceLock;

/// Bytes in a window.
pub(super) const WINDOW: usize = 64;

/// Some bytes, or their marks: all bits of a marked byte are set.
///
/// `mask` and `any` are written for each width. Written once, over blocks that the width loads by number, they made
/// reading a body take a third more instructions.
pub(super) trait Lanes: Copy {
    /// One bit for each byte of a window that is marked, the first byte's lowest.
    fn mask(window: &[u8; WINDOW], marks: impl Fn(Self) -> Self) -> u64;

    /// Whether any byte of a window is marked.
    fn any(window: &[u8; WINDOW], marks: impl Fn(Self) -> Self) -> bool;

    fn equal(self, byte: u8) -> Self;

    fn at_most(self, byte: u8) -> Self;

    /// Bytes that, read as signed numbers, are below this one: all beyond ASCII are below zero.
    fn below(self, byte: u8) -> Self;

    /// The bytes with these bits cleared.
    fn without(self, bits: u8) -> Self;

    fn or(self, other: Self) -> Self;
}

/// Something to do with lanes of any width. **`run` must be `#[inline(always)]`**: only what becomes part of
/// [`at_best`] gets the wider instructions.
pub(super) trait Task {
    type Done;

    fn run<L: Lanes>(self) -> Self::Done;
}

/// Does it with the widest lanes that the machine has.
#[inline]
pub(super) fn at_best<T: Task>(task: T) -> T::Done {
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn wide<T: Task>(task: T) -> T::Done {
        task.run::<Lanes32>()
    }
    if is_wide() {
        // SAFETY: the machine has all four.
        unsafe { wide(task) }
    } else {
        task.run::<Lanes16>()
    }
}

/// Whether the machine has what `at_best` asks for; looked up once.
#[inline]
fn is_wide() -> bool {
    static IS_WIDE: OnceLock<bool> = OnceLock::new();
    *IS_WIDE.get_or_init(|| {
        std::is_x86_feature_detected!("avx2")
            && std::is_x86_feature_detected!("bmi1")
            && std::is_x86_feature_detected!("bmi2")
            && std::is_x86_feature_detected!("popcnt")
    })
}

/// These instructions touch registers only.
macro_rules! in_registers {
    ($call:expr) => {
        // SAFETY: the one condition is that the machine has the instruction. SSE2 belongs to x86-64, and AVX2 is
        // asked for before any `Lanes32` is made.
        unsafe { $call }
    };
}

#[derive(Clone, Copy)]
pub(super) struct Lanes16(__m128i);

impl Lanes16 {
    #[inline(always)]
    pub(super) fn load(bytes: &[u8; 16]) -> Self {
        let [low, high] = words(bytes);
        Self(in_registers!(_mm_set_epi64x(high, low)))
    }

    #[inline(always)]
    fn all(byte: u8) -> __m128i {
        in_registers!(_mm_set1_epi8(byte.cast_signed()))
    }

    #[inline(always)]
    pub(super) fn bits(self) -> u16 {
        in_registers!(_mm_movemask_epi8(self.0)) as u16
    }
}

impl Lanes for Lanes16 {
    #[inline(always)]
    fn mask(window: &[u8; WINDOW], marks: impl Fn(Self) -> Self) -> u64 {
        let blocks = window.as_chunks().0.iter().enumerate();
        blocks.fold(0, |mask, (index, block)| {
            mask | u64::from(marks(Self::load(block)).bits()) << (16 * index)
        })
    }

    #[inline(always)]
    fn any(window: &[u8; WINDOW], marks: impl Fn(Self) -> Self) -> bool {
        let blocks = window.as_chunks().0.iter();
        let marked = blocks.map(|block| marks(Self::load(block)));
        marked.reduce(Self::or).is_some_and(|all| all.bits() != 0)
    }

    #[inline(always)]
    fn equal(self, byte: u8) -> Self {
        Self(in_registers!(_mm_cmpeq_epi8(self.0, Self::all(byte))))
    }

    #[inline(always)]
    fn at_most(self, byte: u8) -> Self {
        let least = in_registers!(_mm_min_epu8(self.0, Self::all(byte)));
        Self(in_registers!(_mm_cmpeq_epi8(least, self.0)))
    }

    #[inline(always)]
    fn below(self, byte: u8) -> Self {
        Self(in_registers!(_mm_cmplt_epi8(self.0, Self::all(byte))))
    }

    #[inline(always)]
    fn without(self, bits: u8) -> Self {
        Self(in_registers!(_mm_and_si128(self.0, Self::all(!bits))))
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self(in_registers!(_mm_or_si128(self.0, other.0)))
    }
}

/// Made only where [`at_best`] found AVX2: nobody outside this file can name it.
#[derive(Clone, Copy)]
struct Lanes32(__m256i);

impl Lanes32 {
    #[inline(always)]
    fn load(bytes: &[u8; 32]) -> Self {
        let [first, second, third, fourth] = words(bytes);
        Self(in_registers!(_mm256_set_epi64x(
            fourth, third, second, first
        )))
    }

    #[inline(always)]
    fn all(byte: u8) -> __m256i {
        in_registers!(_mm256_set1_epi8(byte.cast_signed()))
    }

    #[inline(always)]
    fn bits(self) -> u32 {
        in_registers!(_mm256_movemask_epi8(self.0)).cast_unsigned()
    }
}

impl Lanes for Lanes32 {
    #[inline(always)]
    fn mask(window: &[u8; WINDOW], marks: impl Fn(Self) -> Self) -> u64 {
        let blocks = window.as_chunks().0.iter().enumerate();
        blocks.fold(0, |mask, (index, block)| {
            mask | u64::from(marks(Self::load(block)).bits()) << (32 * index)
        })
    }

    #[inline(always)]
    fn any(window: &[u8; WINDOW], marks: impl Fn(Self) -> Self) -> bool {
        let blocks = window.as_chunks().0.iter();
        let marked = blocks.map(|block| marks(Self::load(block)));
        marked.reduce(Self::or).is_some_and(|all| all.bits() != 0)
    }

    #[inline(always)]
    fn equal(self, byte: u8) -> Self {
        Self(in_registers!(_mm256_cmpeq_epi8(self.0, Self::all(byte))))
    }

    #[inline(always)]
    fn at_most(self, byte: u8) -> Self {
        let least = in_registers!(_mm256_min_epu8(self.0, Self::all(byte)));
        Self(in_registers!(_mm256_cmpeq_epi8(least, self.0)))
    }

    #[inline(always)]
    fn below(self, byte: u8) -> Self {
        Self(in_registers!(_mm256_cmpgt_epi8(Self::all(byte), self.0)))
    }

    #[inline(always)]
    fn without(self, bits: u8) -> Self {
        Self(in_registers!(_mm256_and_si256(self.0, Self::all(!bits))))
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self(in_registers!(_mm256_or_si256(self.0, other.0)))
    }
}

/// The bytes as words, which the compiler loads at once.
#[inline(always)]
fn words<const BYTES: usize, const WORDS: usize>(bytes: &[u8; BYTES]) -> [i64; WORDS] {
    let chunks = bytes.as_chunks().0;
    core::array::from_fn(|at| i64::from_le_bytes(chunks[at]))
}
