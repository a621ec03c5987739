//! Bytes as decisions. Zero is always the plainest choice, so that shrinking bytes towards zero
//! makes a conversation simpler, and bytes that run out decide nothing wild.

#[derive(Debug)]
pub(crate) struct Choices<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Choices<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound.max(1)
    }

    /// True once in `n` times, never for a zero byte.
    pub(crate) fn rarely(&mut self, n: usize) -> bool {
        self.below(n) + 1 == n
    }
}
