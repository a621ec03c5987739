//! How far decoding gets in one step: to the next backslash, or over as many bytes as are looked at together.

#[cfg(not(target_arch = "x86_64"))]
pub(super) use in_blocks::{STEP, plain_ascii_run, plain_run};
#[cfg(target_arch = "x86_64")]
pub(super) use in_windows::{STEP, plain_ascii_run, plain_run};

#[cfg(target_arch = "x86_64")]
mod in_windows {
    use crate::json::window::{WINDOW, backslashes, non_ascii};

    /// Bytes in a step.
    pub(in crate::json) const STEP: usize = WINDOW;

    /// How many bytes stand before the first backslash.
    #[inline(always)]
    pub(in crate::json) fn plain_run(step: &[u8; STEP]) -> usize {
        backslashes(step).trailing_zeros() as usize
    }

    /// How many bytes stand before the first that is a backslash or beyond ASCII.
    #[inline(always)]
    pub(in crate::json) fn plain_ascii_run(step: &[u8; STEP]) -> usize {
        (backslashes(step) | non_ascii(step)).trailing_zeros() as usize
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod in_blocks {
    use crate::json::block::{BLOCK, Block, first};

    /// Bytes in a step.
    pub(in crate::json) const STEP: usize = BLOCK;

    /// How many bytes stand before the first backslash.
    #[inline(always)]
    pub(in crate::json) fn plain_run(step: &[u8; STEP]) -> usize {
        let block = Block::at(step, 0);
        block
            .and_then(|block| first(block.backslashes()))
            .unwrap_or(STEP)
    }
}
