//! A plan that is not written out yet. Making its JSON takes longer than everything else about a row, so
//! it is made on the ledger's own thread and not where a client waits.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a plan's JSON is made, and about how long it will be.
pub struct LatePlan {
    bytes: usize,
    write: Box<dyn FnOnce() -> Option<String> + Send>,
}

impl LatePlan {
    /// `bytes` is about how long the JSON is going to be; the queue's limit counts it. `write` makes it.
    pub fn new(bytes: usize, write: impl FnOnce() -> Option<String> + Send + 'static) -> Self {
        Self {
            bytes,
            write: Box::new(write),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// One that panics costs its own row its plan, and nobody else anything.
    pub(crate) fn write(self) -> Option<String> {
        catch_unwind(AssertUnwindSafe(self.write)).ok().flatten()
    }
}

impl std::fmt::Debug for LatePlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LatePlan")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}
