//! How much work may go into looking for rounds.
//!
//! **Invariant:** all looks together cost at most what the whole conversation brings in, plus what one
//! look may be ahead of that: a look begins only while nothing is owed. So the fold is linear in the
//! body, whatever the conversation looks like and however much a single look finds to do. What is
//! brought in depends on the turns up to a request alone, and so does whether it is looked at.

/// Work is counted in visits of parts. So many come with each part, ...
const VISITS_PER_PART: u64 = 64;
/// ... and one with so many characters.
const CHARS_PER_VISIT: u64 = 16;
/// A plan made anew looks at everything that has arrived; it counts as one of so many shares of that.
const SHARES: u64 = 100;
/// Short conversations owe nothing.
const START: u64 = 1 << 14;

/// The work of reading so many characters.
pub(crate) fn visits_of_chars(chars: usize) -> usize {
    chars.div_ceil(usize::try_from(CHARS_PER_VISIT).unwrap_or(usize::MAX))
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct WorkBudget {
    brought_in: u64,
    spent: u64,
}

impl WorkBudget {
    /// Parts with so many characters have arrived.
    pub(crate) fn earn(&mut self, parts: usize, chars: f64) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count of characters"
        )]
        let chars = chars as u64;
        self.brought_in += parts as u64 * VISITS_PER_PART + chars / CHARS_PER_VISIT;
    }

    /// So many parts were visited.
    pub(crate) fn spend(&mut self, visits: usize) {
        self.spent += visits as u64;
    }

    /// A plan was made anew.
    pub(crate) fn spend_on_plan(&mut self) {
        self.spent += self.brought_in / SHARES;
    }

    /// Whether nothing is owed.
    pub(crate) fn can_search(&self) -> bool {
        self.spent <= START + self.brought_in
    }

    /// What was spent, in visits.
    pub(crate) fn spent(&self) -> u64 {
        self.spent
    }
}
