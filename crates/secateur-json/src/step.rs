//! How far decoding gets in one step: to the next backslash, or over as many bytes as are read together.
//!
//! Work on a literal is [`Work`], written once for every machine's [`Steps`].

/// Bytes in a step.
pub(super) const STEP: usize = 64;

/// What one vector step finds out about a literal.
pub(super) trait Steps {
    /// How many bytes come before the first backslash.
    fn plain_run(step: &[u8; STEP]) -> usize;

    /// How many bytes come before the first that is a backslash or beyond ASCII.
    fn plain_ascii_run(step: &[u8; STEP]) -> usize;

    /// Goes over a literal from a character's first byte on, until so many bytes or characters of text have passed;
    /// or less far, if that takes more than one step.
    fn stride(raw: &[u8], unit: Unit, most: usize) -> Passed;
}

/// Something to do with a literal. **`run` must be `#[inline(always)]`**: only what becomes part of [`do_at_best`]
/// gets the machine's best instructions.
pub(super) trait Work {
    type Done;

    fn run<S: Steps>(self) -> Self::Done;
}

pub(super) use machine::{do_at_best, do_here};

/// What is counted of a text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unit {
    Bytes,
    Chars,
}

/// A beginning of a literal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passed {
    /// Its raw bytes.
    pub(super) raw: usize,
    /// Bytes of its text.
    pub(super) bytes: usize,
    /// Bytes of its text beyond one for each character.
    beyond: usize,
}

impl Passed {
    pub(super) fn chars(self) -> usize {
        self.bytes - self.beyond
    }
}

#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
mod machine {
    use super::{Passed, STEP, Steps, Unit, Work};
    use crate::vector::{Lanes, Lanes16, Task, at_best};
    use crate::window::{WINDOW, backslashes, continuations, escapes, letters_u, non_ascii};

    const _: () = assert!(STEP == WINDOW);

    #[inline]
    pub(crate) fn do_at_best<W: Work>(work: W) -> W::Done {
        at_best(OnLanes(work))
    }

    /// For a few bytes, where asking for the best would take longer than the work.
    #[inline]
    pub(crate) fn do_here<W: Work>(work: W) -> W::Done {
        work.run::<Lanes16>()
    }

    struct OnLanes<W>(W);

    impl<W: Work> Task for OnLanes<W> {
        type Done = W::Done;

        #[inline(always)]
        fn run<L: Lanes>(self) -> W::Done {
            self.0.run::<L>()
        }
    }

    impl<L: Lanes> Steps for L {
        #[inline(always)]
        fn plain_run(step: &[u8; STEP]) -> usize {
            backslashes::<L>(step).trailing_zeros() as usize
        }

        #[inline(always)]
        fn plain_ascii_run(step: &[u8; STEP]) -> usize {
            (backslashes::<L>(step) | non_ascii::<L>(step)).trailing_zeros() as usize
        }

        /// Stops at a window with an escape by number.
        #[inline(always)]
        fn stride(raw: &[u8], unit: Unit, most: usize) -> Passed {
            let mut passed = Passed::default();
            let mut left = most;
            while left > 0 && passed.raw < raw.len() {
                let rest = &raw[passed.raw..];
                let mut last = [0; WINDOW];
                let (window, inside) = match rest.first_chunk() {
                    Some(window) => (window, u64::MAX),
                    None => {
                        last[..rest.len()].copy_from_slice(rest);
                        (&last, below(rest.len()))
                    }
                };
                let escapes = escapes(backslashes::<L>(window), 0);
                if letters_u::<L>(window) & escapes << 1 != 0 {
                    break;
                }
                let continuations = continuations::<L>(window);
                let bytes = !(escapes << 1);
                let units = match unit {
                    Unit::Bytes => bytes,
                    Unit::Chars => bytes & !continuations,
                };
                // An escape or a character that reaches over the end is left to the next window.
                let mut inside = inside >> (escapes >> 63);
                if is_continuation(rest.get(WINDOW)) {
                    inside = below(WINDOW - 1 - (!continuations).leading_zeros() as usize);
                }
                let mut passing = (units & inside).count_ones() as usize;
                if passing > left {
                    inside = below(place_of_nth(units, left));
                    passing = left;
                }
                passed.raw += inside.count_ones() as usize;
                passed.bytes += (bytes & inside).count_ones() as usize;
                passed.beyond += (continuations & inside).count_ones() as usize;
                left -= passing;
            }
            passed
        }
    }

    /// The lowest bits, so many of them.
    #[inline(always)]
    fn below(count: usize) -> u64 {
        match count {
            0 => 0,
            _ => u64::MAX >> (WINDOW - count),
        }
    }

    /// The place of the set bit above the lowest `count` ones.
    #[inline(always)]
    fn place_of_nth(mut bits: u64, count: usize) -> usize {
        let (mut left, mut place) = (count as u32, 0);
        // It is in the upper half if the lower one has too few.
        for half in [32, 16, 8, 4, 2, 1] {
            let lower = (bits & (u64::MAX >> (64 - half))).count_ones();
            let is_above = u32::from(lower <= left);
            left -= lower * is_above;
            bits >>= half * is_above;
            place += half * is_above;
        }
        place as usize
    }

    #[inline(always)]
    fn is_continuation(byte: Option<&u8>) -> bool {
        byte.is_some_and(|byte| byte & 0xc0 == 0x80)
    }
}

#[cfg(not(all(target_arch = "x86_64", not(feature = "portable"))))]
mod machine {
    use super::{Passed, STEP, Steps, Unit, Work};
    use crate::block::{BLOCK, Block, first};

    #[inline]
    pub(crate) fn do_at_best<W: Work>(work: W) -> W::Done {
        work.run::<Blocks>()
    }

    #[inline]
    pub(crate) fn do_here<W: Work>(work: W) -> W::Done {
        work.run::<Blocks>()
    }

    struct Blocks;

    impl Steps for Blocks {
        #[inline(always)]
        fn plain_run(step: &[u8; STEP]) -> usize {
            before_first(step, Block::backslashes)
        }

        #[inline(always)]
        fn plain_ascii_run(step: &[u8; STEP]) -> usize {
            Self::plain_run(step).min(before_first(step, Block::non_ascii))
        }

        /// Leaves every byte to the steps.
        #[inline(always)]
        fn stride(_: &[u8], _: Unit, _: usize) -> Passed {
            Passed::default()
        }
    }

    #[inline(always)]
    fn before_first(step: &[u8; STEP], marks: impl Fn(Block) -> u32) -> usize {
        let places = (0..STEP).step_by(BLOCK);
        let mut found = places.filter_map(|at| Some(at + first(marks(Block::at(step, at)?))?));
        found.next().unwrap_or(STEP)
    }
}
